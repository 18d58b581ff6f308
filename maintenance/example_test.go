package maintenance_test

import (
	"context"
	"errors"
	"expvar"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/maintenance"
)

// A host starts the loop beside its server and stops it before it closes the
// database. The intervals are those of an example.
func Example() {
	dir, err := os.MkdirTemp("", "onejob")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	store, err := onejob.OpenSQLite(ctx, filepath.Join(dir, "jobs.db"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	if err := store.Migrate(ctx); err != nil {
		log.Fatal(err)
	}
	jobs := onejob.New(store, nil)
	intent := onejob.Intent{Owner: "user-7", Key: "click-1", Kind: "charge"}
	_, _, err = jobs.Start(ctx, intent, onejob.Try{Provider: "acme", Timeout: time.Millisecond})
	if err != nil {
		log.Fatal(err)
	}

	loop, err := maintenance.New(jobs, maintenance.Config{
		Sweep: maintenance.Sweep{Every: 10 * time.Millisecond},
		Purge: maintenance.Purge{Every: 10 * time.Millisecond, Retention: onejob.Retention{Payloads: time.Microsecond}},
		Reconcile: []maintenance.Reconcile{{
			Every: 10 * time.Millisecond,
			// Only looks: the provider finds the charge by the key that it was sent.
			Run: maintenance.Ask(jobs, onejob.Filter{}, func(_ context.Context, _ onejob.Job, a onejob.Attempt) ([]byte, error) {
				return []byte(`{"charged": true}`), nil
			}),
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	expvar.Publish("onejob_maintenance", expvar.Func(func() any { return loop.Counters() }))

	if err := loop.Start(); err != nil {
		log.Fatal(err)
	}
	for loop.Counters().Purge.Purged == 0 {
		time.Sleep(time.Millisecond) // the host serves
	}
	stopping, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	fmt.Println("stopped:", loop.Stop(stopping))

	c := loop.Counters()
	fmt.Println("asked:", c.Reconcile["default"].Asked, "ended:", c.Reconcile["default"].Ended, "purged:", c.Purge.Purged)
	_, _, err = jobs.Create(ctx, intent)
	fmt.Println(errors.Is(err, onejob.ErrKeyRetired))
	// Output:
	// stopped: <nil>
	// asked: 1 ended: 1 purged: 1
	// true
}
