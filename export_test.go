package onejob

// HotStatements are what each request sends to PostgreSQL, with names written
// out.
func HotStatements(s *PostgresStore) map[string]string {
	list := map[string]string{}
	for name, constant := range map[string]string{
		"create": pgCreate, "start": pgStart, "begin": pgBegin, "complete": pgComplete,
		"settle": pgSettle, "amend": pgAmend, "cancel job": pgCancelJob,
		"find by ID": pgFindByID, "find by key": pgFindByKey, "find by attempt": pgFindByAttempt,
		"find all": pgFindAll,
	} {
		list[name] = s.sql.render(constant)
	}
	return list
}
