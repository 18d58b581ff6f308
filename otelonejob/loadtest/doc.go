// Package loadtest loads what otelonejob ships for Grafana and Prometheus into
// the real things: the dashboard into Grafana's own types, the rules into
// promtool and a Prometheus server, which scrapes a process that works. It is
// never released.
package loadtest
