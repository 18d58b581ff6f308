package mutants

const (
	pgWait     = "store_postgres_wait.go"
	sqliteWait = "store_sqlite_wait.go"
	waitRoom   = "wait_room.go"
	waitFile   = "wait.go"
)

// waiting are mutants of Wait, and of what an observer hears.
var waiting = []Mutant{
	{ID: "X230", What: "an attempt past its deadline that nobody swept does not end a wait", Plants: []Plant{
		pg(kit("wait", "what is settled is told of many jobs at once"), Edit{pgWait, "(a.state = 'unknown' OR a.deadline <= clock_timestamp())", "(a.state = 'unknown')"}),
		lite(kit("wait", "what is settled is told of many jobs at once"), Edit{sqliteWait, "(a.state = 'unknown' OR a.deadline <= ?2)", "(a.state = 'unknown' AND ?2 > 0)"}),
	}},
	{ID: "X231", What: "a job that is gone is waited for", Plants: []Plant{
		pg(kit("wait", "what is settled is told of many jobs at once"), Edit{pgWait, "WHERE j.id IS NULL OR j.state", "WHERE j.state"}),
		lite(kit("wait", "what is settled is told of many jobs at once"), Edit{sqliteWait, "WHERE j.id IS NULL OR j.state", "WHERE j.state"}),
	}},
	{ID: "X232", What: "a detached attempt ends a wait", Plants: []Plant{
		pg(kit("wait", "what is settled is told of many jobs at once"), Edit{pgWait, "AND (a.state = 'unknown' OR", "OR a.job_id = j.id AND a.state = 'detached' AND (a.state <> 'unknown' OR"}),
		lite(kit("wait", "what is settled is told of many jobs at once"), Edit{sqliteWait, "AND (a.state = 'unknown' OR", "OR a.job_id = j.id AND a.state = 'detached' AND (a.state <> 'unknown' OR"}),
	}},
	{ID: "X233", What: "who sits down while the store is asked is told what it said", Plants: []Plant{
		lite(test("TestAWaiterIsNotToldWhatIsOlderThanItsWait"), Edit{waitRoom, "case s.number > asOf:", "case s.number > asOf+1:"}),
	}},
	{ID: "X234", What: "all who wait for a job get the same bytes", Plants: []Plant{
		lite(test("TestThousandsOfWaitersShareOneLook"), Edit{waitRoom, "own.Params, own.Result = bytes.Clone(job.Params), bytes.Clone(job.Result)", "own.Params = bytes.Clone(job.Params)"}),
	}},
	{ID: "X235", What: "each who waits has the job read for itself", Plants: []Plant{
		lite(test("TestThousandsOfWaitersShareOneLook"), Edit{waitRoom, "\t\t\ts.answer <- waitAnswer{own, ownError(err)}\n", "\t\t\ts.answer <- waitAnswer{own, ownError(err)}\n\t\t\tif i := len(w.seats) - 1; i > 0 && s != w.seats[i] {\n\t\t\t\tw.seats, w.hinted = w.seats[1:], true\n\t\t\t\treturn\n\t\t\t}\n"}),
	}},
	{ID: "X236", What: "the goroutine that looks stays when nobody waits any more", Plants: []Plant{
		lite(test("TestAWaitLeavesNoGoroutineBehind"), Edit{waitRoom, "\tif len(r.jobs) == 0 {\n\t\tr.served = false\n", "\tif len(r.jobs) == 0 && r.last < 0 {\n\t\tr.served = false\n"}),
	}},
	{ID: "X237", What: "what a Tx has completed is not told", Plants: []Plant{
		lite(test("TestWhatThisProcessChangesIsToldToItsWaiters"), Edit{"tx.go", "\tfor _, id := range o.ended {\n", "\tfor _, id := range o.ended[:0] {\n"}),
	}},
	{ID: "X238", What: "a panic of the host's code is told as a success", Plants: []Plant{
		lite(test("TestAnObserverHearsOfAPanicOfTheHosts"), Edit{"observe.go", "\tif panicked != nil || w.inHost {\n", "\tif panicked != nil && w.end == nil {\n"}),
	}},
	{ID: "X239", What: "the winner's repeat is told as a change", Plants: []Plant{
		lite(test("TestAnObserverHearsWhatBecameOfAnOperation"), Edit{"cas.go", "s.observing(ctx).saw(rec.Attempt, false)", "s.observing(ctx).saw(rec.Attempt, err == nil)"}),
	}},
	{ID: "X240", What: "evidence of every time is listed, whatever LateSince says", Plants: []Plant{
		pg(kit("operator lists", "show the late ones since a time"), Edit{pgOperator, "OR a.late_at >= $11::timestamptz)", "OR a.late_at IS NOT NULL)"}),
		lite(kit("operator lists", "show the late ones since a time"), Edit{sqliteOperator, "OR a.late_at >= ?12)", "OR ?12 > 0)"}),
	}},
	{ID: "X241", What: "looks that hang are forgotten when nobody waits any more", Plants: []Plant{
		lite(test("TestLooksThatHangDoNotAddUp"), Edit{waitRoom, "\t\tr.served = true\n\t\tgo r.run", "\t\tr.served, r.polls = true, 0\n\t\tgo r.run"}),
	}},
	{ID: "X242", What: "who has not had a first look yet is told what others are", Plants: []Plant{
		lite(test("TestAWaiterIsNotToldWhatIsOlderThanItsFirstLook"), Edit{waitRoom, "\t\tcase s.number == 0:\n\t\t\ts.missed = true\n\t\t\tlater = append(later, s)\n", ""}),
	}},
	{ID: "X243", What: "a look that hangs stops all others", Plants: []Plant{
		lite(test("TestOneSilentConnectionStopsNoWaiter"), Edit{waitRoom, "r.polls == 0 || r.polls < maxPolls && now.Sub(r.lastPoll) >= settleBound", "r.polls == 0"}),
	}},
	{ID: "X244", What: "work that never left is told as this call's", Plants: []Plant{
		lite(test("TestAnObserverHearsOfWorkWhoseAnswerWasLost"), Edit{"observe.go", "(!errors.As(first, &dial) || dial.Op != \"dial\")", "(!errors.As(first, &dial) || dial.Op != \"\")"}),
	}},
	{ID: "X245", What: "a job that the caller's own ID names is told as made", Plants: []Plant{
		lite(test("TestAnObserverHearsOfWorkWhoseAnswerWasLost"), Edit{"start.go", "rec.Job.ID == cp.ID && try.ID == \"\"", "rec.Job.ID == cp.ID"}),
	}},
}
