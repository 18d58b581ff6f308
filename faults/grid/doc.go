// Package grid breaks every operation that changes something at every point
// where it can break, and asks the same few questions of each: was the caller
// told the truth, was it done once, and does asking again settle it.
//
// The operations and the faults are two tables of data. What came out is
// written into docs/fault-grid.md, and compared with it.
package grid
