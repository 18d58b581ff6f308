.PHONY: test check faults soak mutants bench bench-check

# Everything, on both stores, with the race detector, in random order. Installs
# PostgreSQL where it is missing and may; the server it starts is temporary and
# never runs as root.
test:
	./scripts/ensure-tools
	go run ./internal/dbtest/withpostgres go test -race -shuffle=on -timeout 30m ./...

# Kills servers and processes, cuts connections, fills disks, and checks what
# everybody was told. At most ten minutes on two cores.
faults:
	./scripts/faults ci

# The same for two hours, and a table of what was reached.
soak:
	./scripts/faults soak

# Plants each known mistake in a copy of the tree and looks whether a test fails.
mutants:
	./scripts/ensure-tools
	go -C faults run ./cmd/mutants

# Measures the library beside SQL written by hand and its peers, also with tables of
# up to five million jobs (some 30 minutes, 20 GB of disk). For a part of it:
# go -C bench run . -run 'SQLite'
bench:
	./scripts/ensure-tools
	go -C bench run . -growth 1000,100000,1000000,5000000 $(BENCHFLAGS)

# Fails when a ratio has got worse by more than a tenth in two of two runs, or
# allocations have. Wants a quiet machine, so CI does not run it.
bench-check:
	./scripts/ensure-tools
	go -C bench run . -check ratios.json

# What CI runs.
check:
	./.ci/run
