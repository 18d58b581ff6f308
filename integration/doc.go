// Package integration has the tests of the library with drivers of which no host
// that does without them shall know. It is never released.
package integration
