package mutants

// transactions are mutants of how statements share a transaction: the host's,
// the store's own, and that of OnComplete.
var transactions = []Mutant{
	{ID: "M11", What: "writes run in a deferred SQLite transaction", Plants: []Plant{
		lite(test("TestEveryWriteOnSQLiteHoldsTheLockBeforeItReads"), Edit{"store_sqlite_run.go", "q.exec(ctx, \"BEGIN IMMEDIATE\")", "q.exec(ctx, \"BEGIN\")"}),
	}},
	{ID: "M12.1", What: "an error of COMMIT in Tx is told as what it is, without looking whether it stands", Plants: []Plant{
		pg(kit("lost answers", "COMMIT gives no answer"), Edit{"tx.go", "case o.ran && s.committed(ctx, o):", "case o.ran && s.committed(ctx, o) && err == nil:"}),
		lite(kit("lost answers", "COMMIT gives no answer"), Edit{"tx.go", "case o.ran && s.committed(ctx, o):", "case o.ran && s.committed(ctx, o) && err == nil:"}),
	}},
	{ID: "M12.2", What: "a Complete or Fail whose answer was lost is not asked again", Plants: []Plant{
		lite(kit("sent twice", "each first answer is lost"), Edit{"context.go", "if !lost(err) {", "if true || !lost(err) {"}),
	}},
	{ID: "M12.3", What: "an error of a Begin is taken for a failure without looking", Plants: []Plant{
		lite(kit("sent twice", "each first answer is lost"), Edit{"begin.go",
			"\t\t\trec, err = s.findAfter(ctx, err, asked)\n\t\t\tif err != nil {\n\t\t\t\treturn Record{}, false, unknownFate(op, err, p)\n\t\t\t}\n",
			"\t\t\treturn Record{}, false, unknownFate(op, err, p)\n"}),
	}},
	{ID: "M13.1", What: "what became of a Create or Begin is read under the caller's context", Plants: []Plant{
		lite(kit("lost answers", "the context ends with the answer"), Edit{"read.go", "own, cancel := detached(ctx)", "own, cancel := context.WithCancel(ctx)"}),
	}},
	{ID: "M13.2", What: "a step whose answer was lost is repeated under the caller's context", Plants: []Plant{
		lite(kit("settling", "on a context that has ended"), Edit{"context.go", "\town, cancel := detached(ctx)\n\tdefer cancel()\n\treturn step(own)", "\t_, cancel := detached(ctx)\n\tdefer cancel()\n\treturn step(ctx)"}),
	}},
	{ID: "M13.3", What: "what became of a Tx is read under the caller's context", Plants: []Plant{
		lite(kit("lost answers", "COMMIT gives no answer"), Edit{"tx.go",
			"func (s *Jobs) committed(ctx context.Context, o *openTx) bool {\n\town, cancel := detached(ctx)", "func (s *Jobs) committed(ctx context.Context, o *openTx) bool {\n\town, cancel := context.WithCancel(ctx)"}),
	}},
	{ID: "M26.1", What: "CreateTx and CompleteTx go on where SQLite has rolled the host's transaction back", Plants: []Plant{
		lite(test("TestHostsSQLiteTransactionThatIsGoneIsToRunAgain"), Edit{"store_sqlite_run.go", "if outside(ctx, tx) == nil {", "if outside(ctx, tx) == nil && s == nil {"}),
	}},
	{ID: "M26.2", What: "Tx commits what came before an error of the function", Plants: []Plant{
		pg(kit("transactions", "an error undoes all of it and comes back as it is"), Edit{"store_postgres_run.go",
			"\tif err := fn(ctx, tx); err != nil {\n\t\treturn err\n\t}\n\treturn tx.Commit()", "\tferr := fn(ctx, tx)\n\tif err := tx.Commit(); err != nil {\n\t\treturn err\n\t}\n\treturn ferr"}),
		lite(kit("transactions", "an error undoes all of it and comes back as it is"), Edit{"store_sqlite_run.go",
			"\tif err := fn(ctx, q); err != nil {\n\t\treturn err\n\t}\n\tif err = tx.Commit()", "\tif err := fn(ctx, q); err != nil {\n\t\t_ = tx.Commit()\n\t\treturn err\n\t}\n\tif err = tx.Commit()"}),
	}},
	{ID: "M26.3", What: "a write of several statements on SQLite is committed after one of them has failed", Plants: []Plant{
		lite(test("TestAStepOnSQLiteIsAllOrNothing"), Edit{"store_sqlite_run.go",
			"\tif err := fn(ctx, q); err != nil {\n\t\treturn err\n\t}\n\t_, err := q.exec(ctx, \"COMMIT\")",
			"\tferr := fn(ctx, q)\n\t_, err := q.exec(ctx, \"COMMIT\")\n\tif err == nil {\n\t\tcommitted = true\n\t\treturn ferr\n\t}"}),
	}},
	{ID: "X110", What: "a duplicate in CreateTx is an error of the database and poisons the host's transaction", Plants: []Plant{
		pg(kit("refusals in transactions", "a refusal leaves it usable"), inPg(
			"ON CONFLICT DO NOTHING\nRETURNING created_at`", "RETURNING created_at`")),
	}},
	{ID: "X111", What: "OnComplete runs for losers too", Plants: []Plant{
		pg(kit("OnComplete", "never runs for a loser"), inPg("\t\tif err != nil || !won {\n\t\t\treturn err\n\t\t}\n\t\treturn p.OnComplete", "\t\tif err != nil {\n\t\t\treturn err\n\t\t}\n\t\treturn p.OnComplete")),
		lite(kit("OnComplete", "never runs for a loser"), inSQLite("if err == nil && won && p.OnComplete != nil {", "if err == nil && p.OnComplete != nil {")),
	}},
	{ID: "X112", What: "the error of OnComplete is swallowed", Plants: []Plant{
		pg(kit("OnComplete refuses", "its error undoes both"), inPg("\t\treturn p.OnComplete(ctx, tx, rec.Job)\n", "\t\t_ = p.OnComplete(ctx, tx, rec.Job)\n\t\treturn nil\n")),
		lite(kit("OnComplete refuses", "its error undoes both"), inSQLite("\t\t\terr = p.OnComplete(ctx, q.tx, rec.Job)\n", "\t\t\t_ = p.OnComplete(ctx, q.tx, rec.Job)\n")),
	}},
	{ID: "X113", What: "OnComplete runs after the commit of the swap", Plants: []Plant{
		lite(kit("OnComplete refuses", "its error undoes both"), inSQLite("\t\t\terr = p.OnComplete(ctx, q.tx, rec.Job)\n", ""),
			inSQLite("\treturn s.write(ctx, write{size: len(p.Result), hook: p.OnComplete != nil, keep: keep, run: run})\n",
				"\trec, won, err := s.write(ctx, write{size: len(p.Result), keep: keep, run: run})\n\tif err == nil && won && p.OnComplete != nil {\n\t\terr = s.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error { return p.OnComplete(ctx, tx, rec.Job) })\n\t}\n\treturn rec, won, err\n")),
	}},
	{ID: "X114", What: "a race that OnComplete lost in the database is taken for its refusal", Plants: []Plant{
		pg(kit("OnComplete refuses", "a race in the database is no refusal"), Edit{"tx.go", "if err == nil || mayPass(ctx, tx, err) {", "if err == nil {"}),
	}},
	{ID: "X115", What: "Tx commits although a CompleteTx in it has lost", Plants: []Plant{
		lite(kit("refusals in transactions", "a completion that loses undoes all of it"), Edit{"tx.go", "\t\t\to.err = o.lateErr\n", "\t\t\to.lateErr = nil\n"}),
	}},
	{ID: "X116", What: "the evidence of a CompleteTx that was rolled back is not kept", Plants: []Plant{
		lite(kit("refusals in transactions", "each completion that loses keeps its evidence"), Edit{"tx.go", "\tif len(o.late) == 0 {\n", "\tif len(o.late) >= 0 {\n"}),
	}},
	{ID: "X117", What: "keeping the evidence of a rolled back CompleteTx may complete the job", Plants: []Plant{
		lite(kit("refusals in transactions", "two attempts of one job undo each other"), Edit{"tx.go", "\t\tp.Drop = true\n", ""}),
	}},
	{ID: "X118", What: "a statement that lost a race under a stricter isolation is not run again", Plants: []Plant{
		pg(test("TestStormUnderStricterDefaultIsolation"), Edit{"store_postgres_run.go", "\t\tcase !serialization(err):\n", "\t\tcase !serialization(err) || err != nil:\n"}),
	}},
	{ID: "X119", What: "Tx takes the database's default isolation", Plants: []Plant{
		pg(test("TestTxIsReadCommittedWhateverTheDatabasesDefault"), Edit{"store_postgres_run.go", "&sql.TxOptions{Isolation: sql.LevelReadCommitted}", "nil"}),
	}},
	{ID: "X120", What: "CreateTx runs again by itself after the host's transaction has lost a race", Plants: []Plant{
		pg(test("TestHostsPostgresTransactionLosesARace"), Edit{"create.go",
			"\t\trec, err := st.Create(ctx, p)\n\t\tif err != nil ||", "\t\trec, err := st.Create(ctx, p)\n\t\tif retryTx(err) {\n\t\t\tcontinue\n\t\t}\n\t\tif err != nil ||"}),
	}},
	{ID: "X121", What: "Tx on SQLite is deferred", Plants: []Plant{
		lite(test("TestTxOnSQLiteIsImmediate"), Edit{"store_sqlite_run.go", "\tif _, err := q.exec(ctx, sqliteLock); err != nil {\n\t\treturn err\n\t}\n", ""}),
	}},
	{ID: "X122", What: "a context that ended inside Tx does not keep it from committing", Plants: []Plant{
		lite(kit("transactions", "a context that ends inside undoes all of it"), Edit{"store_sqlite_run.go", "\t\t\treturn ctx.Err()\n", "\t\t\treturn own.Err()\n"}),
	}},
	{ID: "X123", What: "writes on SQLite run under the caller's context", Plants: []Plant{
		lite(test("TestAWriteOnSQLiteIsNotInterrupted"), Edit{"store_sqlite_writer.go", "\tdefer done()\n\tctx = context.WithoutCancel(ctx)\n", "\tdefer done()\n"}),
	}},
	{ID: "X124", What: "Tx takes another's completion for its own commit", Plants: []Plant{
		lite(test("TestTxDoesNotTakeAnothersCommitForItsOwn"), Edit{"tx.go", "rec.Attempt.State == StateSucceeded && rec.Job.EndedAt.Equal(o.endedAt)", "rec.Attempt.State == StateSucceeded"}),
	}},
	{ID: "X125", What: "writes without tx under its context are let through", Plants: []Plant{
		lite(kit("transactions", "writes without it are refused at once"), Edit{"tx.go", "\tif s.inTx(ctx) == nil {\n\t\treturn nil\n\t}\n", "\tif s.inTx(ctx) == nil || op == \"CancelJob\" {\n\t\treturn nil\n\t}\n"}),
	}},
	{ID: "X126", What: "CreateTx and CompleteTx on SQLite have no savepoint",
		Plants: []Plant{
			lite(test("TestAStepInAHostsSQLiteTransactionIsAllOrNothing"),
				Edit{"store_sqlite_run.go", "\t\t_, _ = tx.ExecContext(ctx, \"ROLLBACK TO onejob_step\")\n", ""}),
		}},
	{ID: "X127", What: "a COMMIT that gave no answer is told as a race that was lost: run it again", Plants: []Plant{
		lite(kit("lost answers", "COMMIT gives no answer"), Edit{"tx.go", "\tcase retryTx(err):\n", "\tcase retryTx(err) || !s.committed(ctx, o):\n"}),
	}},
}
