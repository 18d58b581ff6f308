package onejob

import "time"

// HotStatements are what each request sends to PostgreSQL, with names written
// out.
func HotStatements(s *PostgresStore) map[string]string {
	list := map[string]string{}
	for name, constant := range map[string]string{
		"create": pgCreate, "start": pgStart, "begin": pgBegin, "complete": pgComplete,
		"settle": pgSettle, "amend": pgAmend, "cancel job": pgCancelJob,
		"find by ID": pgFindByID, "find by key": pgFindByKey, "find by attempt": pgFindByAttempt,
		"find all": pgFindAll, "begin, qualified": pgBeginRequired, "start, qualified": pgStartRequired,
		"create many": pgCreateMany, "find many": pgFindMany, "save qualification": pgSaveQualification, "revoke": pgRevokeQualification, "qualifications": pgQualifications,
		"take turn": pgTakeTurn,
	} {
		list[name] = s.sql.render(constant)
	}
	return list
}

// Waiting is how many writes wait for the writer.
func Waiting(s *SQLiteStore) int {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	return len(s.queue.waiting)
}

// Led reports whether somebody has the writer.
func Led(s *SQLiteStore) bool { return len(s.queue.lead) == 1 }

// SetMaxBatchTime changes how long a batch takes more in.
func SetMaxBatchTime(s *SQLiteStore, d time.Duration) { s.queue.maxTime = d }

// MaxBatch is how many writes one transaction takes in.
const MaxBatch = maxBatch

// SweepStatement is what Sweep sends.
func SweepStatement(s *PostgresStore) string { return s.sql.render(pgSweep) }
