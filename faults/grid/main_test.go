package grid

import (
	"os"
	"testing"

	"github.com/onejob-go/onejob/internal/dbtest"
)

func TestMain(m *testing.M) {
	if spec := os.Getenv(childEnv); spec != "" {
		child(spec)
		return
	}
	dbtest.Main(m)
}
