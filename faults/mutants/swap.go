package mutants

// swap are mutants of Complete.
var swap = []Mutant{
	{ID: "M1", What: "the swap is guarded by the job's ID alone", Plants: []Plant{
		pg(kit("order of return", "detached, returns second"), inPg(
			"j.version = $3 AND j.completed_by IS NULL AND j.state = 'open'\n\t\tAND t.able", "t.able")),
		lite(kit("order of return", "detached, returns second"), inSQLite(
			"WHERE id = ?1 AND version = ?3 AND completed_by IS NULL AND state = 'open' AND NOT ?7", "WHERE id = ?1 AND NOT ?7")),
	}},
	{ID: "M1.1", What: "the swap does not look whether there is a winner",
		Equivalent: "an open job has no winner: the schema says so, and the state is looked at",
		Plants: []Plant{
			pg("", inPg("AND j.completed_by IS NULL AND j.state = 'open'\n\t\tAND t.able", "AND j.state = 'open'\n\t\tAND t.able")),
			lite("", inSQLite("AND completed_by IS NULL AND state = 'open' AND NOT ?7", "AND state = 'open' AND NOT ?7")),
		}},
	{ID: "M1.2", What: "the swap does not look at the job's state", Plants: []Plant{
		pg(kit("order of return, forged", "an attempt value with the version of a canceled job"), inPg(
			"AND j.completed_by IS NULL AND j.state = 'open'\n\t\tAND t.able", "AND j.completed_by IS NULL\n\t\tAND t.able")),
		lite(kit("order of return, forged", "an attempt value with the version of a canceled job"), inSQLite(
			"AND completed_by IS NULL AND state = 'open' AND NOT ?7", "AND completed_by IS NULL AND NOT ?7")),
	}},
	{ID: "M2", What: "the swap takes the version from the row instead of the caller's attempt", Plants: []Plant{
		pg(kit("order of return", "an attempt value of another version"), inPg(
			"j.version = $3 AND j.completed_by IS NULL", "j.version = j.version AND j.completed_by IS NULL")),
		lite(kit("order of return", "an attempt value of another version"), inSQLite(
			"AND version = ?3 AND completed_by IS NULL", "AND version = version AND completed_by IS NULL AND ?3 > 0")),
	}},
	{ID: "M3", What: "zero rows are taken as lost, without reading again", Plants: []Plant{
		lite(kit("repeats", "the winner with the same result"), zeroRowsLose),
		pg(kit("sent twice", "a driver sends each statement twice"), zeroRowsLose),
	}},
	{ID: "M10", What: "the result is written before the swap", Plants: []Plant{
		pg(kit("order of return", "detached, returns second"),
			inPg("\tby, reason := words(p.Decision)\n\trows, err := q.query(ctx, pgComplete,",
				"\tby, reason := words(p.Decision)\n"+
					"\tearly, err := q.query(ctx, \"UPDATE {schema}.jobs SET result = $2 WHERE id = $1 RETURNING id\", string(p.ID.Job()), bytesOf(p.Result))\n"+
					"\tif err != nil {\n\t\treturn Record{}, false, err\n\t}\n"+
					"\tif err = drain(early, nil); err != nil {\n\t\treturn Record{}, false, err\n\t}\n"+
					"\trows, err := q.query(ctx, pgComplete,"),
			Edit{pgSchema, "((result IS NOT NULL) = (completed_by IS NOT NULL AND purged_at IS NULL))", "(true)"}),
		lite(kit("order of return", "detached, returns second"),
			inSQLite("\tswapped, err := q.exec(ctx, sqliteSwap,",
				"\tif _, err := q.exec(ctx, \"UPDATE {p}jobs SET result = ?2 WHERE id = ?1\", job, bytesOf(p.Result)); err != nil {\n"+
					"\t\treturn Record{}, false, err\n\t}\n"+
					"\tswapped, err := q.exec(ctx, sqliteSwap,"),
			Edit{sqliteSchema, "((result IS NOT NULL) = (completed_by IS NOT NULL AND purged_at IS NULL))", "(true)"}),
	}},
	{ID: "M20", What: "a canceled attempt may win when it returns first", Plants: []Plant{
		pg(kit("order of return", "canceled, returns before its successor"), inPg(
			"SELECT a.state IN ('started', 'unknown', 'detached') AS able", "SELECT a.state IN ('started', 'unknown', 'detached', 'canceled') AS able")),
		lite(kit("order of return", "canceled, returns before its successor"), inSQLite(
			"WHERE job_id = ?1 AND id = ?2 AND state IN ('started', 'unknown', 'detached'))`",
			"WHERE job_id = ?1 AND id = ?2 AND state IN ('started', 'unknown', 'detached', 'canceled'))`")),
	}},
	{ID: "M24", What: "Complete does not lock the job row", Plants: []Plant{
		pg(test("TestCompleteLocksTheJobBeforeTheAttempt"), inPg(
			"SELECT j.id, j.state, j.version FROM {schema}.jobs j WHERE j.id = $1 FOR NO KEY UPDATE",
			"SELECT j.id, j.state, j.version FROM {schema}.jobs j WHERE j.id = $1")),
	}},
	{ID: "X1", What: "the winner's repeat does not compare the digest", Plants: []Plant{
		lite(kit("repeats", "the winner with another result"), Edit{"cas.go", "if rec.ResultDigest == p.Digest {", "if true {"}),
	}},
	{ID: "X2", What: "the winner's repeat is told that it lost", Plants: []Plant{
		lite(kit("repeats", "the winner with the same result"), Edit{"cas.go",
			"job.Attempt != nil && job.Attempt.ID == p.ID:", "job.Attempt != nil && job.Attempt.ID == p.ID && rec.Attempt == nil:"}),
	}},
	{ID: "X3", What: "a second late result overwrites the evidence of the first", Plants: []Plant{
		pg(kit("repeats", "one who lost"), inPg("OR NOT t.able AND t.state <> 'succeeded' AND t.late_at IS NULL)", "OR NOT t.able AND t.state <> 'succeeded')"),
			inPg("coalesce(a.late_at, t.now) END", "t.now END"), inPg("coalesce(a.late_size, $6::bigint) END", "$6::bigint END"), inPg("coalesce(a.late_digest, $5::bytea) END", "$5::bytea END")),
		lite(kit("repeats", "one who lost"), inSQLite("OR NOT able AND a.state <> 'succeeded' AND a.late_at IS NULL)", "OR NOT able AND a.state <> 'succeeded')"),
			inSQLite("late_at = coalesce(a.late_at, ?3), late_size = coalesce(a.late_size, ?6),", "late_at = ?3, late_size = ?6,"),
			inSQLite("late_digest = coalesce(a.late_digest, ?7)", "late_digest = ?7")),
	}},
	{ID: "X4", What: "the evidence of a loser that had ended before is not kept", Plants: []Plant{
		pg(kit("order of return", "refuted, returns after all"), inPg("OR NOT t.able AND t.state <> 'succeeded' AND t.late_at IS NULL)", ")")),
		lite(kit("order of return", "refuted, returns after all"), inSQLite("OR NOT able AND a.state <> 'succeeded' AND a.late_at IS NULL)", ")")),
	}},
	{ID: "X5", What: "an attempt that is unknown may not win", Plants: []Plant{
		pg(kit("order of return", "unknown, returns at last"), inPg(
			"SELECT a.state IN ('started', 'unknown', 'detached') AS able", "SELECT a.state IN ('started', 'detached') AS able")),
		lite(kit("order of return", "unknown, returns at last"), inSQLite(
			"WHERE job_id = ?1 AND id = ?2 AND state IN ('started', 'unknown', 'detached'))`",
			"WHERE job_id = ?1 AND id = ?2 AND state IN ('started', 'detached'))`")),
	}},
	{ID: "X6", What: "Complete locks the attempt before the job", Plants: []Plant{
		pg(test("TestCompleteLocksTheJobBeforeTheAttempt"), inPg(
			"SELECT j.id, j.state, j.version FROM {schema}.jobs j WHERE j.id = $1 FOR NO KEY UPDATE\n), a AS MATERIALIZED (\n"+
				"\tSELECT a.state, a.ended_at, a.late_at FROM {schema}.attempts a\n\tWHERE a.job_id = (SELECT id FROM j) AND a.id = $2\n\tFOR NO KEY UPDATE\n), t",
			"SELECT j.id, j.state, j.version FROM {schema}.jobs j WHERE j.id = (SELECT job_id FROM a) FOR NO KEY UPDATE\n), t").before(
			"const pgComplete = `\nWITH j AS MATERIALIZED (\n",
			"const pgComplete = `\nWITH a AS MATERIALIZED (\n\tSELECT a.job_id, a.state, a.ended_at, a.late_at FROM {schema}.attempts a\n"+
				"\tWHERE a.job_id = $1 AND a.id = $2\n\tFOR NO KEY UPDATE\n), j AS MATERIALIZED (\n")),
	}},
	{ID: "X161", What: "what is written of an attempt comes from the snapshot, not from the locked row", Plants: []Plant{
		pg(test("TestACompleteThatWaitedForAnotherOfItsAttempt"),
			inPg("WHEN t.able THEN 'late' ELSE t.state END,", "WHEN t.able THEN 'late' ELSE a.state END,"),
			inPg("ended_at = coalesce(t.ended_at, t.now),", "ended_at = coalesce(a.ended_at, t.now),"),
			inPg("OR NOT t.able AND t.state <> 'succeeded' AND t.late_at IS NULL)", "OR NOT t.able AND a.state <> 'succeeded' AND a.late_at IS NULL)")),
	}},
}

// before joins an edit with what stands directly before it.
func (e Edit) before(old, new string) Edit {
	return Edit{e.File, old + "\t" + e.Old, new + "\t" + e.New}
}

var zeroRowsLose = Edit{"cas.go",
	"\t\trec, err = st.Find(ctx, FindParams{Attempt: p.ID, AnyOwner: true, Clock: p.Clock})\n\t\tif err != nil {\n\t\t\treturn Job{}, unavailable(op, err)\n\t\t}\n\t\tif decided,",
	"\t\tif rec.Job.ID == \"\" {\n\t\t\treturn Job{}, &Error{Op: op, Err: ErrLateResult, self: p.ID}\n\t\t}\n\t\tif decided,"}
