package mutants

const (
	pgGateFile     = "store_postgres_qualify.go"
	sqliteGateFile = "store_sqlite_qualify.go"
)

func reasonTold() string { return kit("gate", "each reason is told") }

var qualifying = []Mutant{
	{ID: "M28", What: "the qualification is read without a lock", Plants: []Plant{
		pg(kit("gate", "a revocation that is under way is waited for"), Edit{pgGateFile, "		AND EXISTS (SELECT 1 FROM j)\n	FOR SHARE OF q\n", "		AND EXISTS (SELECT 1 FROM j)\n"}).often(20),
	}},
	{ID: "X193", What: "the gate lets through who was revoked", Plants: []Plant{
		pg(reasonTold(), Edit{pgGateFile, "CASE WHEN q.revoked_at IS NOT NULL THEN 'revoked' WHEN", "CASE WHEN"}),
		lite(reasonTold(), Edit{sqliteGateFile, "CASE WHEN revoked_at IS NOT NULL THEN 'revoked' WHEN", "CASE WHEN"}),
	}},
	{ID: "X194", What: "the gate lets through who has failed a run", Plants: []Plant{
		pg(reasonTold(), Edit{pgGateFile, "WHEN q.passes < q.runs THEN", "WHEN q.passes < 1 THEN"}),
		lite(reasonTold(), Edit{sqliteGateFile, "WHEN passes < runs THEN", "WHEN passes < 1 THEN"}),
	}},
	{ID: "X195", What: "a qualification never expires", Plants: []Plant{
		pg(reasonTold(), Edit{pgGateFile, "WHEN q.expires_at <= clock_timestamp() THEN", "WHEN q.expires_at <= q.revoked_at THEN"}),
		lite(reasonTold(), Edit{sqliteGateFile, "WHEN expires_at <= ?5 THEN", "WHEN expires_at <= ?5 AND passes < runs THEN"}),
	}},
	{ID: "X196", What: "a qualification of another fingerprint counts", Plants: []Plant{
		pg(reasonTold(), Edit{pgGateFile, " AND q.fingerprint = {print}\n", " AND {print} <> ''\n"}),
		lite(reasonTold(), Edit{sqliteGateFile, "WHERE provider = ?1 AND contract = ?2 AND model = ?3 AND fingerprint = ?4\n), CASE", "WHERE provider = ?1 AND contract = ?2 AND model = ?3 AND ?4 <> ''\n), CASE"}),
	}},
	{ID: "X197", What: "a qualification of another model counts", Plants: []Plant{
		pg(reasonTold(), Edit{pgGateFile, "q.contract = {contract} AND q.model = {model} AND", "q.contract = {contract} AND {model} <> '' AND"}),
		lite(reasonTold(), Edit{sqliteGateFile, "AND contract = ?2 AND model = ?3 AND fingerprint = ?4\n), CASE", "AND contract = ?2 AND ?3 <> '' AND fingerprint = ?4\n), CASE"}),
	}},
	{ID: "X198", What: "Start does not look at the qualification", Plants: []Plant{
		pg(reasonTold(), Edit{pgGateFile, `pgStartAttempt + " WHERE (SELECT says = '' FROM gate)"`, `pgStartAttempt + " WHERE (SELECT says <> '-' FROM gate)"`},
			Edit{pgGateFile, "\t\tif gate != \"\" {\n", "\t\tif gate == \"-\" {\n"}),
		lite(reasonTold(), inSQLite("err != nil || rec.Unqualified != \"\" {\n\t\t\treturn rec, false, err", "err != nil {\n\t\t\treturn rec, false, err")),
	}},
	{ID: "X199", What: "BeginAttempt does not look at the qualification", Plants: []Plant{
		pg(reasonTold(), Edit{pgGateFile, `pgBeginGoes + " AND (SELECT says = '' FROM gate)"`, `pgBeginGoes + " AND (SELECT says <> '-' FROM gate)"`}),
		lite(reasonTold(), inSQLite("if err == nil && says != \"\" {", "if err == nil && says == \"-\" {")),
	}},
	{ID: "X200", What: "a store without the ability is asked all the same", Plants: []Plant{
		lite(kit("gate", "a store without the ability refuses"), Edit{"begin.go", "try.Require != nil && !keeps {", "try.Require != nil && !keeps && s.store == nil {"}),
	}},
	{ID: "X201", What: "a later run lifts a revocation", Plants: []Plant{
		pg(kit("gate", "the newest run counts, and a revocation stands"), Edit{pgGateFile, "expires_at = excluded.expires_at\nRETURNING", "expires_at = excluded.expires_at, revoked_at = NULL\nRETURNING"}),
		lite(kit("gate", "the newest run counts, and a revocation stands"), Edit{sqliteGateFile, "expires_at = excluded.expires_at`", "expires_at = excluded.expires_at, revoked_at = NULL`"}),
	}},
	{ID: "X202", What: "a repeated revocation overwrites the first name and reason", Plants: []Plant{
		pg(kit("gate", "the newest run counts, and a revocation stands"), Edit{pgGateFile, "by = CASE WHEN q.revoked_at IS NULL THEN $5::text ELSE q.by END", "by = $5::text"}),
		lite(kit("gate", "the newest run counts, and a revocation stands"), Edit{sqliteGateFile, "by = CASE WHEN revoked_at IS NULL THEN ?5 ELSE by END", "by = ?5"}),
	}},
	{ID: "X203", What: "the qualification is told before what blocks the job", Plants: []Plant{
		lite(kit("gate", "another refusal comes first"), Edit{"begin.go", "\tswitch {\n\tcase rec.Job.State == JobCanceled:\n", "\tswitch {\n\tcase rec.Unqualified != \"\" && p.Max > 0:\n\t\trefusal.Err, refusal.Reason = ErrNotQualified, rec.Unqualified\n\tcase rec.Job.State == JobCanceled:\n"}),
	}},
	{ID: "X204", What: "the time of a revocation is read before its turn comes", Plants: []Plant{
		lite(kit("gate", "a revocation that is under way is waited for"), Edit{sqliteGateFile, "\treturn s.changeQualification(ctx, provider, r, sqliteRevokeQualification, func() []any {\n", "\tearly := clock()\n\tclock = func() time.Time { return early }\n\treturn s.changeQualification(ctx, provider, r, sqliteRevokeQualification, func() []any {\n"}).often(20),
	}},
	{ID: "X208", What: "the time of a revocation is read before the row is locked", Plants: []Plant{
		pg(test("TestARevocationThatWaitedIsNotOlderThanWhatItWaitedFor"), Edit{pgGateFile, "coalesce(q.revoked_at, t.now)\nFROM t\nWHERE", "coalesce(q.revoked_at, clock_timestamp())\nWHERE"}),
	}},
}
