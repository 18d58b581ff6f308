package main

import (
	"time"

	"github.com/onejob-go/onejob/contract"
	"github.com/onejob-go/onejob/failover"
	"github.com/onejob-go/onejob/provider"
)

const patience = 150 * time.Millisecond

// config is all that a host writes. Both providers have proven themselves, and
// for this host two executions are better than a wait.
func config(c *contract.Contract, targets ...provider.Provider) failover.Config {
	return failover.Config{
		Kind:      "order-sum",
		Providers: targets,
		Contract:  c,
		Timeout:   5 * time.Second,
		Patience:  patience,
		By:        "race of the order service",
	}
}
