.PHONY: test check

# Everything, on both stores, with the race detector, in random order. Installs
# PostgreSQL where it is missing and may; the server it starts is temporary and
# never runs as root.
test:
	./scripts/ensure-tools
	go run ./internal/dbtest/withpostgres go test -race -shuffle=on -timeout 20m ./...

# What CI runs, which ends with make test.
check:
	./.ci/run
