package idempotency

// ParseKey is for the fuzz test.
var ParseKey = parseKey
