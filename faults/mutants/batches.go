package mutants

// batches are mutants of how the writes of a SQLite store share a commit.
var batches = []Mutant{
	{ID: "X170", What: "a batch goes on after one of its writes has failed", Plants: []Plant{
		lite(test("TestAWriteThatFailsDoesNotFailItsBatch"), Edit{"store_sqlite_batch.go", "\treturn w.err == nil\n", "\treturn true\n"}),
	}},
	{ID: "X171", What: "who was in a batch that was undone is told that it is done", Plants: []Plant{
		lite(test("TestAWriteThatFailsDoesNotFailItsBatch"), Edit{"store_sqlite_batch.go", "\ttold := runAlone // also where own panics\n", "\ttold := isDone\n"}),
	}},
	{ID: "X172", What: "a batch is told to be done although its COMMIT has failed", Plants: []Plant{
		lite(test("TestAWriteThatFailsDoesNotFailItsBatch"), Edit{"store_sqlite_batch.go", "\tcase err == nil:\n", "\tcase err == nil || !errors.Is(err, errBatch) && len(b.others) > 0:\n"}),
	}},
	{ID: "X173", What: "the leader's own OnComplete may have lost the transaction, and the batch goes on", Plants: []Plant{
		lite(test("TestAWriteThatFailsDoesNotFailItsBatch"), Edit{"store_sqlite_write.go", "\t\tif err := outside(w.ctx, q.tx); err == nil || errors.Is(err, sql.ErrTxDone) {\n", "\t\tif w.hook && w.err != nil {\n"}),
	}},
	{ID: "X174", What: "what OnComplete wrote before it refused stays in the batch", Plants: []Plant{
		lite(test("TestAWriteThatFailsDoesNotFailItsBatch"), Edit{"store_sqlite_write.go", "return send(w.ctx, q.tx, \"ROLLBACK TO onejob_write\") == nil && send(", "return send("}),
	}},
	{ID: "X175", What: "OnComplete runs on the leader's goroutine", Plants: []Plant{
		lite(test("TestAWriteThatFailsDoesNotFailItsBatch"), Edit{"store_sqlite_batch.go",
			"\t\tt := &turn{q: q, over: make(chan bool)}\n\t\tw.told <- verdict{hasTurn, t}\n\t\treturn <-t.over\n", "\t\treturn w.inSavepoint(q)\n"}),
	}},
	{ID: "X176", What: "a caller that has gone is carried out", Plants: []Plant{
		lite(test("TestACallerOfABatchThatGoes"),
			Edit{"store_sqlite_queue.go", "\t\t\tif q.remove(w) || !w.hook {\n", "\t\t\tif !w.hook {\n"},
			Edit{"store_sqlite_queue.go", "w.caller.Err() != nil || w.hook && !hooked {", "w.hook && !hooked {"}),
	}},
	{ID: "X177", What: "each of those that wait waits for another process's lock as long as the first", Plants: []Plant{
		lite(test("TestAFileThatStaysLockedIsToldToAllThatWait"), Edit{"store_sqlite_batch.go", "\t\ts.queue.refuse(latest, err)\n", "\t\t_ = latest\n"}),
	}},
	{ID: "X178", What: "a batch has no bound", Plants: []Plant{
		lite(test("TestABatchIsBounded"), Edit{"store_sqlite_batch.go", "maxBatchBytes-b.size)", "1<<40)"}),
	}},
	{ID: "X179", What: "Close does not wait for the writes that wait", Plants: []Plant{
		lite(test("TestCloseWaitsForWhatWaits"), Edit{"store_sqlite_queue.go", "\tcase <-q.drained:\n", "\tdefault:\n"}),
	}},
	{ID: "X180", What: "each write has its own commit", Plants: []Plant{
		lite(test("TestWritesThatWaitOnSQLiteShareOneCommit"), Edit{"store_sqlite_batch.go", "\terr := s.leadWith(ctx, own, b.takeIn)\n", "\terr := s.leadWith(ctx, own, func(*ownRunner) error { return nil })\n"}),
	}},
	{ID: "X184", What: "a leader without OnComplete takes another's in", Plants: []Plant{
		lite(test("TestOnCompleteThatComesToABatchWithoutOne"), Edit{"store_sqlite_queue.go", "w.caller.Err() != nil || w.hook && !hooked {", "w.caller.Err() != nil {"}),
	}},
	{ID: "X185", What: "a key that exists is looked for by the writer only, behind its lock", Plants: []Plant{
		lite(test("TestADuplicateOnSQLiteDoesNotWaitForTheWriter"), Edit{"store_sqlite_batch.go", "\tif own.moot != nil && s.reader != s.writer {\n", "\tif own.moot != nil && s.reader == nil {\n"}),
	}},
	{ID: "X186", What: "a store goes on with a connection that has broken", Plants: []Plant{
		lite(test("TestSQLiteTakesAnotherConnectionWhenOneBreaks"), Edit{"store_sqlite_writer.go", "\tif !s.kept.alive() {\n", "\tif s.kept.conn == nil {\n"}),
	}},
	{ID: "X187", What: "a caller asks a reader while it has the writer", Plants: []Plant{
		lite(test("TestBusyReadersDoNotHoldTheWriter"),
			Edit{"store_sqlite_batch.go", "\tif !s.keeps {\n", "\tif s.writer == nil {\n"},
			Edit{"store_sqlite_batch.go", "\tif moot, err := s.isMoot(ctx, own); err != nil || moot {\n", "\tif moot, err := own.isMoot(); err != nil || moot {\n"}),
	}},
	{ID: "X188", What: "a completion whose transaction has ended is taken for a loser", Plants: []Plant{
		lite(test("TestADiskThatFailsOnceFailsNobodyElseOfABatch"), inSQLite("\tif won == 0 && swapped > 0 {\n", "\tif won == 0 && swapped > 1 {\n")),
	}},
	{ID: "X189", What: "what a transaction of database/sql's sends goes past it", Plants: []Plant{
		lite(test("TestWhatOnCompleteLeftRunningEndsTheTransaction"), Edit{"store_sqlite_run.go", "\tq := s.sql.inOwn(tx)\n", "\tq := s.sql.inOwn(tx)\n\tif s.keeps {\n\t\tq.kept = &s.kept\n\t}\n"}),
	}},
}
