package mutants

// leaks are mutants that show what must not be shown, or speak to the database
// in the wrong way.
var leaks = []Mutant{
	{ID: "M17.1", What: "the error of bad params quotes them", Plants: []Plant{
		lite(test("TestNoRefusalShowsASecret"), Edit{"canonical.go", `return invalid("Intent.Params", rule+" (at byte "+strconv.Itoa(p.pos)+")")`, `return invalid("Intent.Params", rule+" (in "+string(p.in)+")")`}),
	}},
	{ID: "M17.2", What: "the error of a statement shows the driver's text", Plants: []Plant{
		pg(test("TestNoDatabaseErrorShowsASecret"), Edit{"errors_text.go", `return "SQLSTATE " + state + hint(state)`, `return "SQLSTATE " + state + hint(state) + ": " + err.Error()`}),
	}},
	{ID: "M17.3", What: "the error of a statement shows the server's detail", Plants: []Plant{
		pg(test("TestNoDatabaseErrorShowsASecret"), Edit{"errors_text.go", `return "SQLSTATE " + state + hint(state)`, `return fmt.Sprintf("SQLSTATE %s%s: %+v", state, hint(state), errors.Unwrap(err))+fmt.Sprintf("%#v", err)`}),
	}},
	{ID: "X130", What: "the line of a late result holds the key", Plants: []Plant{
		lite(test("TestNoRefusalShowsASecret"), Edit{"log.go", `slog.String("attempt", string(p.ID)),`, `slog.String("attempt", string(p.ID)), slog.String("key", rec.Job.Key),`}),
	}},
	{ID: "X131", What: "the line of a late result holds the result", Plants: []Plant{
		lite(kit("order of return", "detached, returns second"), Edit{"log.go", `slog.Int("size", len(p.Result)),`, `slog.Int("size", len(p.Result)), slog.String("result", string(p.Result)),`}),
	}},
	{ID: "X132", What: "a printed job shows its owner", Plants: []Plant{
		lite(test("TestNoValueShowsASecret"), Edit{"job.go", `slog.Int64("version", j.Version),`, `slog.Int64("version", j.Version), slog.String("owner", j.Owner),`}),
	}},
	{ID: "X133", What: "the evidence of a loser holds its result as the reason", Plants: []Plant{
		lite(kit("order of return", "detached, returns second"), inSQLite("sqliteLose, job, own, now, by, reason, len(p.Result)", "sqliteLose, job, own, now, by, text(string(p.Result)), len(p.Result)")),
	}},
	{ID: "X134", What: "prepared statements are kept by the first bytes of their text", Plants: []Plant{
		pg(kit("owners", "another owner's job is not there"), statementsByPrefix),
		lite(kit("owners", "another owner's job is not there"), statementsByPrefix),
	}},
	{ID: "X135", What: "a store without prepared statements prepares", Plants: []Plant{
		pg(test("TestUnpreparedParsesWithinTransactionsOnly"), Edit{"statements.go", "\tif c.unprepared || c.closed.Load() {\n\t\treturn plainRunner{c}.query(ctx, constant, args...)\n\t}\n", ""},
			Edit{"store_postgres_run.go", "if !s.sql.unprepared {", "if s.sql.db != nil {"}),
	}},
	{ID: "X136", What: "an unprepared statement is sent outside of a transaction", Plants: []Plant{
		pg(test("TestUnpreparedParsesWithinTransactionsOnly"), Edit{"store_postgres_run.go", "if !s.sql.unprepared {", "if s.sql.db != nil {"}),
	}},
	{ID: "X181", What: "a prepared statement that the connection has lost is a failure", Plants: []Plant{
		pg(test("TestAPreparedStatementThatIsGoneIsNoFailure"), Edit{"store_postgres_run.go", "\tcase statementGone(err):\n", "\tcase statementGone(err) && err == nil:\n"}),
	}},
	{ID: "X191", What: "a statement prepared before a migration changed a type fails for good", Plants: []Plant{
		pg(test("TestAPreparedStatementThatIsGoneIsNoFailure"), Edit{"store_postgres_run.go", "\tcase planStale(err):\n", "\tcase planStale(err) && err == nil:\n"}),
	}},
	{ID: "X192", What: "a parameter has a domain's type, of which drivers know nothing", Plants: []Plant{
		pg(test("TestPostgresGenericPlansStayGoodAsTablesGrow"), inPg("$8::bytea, $9::smallint,\n\t'open'", "$8, $9::smallint,\n\t'open'")),
	}},
	{ID: "X206", What: "CreateMany reads the jobs of known keys with a plan that walks the tables", Plants: []Plant{
		pg(test("TestPostgresGenericPlansStayGoodAsTablesGrow"), Edit{"store_postgres_many.go", " OFFSET 0) a ON true`", ") a ON true`"}),
	}},
	{ID: "X207", What: "an object that is sorted copies all that was written before it", Plants: []Plant{
		lite(test("TestCanonicalJSONCopiesNoMoreThanItSorts"), Edit{"canonical.go", "\told = slices.Clone(old) //", "\told = slices.Clone(p.out)[begin:] //"}),
	}},
	{ID: "X137", What: "SQLite does not wait for the disk", Plants: []Plant{
		lite(test("TestDoctorFindsNothingWhereAllIsWell"), Edit{"store_sqlite_open.go", `"synchronous = FULL"`, `"synchronous = NORMAL"`}),
	}},
	{ID: "X190", What: "opening a file to which another process writes fails at once", Plants: []Plant{
		lite(test("TestOpenSQLiteWaitsForWhoHasTheFile"), Edit{"store_sqlite_open.go", "if sqliteCode(err)&0xff != 5 || time.Now().After(end) {", "if err == nil || !time.Now().After(end.Add(patience)) {"}),
	}},
	{ID: "X138", What: "a reader of SQLite keeps to the snapshot in which it first looked for a key", Plants: []Plant{
		lite(kit("double click", "64 goroutines create one job"), inSQLite("\treturn s.find(ctx, &s.reads, p)\n",
			"\trec, err := s.find(ctx, &s.reads, p)\n\tif err == nil && p.Key != \"\" {\n\t\tfirst, _ := s.sql.known.LoadOrStore(\"seen \"+p.Owner+p.Key, rec)\n\t\treturn first.(Record), nil\n\t}\n\treturn rec, err\n")),
	}},
	{ID: "X139", What: "a job and its attempts are read in two statements", Plants: []Plant{
		pg(kit("read races", "a job and its attempts are of one instant"), readInTwo("pgRun(ctx, s, func(q runner) (Record, error) { return s.find(ctx, q, p) })", pgFile)),
		lite(kit("read races", "a job and its attempts are of one instant"), readInTwo("s.find(ctx, &s.reads, p)", sqliteFile)),
	}},
	{ID: "X141", What: "the words of a cause are taken for this call's own", Plants: []Plant{
		lite(kit("the whole way", "the call's own refusal"), Edit{"errors.go", "errs = append(errs, foreignError{e.Cause})", "errs = append(errs, e.Cause)"}),
	}},
}

var statementsByPrefix = Edit{"statements.go",
	"func (c *statements) get(constant string) *statement {\n\tif st, ok := c.known.Load(constant); ok {\n\t\treturn st.(*statement)\n\t}\n\ttext := c.render(constant)\n",
	"func (c *statements) get(constant string) *statement {\n\twhole := constant\n\tconstant = constant[:min(len(constant), 60)]\n\tif st, ok := c.known.Load(constant); ok {\n\t\treturn st.(*statement)\n\t}\n\ttext := c.render(whole)\n"}

// readInTwo reads the attempts after the job.
func readInTwo(read, file string) Edit {
	return Edit{file, "\treturn " + read + "\n}\n\n// FindTx implements",
		"\trec, err := " + read + "\n\tif err == nil && p.All {\n\t\tlater, err := " + read + "\n\t\trec.Attempts = later.Attempts\n\t\treturn rec, err\n\t}\n\treturn rec, err\n}\n\n// FindTx implements"}
}
