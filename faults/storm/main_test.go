package storm

import (
	"testing"

	"github.com/onejob-go/onejob/faults/worker"
	"github.com/onejob-go/onejob/internal/dbtest"
)

func TestMain(m *testing.M) {
	worker.Main()
	dbtest.Main(m)
}
