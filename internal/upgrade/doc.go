// Package upgrade holds the tests of what a deployment goes through: programs of
// an earlier release and of this one at work on one database, and each of them on
// the other's schema. The earlier ones are built from what
// testdata/releases keeps of them.
package upgrade
