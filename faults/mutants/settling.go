package mutants

// settling are mutants of Fail, MarkUnknown, of proof and doubt, and of an
// operator's decisions on attempts.
var settling = []Mutant{
	{ID: "M18", What: "CancelJob does not look at the job's state", Plants: []Plant{
		pg(kit("order of return, raced", "CancelJob after Complete"),
			inPg("FROM {schema}.jobs j WHERE j.id = $1 AND j.state = 'open' FOR NO KEY UPDATE) l", "FROM {schema}.jobs j WHERE j.id = $1 FOR NO KEY UPDATE) l"),
			inPg("FROM t\n\tWHERE j.id = $1 AND j.state = 'open'\n", "FROM t\n\tWHERE j.id = $1\n")),
		lite(kit("order of return, raced", "CancelJob after Complete"), inSQLite("WHERE id = ?1 AND state = 'open'`", "WHERE id = ?1`")),
	}},
	{ID: "M18.1", What: "CancelJob does not look at the job's state and takes the winner away", Plants: []Plant{
		pg(kit("order of return, raced", "CancelJob after Complete"),
			inPg("FROM {schema}.jobs j WHERE j.id = $1 AND j.state = 'open' FOR NO KEY UPDATE) l", "FROM {schema}.jobs j WHERE j.id = $1 FOR NO KEY UPDATE) l"),
			inPg("ended_at = t.now, by = $2::text, reason = $3::text\n\tFROM t\n\tWHERE j.id = $1 AND j.state = 'open'\n",
				"ended_at = t.now, by = $2::text, reason = $3::text,\n\t\tcompleted_by = NULL, result = NULL, result_digest = NULL\n\tFROM t\n\tWHERE j.id = $1\n")),
		lite(kit("order of return, raced", "CancelJob after Complete"), inSQLite(
			"ended_at = ?4, by = ?2, reason = ?3\nWHERE id = ?1 AND state = 'open'`",
			"ended_at = ?4, by = ?2, reason = ?3,\n\tcompleted_by = NULL, result = NULL, result_digest = NULL\nWHERE id = ?1`")),
	}},
	{ID: "M23", What: "Fail takes an error that nobody can classify for a failure", Plants: []Plant{
		lite(kit("doubt", "each cause given to Fail"), Edit{"doubt.go", "\t\treturn least\n\t}\n\treturn noProof\n}", "\t\treturn least\n\t}\n\treturn markProof\n}"}),
	}},
	{ID: "M27", What: "MarkUnknown sets a detached attempt unknown", Plants: []Plant{
		pg(kit("order of return", "doubt about a detached attempt while its successor is open"), inPg(
			"SET state = CASE WHEN t.state = 'detached' AND $3::text = 'unknown' THEN t.state ELSE $3::text END", "SET state = $3::text")),
		lite(kit("order of return", "doubt about a detached attempt while its successor is open"), inSQLite(
			"SET state = CASE WHEN state = 'detached' AND ?3 = 'unknown' THEN state ELSE ?3 END", "SET state = ?3")),
	}},
	{ID: "X50", What: "a context error does not outweigh a NoEffect mark", Plants: []Plant{
		lite(kit("doubt", "each cause given to Fail"), Edit{"doubt.go", "if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {", "if errors.Is(nil, err) || err == context.Canceled || err == context.DeadlineExceeded {"}),
	}},
	{ID: "X51", What: "of joined errors one with proof is enough", Plants: []Plant{
		lite(kit("doubt", "each cause given to Fail"), Edit{"doubt.go", "i == 0 || p < least", "i == 0 || p > least"}),
	}},
	{ID: "X52", What: "a failure to dial is proof although a request was sent before", Plants: []Plant{
		lite(test("TestARepeatedRequestThatActedIsNotTakenForAFailureToDial"), Edit{"doubt.go", "return !sentUnder(ctx)", "return ctx != nil"}),
	}},
	{ID: "X53", What: "any network error is taken for a failure to dial", Plants: []Plant{
		lite(kit("doubt", "each cause given to Fail"), Edit{"doubt.go", "if e.Op == \"dial\" {", "if e.Op != \"\" {"}),
	}},
	{ID: "X54", What: "a later doubt overwrites the cause of the first", Plants: []Plant{
		pg(kit("doubt", "the first cause of a doubt stands"), inPg("THEN coalesce(a.cause, $4::text) ELSE", "THEN coalesce($4::text, a.cause) ELSE")),
		lite(kit("doubt", "the first cause of a doubt stands"), inSQLite("THEN coalesce(cause, ?4) ELSE", "THEN coalesce(?4, cause) ELSE")),
	}},
	{ID: "X55", What: "a repeated decision overwrites the first name and reason", Plants: []Plant{
		pg(kit("repeats", "a decision, by another"),
			inPg("by = CASE WHEN t.state = $3::text THEN a.by ELSE coalesce($5::text, a.by) END", "by = coalesce($5::text, a.by)"),
			inPg("reason = CASE WHEN t.state = $3::text THEN a.reason ELSE coalesce($6::text, a.reason) END", "reason = coalesce($6::text, a.reason)")),
		lite(kit("repeats", "a decision, by another"),
			inSQLite("by = CASE WHEN state = ?3 THEN by ELSE coalesce(?5, by) END", "by = coalesce(?5, by)"),
			inSQLite("reason = CASE WHEN state = ?3 THEN reason ELSE coalesce(?6, reason) END", "reason = coalesce(?6, reason)")),
	}},
	{ID: "X56", What: "an attempt that has won can be refuted", Plants: []Plant{
		pg(kit("transitions", "each operation on each state"), inPg(
			"a.id = $2 AND a.state IN ('started', 'unknown', 'detached')\n\tFOR NO KEY UPDATE\n), t AS MATERIALIZED (\n\tSELECT was.state, clock_timestamp() AS now FROM was",
			"a.id = $2 AND a.state IN ('started', 'unknown', 'detached', 'succeeded')\n\tFOR NO KEY UPDATE\n), t AS MATERIALIZED (\n\tSELECT was.state, clock_timestamp() AS now FROM was")),
		lite(kit("transitions", "each operation on each state"), inSQLite(
			"WHERE job_id = ?1 AND id = ?2 AND state IN ('started', 'unknown', 'detached')`", "WHERE job_id = ?1 AND id = ?2 AND state IN ('started', 'unknown', 'detached', 'succeeded')`")),
	}},
	{ID: "X57", What: "Confirm of a loser is told as a plain success", Plants: []Plant{
		lite(kit("repeats", "Confirm comes too late"), Edit{"operator.go", "\t\t\te.Err = ErrCompleted\n", "\t\t\treturn job, nil\n"}),
	}},
	{ID: "X58", What: "the external reference is overwritten", Plants: []Plant{
		pg(kit("settling", "the provider's own handle"), inPg("a.deadline > t.now ELSE a.external_ref IS NULL END", "a.deadline > t.now ELSE true END")),
		lite(kit("settling", "the provider's own handle"), inSQLite("IN ('started', 'unknown', 'detached') AND external_ref IS NULL END", "IN ('started', 'unknown', 'detached') END")),
	}},
	{ID: "X59", What: "CancelJob does not count the job's version up", Plants: []Plant{
		pg(kit("transitions", "each operation on each state"), inPg("SET state = 'canceled', version = j.version + 1,", "SET state = 'canceled', version = j.version,")),
		lite(kit("transitions", "each operation on each state"), inSQLite("SET state = 'canceled', version = version + 1,", "SET state = 'canceled', version = version,")),
	}},
	{ID: "X60", What: "CancelJob ends the job's open attempt with it", Plants: []Plant{
		lite(kit("order of return, raced", "an attempt that is open when its job is canceled"), inSQLite(
			"\t\trec, err := s.find(ctx, q, after)",
			"\t\tif after.ID != \"\" {\n\t\t\t_, err = q.exec(ctx, \"UPDATE {p}attempts SET state = 'canceled', ended_at = ?2 WHERE job_id = ?1 AND state IN ('started', 'unknown')\", string(after.ID), after.Clock().UnixMicro())\n\t\t\tif err != nil {\n\t\t\t\treturn Record{}, false, err\n\t\t\t}\n\t\t}\n\t\trec, err := s.find(ctx, q, after)")),
	}},
	{ID: "X61", What: "Reconcile takes a failure to dial for proof", Plants: []Plant{
		lite(kit("reconcile", "no result and no error is no knowledge"), Edit{"operator_reconcile.go", "case proofIn(err) == markProof:", "case proofIn(err) != noProof:"}),
	}},
	{ID: "X62", What: "Reconcile takes no result and no error for an empty result", Plants: []Plant{
		lite(kit("reconcile", "no result and no error is no knowledge"), Edit{"operator_reconcile.go", "case err == nil && result == nil:", "case err == nil && result == nil && job.ID == \"\":"}),
	}},
	{ID: "X63", What: "Reconcile asks about an attempt that has ended since it was listed", Plants: []Plant{
		lite(kit("reconcile", "skips what has ended meanwhile"), Edit{"operator_reconcile.go", "case a.State != StateUnknown && a.State != StateDetached:", "case a.State == StateStarted:"}),
	}},
}
