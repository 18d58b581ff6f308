package main

// confirmCmd is here for those who look for it.
type confirmCmd struct {
	Attempt []string `arg:"" optional:"" passthrough:"" help:"Ignored."`
}

// Help is shown by onejob confirm --help.
func (confirmCmd) Help() string { return confirmText }

const confirmText = `This command line never completes a job. Completing one runs the host's
OnComplete in the same transaction, the place for the host's own rows (a ledger,
an order). That code is in the host's program and not in this one: the job would
be done here, and the books would not know.

Confirm where OnComplete is: in the host's console (package console, mounted in
the service), or by a program of the host with
onejob.NewOperator(jobs).Confirm(ctx, attempt, result, decision), where jobs is
made with the service's Options. If the provider can be asked by program, have
the host reconcile.`

// Run explains.
func (c *confirmCmd) Run() error { return usage("%s", confirmText) }
