package console_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/console"
)

// A host may show the timeline on a page of its own.
func ExampleTimeline() {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	job := onejob.Job{ID: "01900000-0000-7000-8000-000000000000", State: onejob.JobOpen, CreatedAt: began}
	attempts := []onejob.Attempt{{
		ID: "01900000-0000-7000-8000-000000000000-0123456789abcdef", Number: 1, Provider: "acme-pay", State: onejob.StateUnknown,
		StartedAt: began, Timeout: 10 * time.Second, Deadline: began.Add(10 * time.Second),
	}}
	picture := string(console.Timeline(job, attempts, began.Add(time.Minute)))
	fmt.Println(strings.Contains(picture, "Attempt 1 by acme-pay began 2026-01-02 03:04:05, was in doubt since 2026-01-02 03:04:15, and is unknown."))
	// Output: true
}
