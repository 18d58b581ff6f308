package mutants

// deadlines are mutants of the clock, of deadlines and Sweep.
var deadlines = []Mutant{
	{ID: "M6", What: "Sweep makes overdue attempts failed", Plants: []Plant{
		pg(kit("overdue", "Sweep makes it durable"), Edit{pgOperator, "UPDATE {schema}.attempts a SET state = 'unknown'\n", "UPDATE {schema}.attempts a SET state = 'failed', ended_at = clock_timestamp()\n"}),
		lite(kit("overdue", "Sweep makes it durable"), Edit{sqliteOperator, "UPDATE {p}attempts SET state = 'unknown'\n", "UPDATE {p}attempts SET state = 'failed', ended_at = ?3\n"}),
	}},
	{ID: "M15", What: "the clock's nanoseconds are returned, and microseconds stored", Plants: []Plant{
		lite(test("TestTimesComeBackAsTheyWereReturned"), Edit{"jobs.go", "return s.now().UTC().Truncate(time.Microsecond) }", "return s.now().UTC() }"}),
	}},
	{ID: "M25", What: "an overdue started attempt is reported as started", Plants: []Plant{
		pg(kit("overdue", "every reader says unknown"), readsStarted),
		lite(kit("overdue", "every reader says unknown"), readsStarted),
	}},
	{ID: "X70", What: "an attempt is overdue only after its deadline, where it is read", Plants: []Plant{
		lite(test("TestADeadlineIsOverAtItsVeryMicrosecond"), Edit{"rows.go", "a.deadline <= {now} THEN", "a.deadline < {now} THEN"}),
	}},
	{ID: "X71", What: "an attempt is overdue only after its deadline, where Sweep looks", Plants: []Plant{
		lite(test("TestTurningTheClockBackEndsNoDoubt"),
			Edit{sqliteOperator, "WHERE a.state = 'started' AND a.deadline <= ?4 ORDER", "WHERE a.state = 'started' AND a.deadline < ?4 ORDER"},
			Edit{sqliteOperator, "AND state = 'started' AND deadline <= ?3", "AND state = 'started' AND deadline < ?3"}),
	}},
	{ID: "X72", What: "an attempt can be extended at its deadline", Plants: []Plant{
		lite(test("TestADeadlineIsOverAtItsVeryMicrosecond"), inSQLite("THEN state = 'started' AND deadline > ?5", "THEN state = 'started' AND deadline >= ?5")),
	}},
	{ID: "X73", What: "Extend may bring the deadline forward", Plants: []Plant{
		pg(kit("overdue", "Extend moves the deadline of a started attempt"), inPg(
			"greatest(a.deadline, CASE WHEN $3 > 0 THEN t.now + t.more ELSE a.deadline END)", "CASE WHEN $3 > 0 THEN t.now + t.more ELSE a.deadline END")),
		lite(kit("overdue", "Extend moves the deadline of a started attempt"), inSQLite("THEN max(deadline, ?5 + ?3) ELSE", "THEN ?5 + ?3 ELSE")),
	}},
	{ID: "X74", What: "Extend revives an overdue attempt", Plants: []Plant{
		pg(kit("overdue", "Extend does not revive"), inPg("THEN t.state = 'started' AND a.deadline > t.now ELSE", "THEN t.state = 'started' ELSE")),
		lite(kit("overdue", "Extend does not revive"), inSQLite("THEN state = 'started' AND deadline > ?5\n", "THEN state = 'started'\n")),
	}},
	{ID: "X75", What: "Sweep takes attempts that are not overdue", Plants: []Plant{
		pg(kit("overdue", "Sweep leaves all others alone"),
			Edit{pgOperator, "WHERE state = 'started' AND deadline <= now()\n", "WHERE state = 'started'\n"},
			Edit{pgOperator, "AND (a.state = 'started') IS TRUE AND a.deadline <= clock_timestamp()\nRETURNING", "AND (a.state = 'started') IS TRUE\nRETURNING"}),
		lite(kit("overdue", "Sweep leaves all others alone"),
			Edit{sqliteOperator, "WHERE a.state = 'started' AND a.deadline <= ?4 ORDER", "WHERE a.state = 'started' AND ?4 > 0 ORDER"},
			Edit{sqliteOperator, "AND state = 'started' AND deadline <= ?3", "AND state = 'started' AND ?3 > 0"}),
	}},
	{ID: "X76", What: "Sweep ignores its limit", Plants: []Plant{
		pg(kit("overdue", "Sweep keeps to its limit"), Edit{pgOperator, "ORDER BY deadline LIMIT $1\n\tFOR NO", "ORDER BY deadline LIMIT $1 + 1000\n\tFOR NO"}),
		lite(kit("overdue", "Sweep keeps to its limit"), Edit{sqliteOperator, "ORDER BY a.deadline LIMIT ?1`", "ORDER BY a.deadline LIMIT ?1 + 1000`"}),
	}},
	{ID: "X77", What: "Sweep neither locks what it chose nor looks at it again", Plants: []Plant{
		pg(kit("purge races", "8 sweeps at once return each attempt once"),
			Edit{pgOperator, "ORDER BY deadline LIMIT $1\n\tFOR NO KEY UPDATE SKIP LOCKED\n", "ORDER BY deadline LIMIT $1\n"},
			Edit{pgOperator, "AND a.id = due.id AND (a.state = 'started') IS TRUE AND a.deadline <= clock_timestamp()\nRETURNING", "AND a.id = due.id\nRETURNING"}).often(5),
	}},
	{ID: "X78", What: "Sweep does not look again at what it has locked",
		Equivalent: "PostgreSQL itself evaluates the choice again on the version that it locks, and a locked row does not change",
		Plants: []Plant{
			pg("", Edit{pgOperator, "AND a.id = due.id AND (a.state = 'started') IS TRUE AND a.deadline <= clock_timestamp()\nRETURNING", "AND a.id = due.id\nRETURNING"}),
		}},
	{ID: "X79", What: "Stats counts overdue attempts as started", Plants: []Plant{
		pg(kit("overdue", "every operator's query says unknown"), Edit{pgOperator, "WHERE state = 'started' AND deadline > now()) AS started", "WHERE state = 'started') AS started"}),
		lite(kit("overdue", "every operator's query says unknown"), Edit{sqliteOperator, "WHERE state = 'started' AND deadline > ?1) AS started", "WHERE state = 'started') AS started"}),
	}},
	{ID: "X79.1", What: "the list of attempts selects overdue ones as started", Plants: []Plant{
		pg(kit("overdue", "every operator's query says unknown"), Edit{pgOperator, "CASE WHEN a.state = 'started' AND a.deadline <= clock_timestamp() THEN 'unknown' ELSE a.state END\n", "a.state\n"}),
		lite(kit("overdue", "every operator's query says unknown"), Edit{sqliteOperator,
			"CASE WHEN a.state = 'started' AND a.deadline <= ?4 THEN 'unknown'\n\t\t\tELSE a.state END ||", "a.state ||"}),
	}},
	{ID: "X80", What: "the result of an overdue attempt is refused", Plants: []Plant{
		pg(kit("overdue", "its result still wins"), inPg("AS able, a.*, clock_timestamp() AS now FROM a\n", "AND a.deadline > clock_timestamp() AS able, a.*, clock_timestamp() AS now FROM a\n"),
			inPg("SELECT a.state, a.ended_at, a.late_at FROM", "SELECT a.state, a.ended_at, a.late_at, a.deadline FROM")),
		lite(kit("overdue", "its result still wins"), inSQLite(
			"WHERE job_id = ?1 AND id = ?2 AND state IN ('started', 'unknown', 'detached'))`", "WHERE job_id = ?1 AND id = ?2 AND state IN ('started', 'unknown', 'detached') AND deadline > ?6)`")),
	}},
	{ID: "X81", What: "the client's clock is used on PostgreSQL", Plants: []Plant{
		pg(test("TestPostgresNeverAsksForTheClock"), inPg("\treturn p.newJob(at), nil\n}\n\nfunc pgCreateArgs", "\treturn p.newJob(p.Clock()), nil\n}\n\nfunc pgCreateArgs")),
	}},
}

var readsStarted = Edit{"rows.go", "CASE WHEN a.state = 'started' AND a.deadline <= {now} THEN 'unknown' ELSE a.state END", "CASE WHEN {now} IS NULL THEN 'unknown' ELSE a.state END"}
