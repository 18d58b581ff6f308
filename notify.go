package onejob

// Notifier carries hints between processes that share a database: a job may
// need no more waiting. Hints may be lost, doubled or untrue: [Jobs.Wait] looks
// by itself too, and believes only what it reads. Package pgnotify is one for
// PostgreSQL.
type Notifier interface {
	// Notify tells the other processes. It is called after each change that may
	// end a wait, on the goroutine of whoever made it, and must return at once:
	// rather drop the hint than wait.
	Notify(id JobID)

	// Subscribe has hint called with the jobs of which other processes tell, and
	// with an empty ID when some may have been missed, such as after the loss of a
	// connection. Hints of this process's own do no harm. It is called once for
	// each Jobs, by [New]; hint returns at once.
	Subscribe(hint func(id JobID))
}

// mayEndWait tells whoever waits for the job, here and elsewhere, to look.
func (s *Jobs) mayEndWait(id JobID) {
	s.waiting.hint(id)
	if s.notifier != nil && id != "" {
		s.notifier.Notify(id)
	}
}
