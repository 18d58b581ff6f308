// Package standby kills a primary and promotes its standby, and looks at what
// became of the jobs. It holds tests only.
package standby
