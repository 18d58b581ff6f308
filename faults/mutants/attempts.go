package mutants

// attempts are mutants of BeginAttempt, Start, attempt numbers and provider
// keys.
var attempts = []Mutant{
	{ID: "M4", What: "the attempt's ID is made anew for each statement, as a database would", Plants: []Plant{
		pg(kit("sent twice", "a driver sends each statement twice"), inPg(
			"\t\tstatement, args := pgBegin, []any{string(p.ID.Job())",
			"\t\tid := newUUIDv7()\n\t\tp.ID = attemptID(p.ID.Job(), id[19:23]+id[24:])\n\t\tstatement, args := pgBegin, []any{string(p.ID.Job())")),
		lite(kit("sent twice", "a driver sends each statement twice"), inSQLite(
			"\tn, err := q.exec(ctx, sqliteBegin, job,",
			"\tid := newUUIDv7()\n\tp.ID = attemptID(p.ID.Job(), id[19:23]+id[24:])\n\tn, err := q.exec(ctx, sqliteBegin, job,")),
	}},
	{ID: "M5", What: "the open attempt is looked for by the statement alone, and no unique index refuses a second one", Plants: []Plant{
		pg(kit("begin", "64 goroutines begin one attempt"),
			Edit{pgSchema, "    CONSTRAINT attempts_number UNIQUE (job_id, number),\n", ""},
			Edit{pgSchema, "CREATE UNIQUE INDEX attempts_one_open ON", "CREATE INDEX attempts_one_open ON"}).often(5),
		lite(kit("begin", "an open attempt blocks the next"),
			Edit{sqliteSchema, "CREATE UNIQUE INDEX {prefix}attempts_one_open ON", "CREATE INDEX {prefix}attempts_one_open ON"}),
	}},
	{ID: "M5.1", What: "the open attempt is looked for by the statement, the unique number stays, the unique index does not",
		Equivalent: "on PostgreSQL an attempt that began behind the snapshot has the number that this one would get, and the unique number refuses it; on SQLite nothing begins between the look and the write",
		Plants: []Plant{
			pg("", Edit{pgSchema, "CREATE UNIQUE INDEX attempts_one_open ON", "CREATE INDEX attempts_one_open ON"}),
			lite("", Edit{sqliteSchema, "CREATE UNIQUE INDEX {prefix}attempts_one_open ON", "CREATE INDEX {prefix}attempts_one_open ON"},
				inSQLite("j.state = 'open' AND n.last < ?8\n", "j.state = 'open' AND n.last < ?8\n"+
					"\tAND NOT EXISTS (SELECT 1 FROM {p}attempts WHERE job_id = ?1 AND state IN ('started', 'unknown'))\n")),
		}},
	{ID: "M19", What: "BeginAttempt does not lock the job row", Plants: []Plant{
		pg(kit("begin", "begin waits for a completion that is not committed"), inPg(
			"AND j.state = 'open' AND (SELECT true FROM free)\n\tFOR NO KEY UPDATE\n", "AND j.state = 'open' AND (SELECT true FROM free)\n")),
	}},
	{ID: "X30", What: "the provider key counts attempts that are not proven to have failed", Plants: []Plant{
		pg(kit("begin", "the provider key lasts until a failure is proven"), inPg(
			"count(*) FILTER (WHERE state = 'failed' AND provider = $4::text) AS failed", "count(*) FILTER (WHERE provider = $4::text) AS failed")),
		lite(kit("begin", "the provider key lasts until a failure is proven"), inSQLite("AND provider = ?2 AND state = 'failed'`", "AND provider = ?2`")),
	}},
	{ID: "X31", What: "the provider key counts other providers' failures", Plants: []Plant{
		pg(kit("begin", "the provider key lasts until a failure is proven"), inPg(
			"WHERE state = 'failed' AND provider = $4::text) AS failed", "WHERE state = 'failed') AS failed")),
		lite(kit("begin", "the provider key lasts until a failure is proven"), inSQLite("AND provider = ?2 AND state = 'failed'`", "AND ?2 <> '' AND state = 'failed'`")),
	}},
	{ID: "X32", What: "the provider key is the other half of the digest", Plants: []Plant{
		pg(kit("begin", "the provider key is a fixed vector"), inPg("left(encode(sha256(", "right(encode(sha256(")),
	}},
	{ID: "X33", What: "an attempt's number is the count of attempts plus one",
		Equivalent: "only attempts of final jobs are ever removed, and none begins there: on an open job the count is the highest number",
		Plants: []Plant{
			pg("", inPg("SELECT coalesce(max(number), 0) AS last,", "SELECT count(*) AS last,")),
			lite("", inSQLite("(SELECT coalesce(max(number), 0) AS last FROM {p}attempts", "(SELECT count(*) AS last FROM {p}attempts")),
		}},
	{ID: "X34", What: "a job may have one attempt more than Options.MaxAttempts", Plants: []Plant{
		pg(kit("begin", "too many attempts"), inPg("AND coalesce(max(number), 0) < $6::bigint", "AND coalesce(max(number), 0) <= $6::bigint")),
		lite(kit("begin", "too many attempts"), inSQLite("AND n.last < ?8", "AND n.last <= ?8")),
	}},
	{ID: "X35", What: "a detached attempt that failed meanwhile does not change the provider key", Plants: []Plant{
		pg(test("TestABeginThatWaitedForAFailureGetsANewProviderKey"), inPg(
			"\tWHERE (SELECT count(*) FROM detached) = (SELECT count(*) FROM seen WHERE provider = $4 AND state = 'detached')`\n", "\tWHERE true`\n")),
	}},
	{ID: "X36", What: "a repeated Try.ID is taken whatever the provider", Plants: []Plant{
		lite(kit("begin", "an attempt's ID does not serve elsewhere"), Edit{"begin.go", "case rec.Attempt.Provider != p.Provider:", "case rec.Attempt.Provider == \"\":"}),
	}},
	{ID: "X37", What: "a repeated Try.ID of an attempt in doubt succeeds", Plants: []Plant{
		lite(kit("begin", "repeated, an attempt that does not go on is refused"), Edit{"begin.go", "case rec.Attempt.State == StateStarted:", "case rec.Attempt.State.Open():"}),
	}},
	{ID: "X38", What: "an attempt may begin on a canceled job", Plants: []Plant{
		pg(kit("begin", "a canceled job refuses"), inPg("(j.owner = $2) IS TRUE AND j.state = 'open' AND (SELECT", "(j.owner = $2) IS TRUE AND j.state <> 'completed' AND (SELECT")),
		lite(kit("begin", "a canceled job refuses"), inSQLite("j.owner = ?2 AND j.state = 'open' AND n.last", "j.owner = ?2 AND j.state <> 'completed' AND n.last")),
	}},
	{ID: "X39", What: "an attempt in doubt does not block the next", Plants: []Plant{
		pg(kit("begin", "an open attempt blocks the next"), inPg("count(*) FILTER (WHERE state IN ('started', 'unknown') OR id = $3::text) = 0", "count(*) FILTER (WHERE state IN ('started') OR id = $3::text) = 0"),
			Edit{pgSchema, "ON {schema}.attempts (job_id) WHERE state IN ('started', 'unknown');", "ON {schema}.attempts (job_id) WHERE state IN ('started');"}),
		lite(kit("begin", "an open attempt blocks the next"), Edit{sqliteSchema,
			"ON {prefix}attempts (job_id) WHERE state IN ('started', 'unknown');", "ON {prefix}attempts (job_id) WHERE state IN ('started');"}),
	}},
	{ID: "X40", What: "Start begins the attempt in a second commit", Plants: []Plant{
		pg(test("TestOperationsCostTheirRoundTripsAndCommits"), startInTwo),
	}},
	{ID: "X41", What: "Start with another job's attempt ID begins it there", Plants: []Plant{
		lite(kit("begin", "start with the ID of another job is refused"), Edit{"start.go", "if other.Job.ID != \"\" {", "if other.Job.ID == rec.Job.ID {"}),
	}},
}

var startInTwo = Edit{"start.go", "\tfor range rounds {\n\t\trec, fresh, err := s.store.Start(ctx, cp, bp)\n",
	"\tfor range rounds {\n\t\t_, err := s.store.Create(ctx, cp)\n\t\tvar rec Record\n\t\tvar fresh bool\n\t\tif err == nil {\n\t\t\trec, fresh, err = s.store.Begin(ctx, bp)\n\t\t}\n"}
