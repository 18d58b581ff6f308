.PHONY: test check faults soak mutants

# Everything, on both stores, with the race detector, in random order. Installs
# PostgreSQL where it is missing and may; the server it starts is temporary and
# never runs as root.
test:
	./scripts/ensure-tools
	go run ./internal/dbtest/withpostgres go test -race -shuffle=on -timeout 20m ./...

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

# What CI runs.
check:
	./.ci/run
