package failover_test

import (
	"os"
	"testing"

	"github.com/onejob-go/onejob/internal/dbtest"
)

func TestMain(m *testing.M) {
	if raw := os.Getenv(childEnv); raw != "" {
		child(raw)
		return
	}
	dbtest.Main(m)
}
