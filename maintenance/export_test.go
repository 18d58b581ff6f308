package maintenance

import "time"

// SetRandom puts another source of chance in the place of the loop's own.
func SetRandom(l *Loop, random func(below time.Duration) time.Duration) { l.random = random }

// SetLease changes for how long a turn is held at a time.
func SetLease(l *Loop, d time.Duration) { l.lease = d }

// Lease is for how long a turn is held at a time.
const Lease = turnLease
