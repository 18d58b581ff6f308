package mutants

// operating are mutants of Purge, of lists and of what is kept with the rows.
var operating = []Mutant{
	{ID: "M21", What: "Purge empties a job that has an open attempt", Plants: []Plant{
		pg(kit("purge", "is held back by an open attempt"), Edit{pgOperator,
			"\n\tAND NOT EXISTS (SELECT 1 FROM {schema}.attempts a\n\t\tWHERE a.job_id = j.id AND a.state IN ('started', 'unknown'))", ""}),
		lite(kit("purge", "is held back by an open attempt"), Edit{sqliteOperator,
			"\n\tAND NOT EXISTS (SELECT 1 FROM {p}attempts a WHERE a.job_id = j.id AND a.state IN ('started', 'unknown'))", ""}),
	}},
	{ID: "X90", What: "Purge keeps the winner's cause and external reference", Plants: []Plant{
		pg(kit("purge", "keeps the winner and the digest"), Edit{pgOperator,
			"UPDATE {schema}.attempts a SET cause = NULL, external_ref = NULL\n", "UPDATE {schema}.attempts a SET cause = a.cause\n"}),
		lite(kit("purge", "keeps the winner and the digest"), Edit{sqliteOperator,
			"UPDATE {p}attempts SET cause = NULL, external_ref = NULL WHERE job_id", "UPDATE {p}attempts SET cause = cause WHERE job_id"}),
	}},
	{ID: "X91", What: "Purge keeps the causes of the attempts that it closes", Plants: []Plant{
		pg(kit("purge", "closes a detached attempt"), Edit{pgOperator, "purgeReason + `',\n\t\tcause = NULL, external_ref = NULL\n", "purgeReason + `'\n"}),
		lite(kit("purge", "closes a detached attempt"), Edit{sqliteOperator, "purgeReason + `', cause = NULL, external_ref = NULL\n", "purgeReason + `'\n"}),
	}},
	{ID: "X92", What: "Purge empties open jobs", Plants: []Plant{
		pg(kit("purge", "never touches an open job"), Edit{pgOperator, "j.purged_at IS NULL AND j.state <> 'open'\n", "j.purged_at IS NULL\n"},
			Edit{pgOperator, "AND j.ended_at <= now() - $1::bigint * interval '1 microsecond'\n\tAND NOT EXISTS", "AND coalesce(j.ended_at, j.created_at) <= now() - $1::bigint * interval '1 microsecond'\n\tAND NOT EXISTS"}),
		lite(kit("purge", "never touches an open job"), Edit{sqliteOperator, "j.purged_at IS NULL AND j.state <> 'open' AND j.created_at <= ?1 AND j.ended_at <= ?1", "j.purged_at IS NULL AND j.created_at <= ?1"}),
	}},
	{ID: "X93", What: "Purge counts the age from the creation of a job", Plants: []Plant{
		lite(test("TestPurgeCountsTheAgeFromTheEndOfAJob"), Edit{sqliteOperator, "AND j.state <> 'open' AND j.created_at <= ?1 AND j.ended_at <= ?1", "AND j.state <> 'open' AND j.created_at <= ?1"}),
	}},
	{ID: "X94", What: "Purge removes jobs that were never emptied", Plants: []Plant{
		pg(kit("purge", "keeps what it is not told to drop"), Edit{pgOperator, "WHERE j.purged_at IS NOT NULL\n", "WHERE j.state <> 'open'\n"}),
		lite(kit("purge", "keeps what it is not told to drop"), Edit{sqliteOperator, "WHERE j.purged_at IS NOT NULL AND", "WHERE"}),
	}},
	{ID: "X95", What: "Purge locks jobs in one statement with the rest", Plants: []Plant{
		pg(kit("purge races", "Complete of a detached attempt against a purge"), Edit{pgOperator,
			"\t\t\tids, err := s.texts(ctx, tx, due, wholeMicros(age).Microseconds(), limit)\n\t\t\tif err != nil || len(ids) == 0 {\n\t\t\t\treturn err\n\t\t\t}\n\t\t\tids, err = s.texts(ctx, tx, work, strings.Join(ids, \",\"))\n",
			"\t\t\tchoice := strings.NewReplacer(\"SELECT j.id\", \"SELECT j.id AS id\").Replace(due)\n\t\t\tone := strings.Replace(work, \"SELECT unnest(string_to_array($1, ',')::uuid[]) AS id\", choice, 1)\n\t\t\tids, err := s.texts(ctx, tx, one, wholeMicros(age).Microseconds(), limit)\n"}).often(5),
	}},
	{ID: "X96", What: "Purge counts a job's limit twice", Plants: []Plant{
		lite(kit("purge", "does no more than its limit"), Edit{pgOperator, "step(true, r.Payloads, limit-total)", "step(true, r.Payloads, limit)"}),
	}},
	{ID: "X97", What: "the version is not counted up by Purge", Plants: []Plant{
		pg(kit("purge", "keeps the winner and the digest"), Edit{pgOperator, "purged_at = clock_timestamp(), version = j.version + 1", "purged_at = clock_timestamp()"}),
		lite(kit("purge", "keeps the winner and the digest"), Edit{sqliteOperator, "purged_at = ?2, version = version + 1", "purged_at = ?2"}),
	}},
	{ID: "X98", What: "the list of attempts goes on after a time alone", Plants: []Plant{
		lite(kit("operator lists, at one instant", "a page ends between attempts that began at once"), Edit{sqliteOperator, "(a.started_at, a.job_id, a.id) > (?8, ?9, ?10)", "a.started_at > ?8 AND ?9 <> ?10"}),
		pg(kit("operator lists", "go on over many pages, oldest first"), Edit{pgOperator,
			"(a.started_at, a.job_id, a.id) > ($7::timestamptz, $8::uuid, $9))", "a.started_at > $7::timestamptz + interval '1 second' AND $8::uuid IS NOT NULL AND $9 <> 'x')"}),
	}},
	{ID: "X99", What: "lists bring params and results along", Plants: []Plant{
		lite(kit("operator lists", "come with the job, without payloads"), Edit{"rows_operator.go", "\t\te.Job.Params, e.Job.Result = nil, nil\n", ""},
			Edit{"store_sqlite_open.go", "withoutPayload(jobColumns, \"NULL\", \"j.params\", \"j.result\")", "jobColumns"}),
	}},
	{ID: "X100", What: "the partial index is named although the list asks for final states", Plants: []Plant{
		lite(kit("operator lists", "match every field that is set"), Edit{pgOperator, "if state.final() {", "if state.final() && f.Owner == \"-\" {"}),
	}},
}
