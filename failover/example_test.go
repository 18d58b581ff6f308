package failover_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/contract"
	"github.com/onejob-go/onejob/failover"
	"github.com/onejob-go/onejob/provider"
	"github.com/onejob-go/onejob/provider/chat/chattest"
)

func ExampleRunner_Run() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	check(err)
	defer os.RemoveAll(dir)
	store, err := onejob.OpenSQLite(ctx, filepath.Join(dir, "jobs.db"), nil)
	check(err)
	defer store.Close()
	check(store.Migrate(ctx))
	jobs := onejob.New(store, nil)

	// Two servers that stand for real ones, and the adapters for them.
	var targets []provider.Provider
	var servers []*chattest.Server
	for _, name := range []string{"primary", "fallback"} {
		s, err := chattest.Serve()
		check(err)
		defer s.Close()
		p, err := s.Provider(name)
		check(err)
		servers, targets = append(servers, s), append(targets, p)
	}
	c, err := chattest.Contract()
	check(err)
	runner, err := failover.New(jobs, failover.Config{
		Kind: "order-sum", Providers: targets, Contract: c, Timeout: 5 * time.Second,
	})
	check(err)

	in := onejob.Intent{Owner: "user-7", Key: "order-1", Kind: "order-sum",
		Params: []byte(`{"items":[{"name":"pen","cents":120,"count":3}]}`)}
	servers[0].Refuse(http.StatusTooManyRequests) // the primary does nothing, for sure
	_, err = runner.Run(ctx, in)
	fmt.Println("not qualified:", errors.Is(err, onejob.ErrNotQualified))

	report, err := c.Qualify(ctx, targets[1], nil)
	check(err)
	_, err = contract.Save(ctx, onejob.NewOperator(jobs), report)
	check(err)
	job, err := runner.Run(ctx, in)
	check(err)
	fmt.Println(job.Attempt.Provider, string(job.Result))

	in.Key = "order-2"
	servers[0].Die() // the primary acts, and its answer is lost
	_, err = runner.Run(ctx, in)
	fmt.Println("in doubt:", errors.Is(err, onejob.ErrInDoubt))
	pass, err := runner.Reconcile(ctx, failover.ReconcileOptions{}) // it is asked
	check(err)
	fmt.Println("ended:", pass.Ended)
	// Output:
	// not qualified: true
	// fallback {"total":360,"unit":"cents","items":1,"comment":"added up"}
	// in doubt: true
	// ended: 1
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
