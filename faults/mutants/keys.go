package mutants

// keys are mutants of Create, of keys, owners and fingerprints.
var keys = []Mutant{
	{ID: "M7", What: "Create ignores the fingerprint", Plants: []Plant{
		lite(kit("same key", "each field of the fingerprint counts by itself"), Edit{"create.go", "\tcase !same:", "\tcase !same && err != nil:"}),
	}},
	{ID: "M8", What: "the fingerprint is made by plain concatenation", Plants: []Plant{
		lite(kit("same key", "each field of the fingerprint counts by itself"), Edit{"fingerprint.go", "\tframed = binary.BigEndian.AppendUint64(framed, uint64(len(field)))\n", "\t_ = binary.BigEndian\n"}),
	}},
	{ID: "M9.1", What: "the owner is missing where a job is read by its ID", Plants: []Plant{
		pg(kit("owners", "another owner's job is not there"), inPg(
			"LEFT JOIN {schema}.attempts a ON {shown}\nWHERE j.id = $1 AND ($2 OR j.owner = $3)", "LEFT JOIN {schema}.attempts a ON {shown}\nWHERE j.id = $1 AND ($2 OR $3::text IS NOT NULL)")),
		lite(kit("owners", "another owner's job is not there"), inSQLite(
			"LEFT JOIN {p}attempts a ON {shown}\nWHERE j.id = ?1 AND (?2 OR j.owner = ?3)", "LEFT JOIN {p}attempts a ON {shown}\nWHERE j.id = ?1")),
	}},
	{ID: "M9.2", What: "the owner is missing where a job is read by its key", Plants: []Plant{
		pg(kit("owners", "two owners with one key have two jobs"), inPg("WHERE j.owner = $1 AND j.key = $2`", "WHERE $1::text IS NOT NULL AND j.key = $2`")),
		lite(kit("owners", "two owners with one key have two jobs"), inSQLite("WHERE j.owner = ?1 AND j.key = ?2`", "WHERE j.key = ?2`")),
	}},
	{ID: "M9.3", What: "the owner is missing where a job is read with all its attempts", Plants: []Plant{
		pg(kit("owners", "another owner's job is not there"), inPg("WHERE j.id = $1 AND ($2 OR j.owner = $3)\nORDER BY", "WHERE j.id = $1 AND ($2 OR $3::text IS NOT NULL)\nORDER BY")),
		lite(kit("owners", "another owner's job is not there"), inSQLite("WHERE j.id = ?1 AND (?2 OR j.owner = ?3)\nORDER BY", "WHERE j.id = ?1\nORDER BY")),
	}},
	{ID: "M9.4", What: "the owner is missing where an attempt begins", Plants: []Plant{
		pg(kit("owners", "another owner's job is not there"), inPg("WHERE j.id = $1 AND (j.owner = $2) IS TRUE AND j.state = 'open'", "WHERE j.id = $1 AND j.state = 'open'")),
		lite(kit("owners", "another owner's job is not there"), inSQLite("WHERE j.id = ?1 AND j.owner = ?2 AND j.state = 'open'", "WHERE j.id = ?1 AND ?2 <> '' AND j.state = 'open'")),
	}},
	{ID: "M9.5", What: "the owner is missing where a refused Begin says why", Plants: []Plant{
		pg(kit("owners", "another owner's job is not there"), inPg("LEFT JOIN begun b ON true\nWHERE j.id = $1 AND (j.owner = $2) IS TRUE`", "LEFT JOIN begun b ON true\nWHERE j.id = $1`")),
		lite(kit("owners", "another owner's job is not there"), inSQLite(
			"({shown} OR a.id = ?5)\nWHERE j.id = ?1 AND (?2 OR j.owner = ?3)", "({shown} OR a.id = ?5)\nWHERE j.id = ?1")),
	}},
	{ID: "M9.6", What: "the owner is missing where an operator's list is filtered", Plants: []Plant{
		pg(kit("operator lists", "match every field that is set"), Edit{pgOperator, "AND ($3 = '' OR j.owner = $3)", "AND $3::text IS NOT NULL"}),
		lite(kit("operator lists", "match every field that is set"), Edit{sqliteOperator, "AND (?3 = '' OR j.owner = ?3)", "AND ?3 IS NOT NULL"}),
	}},
	{ID: "M14", What: "the job that was in the way is read by the statement that met it, in its old snapshot", Plants: []Plant{
		pg(kit("refusals in transactions", "8 create one key, one of them creates"),
			inPg("ON CONFLICT DO NOTHING\nRETURNING created_at`\n\n// Create implements",
				"ON CONFLICT DO NOTHING\nRETURNING created_at), seen AS (SELECT id FROM {schema}.jobs WHERE owner = $2 AND key = $3)\n"+
					"SELECT n.created_at FROM n UNION ALL SELECT NULL FROM seen`\n\n// Create implements"),
			inPg("const pgCreate = `\nINSERT", "const pgCreate = `\nWITH n AS (INSERT"),
			inPg("\tif err = drain(rows, err); err != nil || !created {\n\t\treturn Record{}, err\n\t}\n\treturn p.newJob(at), nil",
				"\tif err = drain(rows, err); err == nil && !created {\n\t\terr = sql.ErrNoRows\n\t}\n\tif err != nil || at.IsZero() {\n\t\treturn Record{}, err\n\t}\n\treturn p.newJob(at), nil")).often(5),
		lite(kit("refusals in transactions", "8 create one key, one of them creates"), inSQLite(
			"\tif err != nil || n == 0 {\n\t\treturn Record{}, err\n\t}\n\treturn p.newJob(now), nil",
			"\tif err != nil {\n\t\treturn Record{}, err\n\t}\n\tif n == 0 {\n\t\treturn Record{}, sql.ErrNoRows\n\t}\n\treturn p.newJob(now), nil")),
	}},
	{ID: "M16.1", What: "the key is written as []byte", Plants: []Plant{
		lite(kit("double click", "64 goroutines create one job"), inSQLite("string(p.ID), in.Owner, in.Key, in.Kind", "string(p.ID), in.Owner, []byte(in.Key), in.Kind")),
	}},
	{ID: "M16.2", What: "the key is looked up as []byte", Plants: []Plant{
		lite(kit("double click", "64 goroutines create one job"), inSQLite("[]any{p.Owner, p.Key, nil, now}", "[]any{p.Owner, []byte(p.Key), nil, now}")),
	}},
	{ID: "M22", What: "another input is noticed only after what is in flight", Plants: []Plant{
		lite(kit("same key", "Start refuses other input in every state"), Edit{"start.go",
			"\tif err := checkSame(op, rec, cp, in); err != nil {\n\t\treturn sameJob(err), nil, false, err\n\t}\n\tif rec.Job.ID",
			"\tif err := checkSame(op, rec, cp, in); err != nil && rec.Job.Attempt == nil {\n\t\treturn sameJob(err), nil, false, err\n\t}\n\tif rec.Job.ID"}),
	}},
	{ID: "X10", What: "owners are unique without regard to case", Plants: []Plant{
		lite(kit("owners", "owners are compared byte by byte"), Edit{sqliteSchema, "owner               TEXT    NOT NULL CHECK", "owner               TEXT    NOT NULL COLLATE NOCASE CHECK"}),
		pg(kit("owners", "owners are compared byte by byte"), inPg("WHERE j.owner = $1 AND j.key = $2`", "WHERE lower(j.owner) = lower($1) AND j.key = $2`"),
			Edit{pgSchema, "    CONSTRAINT jobs_owner_key UNIQUE (owner, key),\n", ""},
			Edit{pgSchema, "CREATE INDEX jobs_unpurged ON", "CREATE UNIQUE INDEX jobs_owner_key ON {schema}.jobs (lower(owner), key);\n\nCREATE INDEX jobs_unpurged ON"}),
	}},
	{ID: "X11", What: "keys are unique without regard to trailing spaces", Plants: []Plant{
		lite(kit("owners", "keys are compared byte by byte"), Edit{sqliteSchema, "key                 TEXT    NOT NULL CHECK", "key                 TEXT    NOT NULL COLLATE RTRIM CHECK"}),
	}},
	{ID: "X12", What: "the fingerprint leaves the scope out", Plants: []Plant{
		lite(kit("same key", "each field of the fingerprint counts by itself"), Edit{"fingerprint.go", "range in.Scope {", "range in.Scope[:0] {"}),
	}},
	{ID: "X13", What: "the names of JSON objects are not sorted", Plants: []Plant{
		lite(kit("same key", "JSON that means the same is the same"), Edit{"canonical.go", "\tslices.SortFunc(members, byName)\n", ""}),
	}},
	{ID: "X14", What: "names of JSON objects that stand twice are taken", Plants: []Plant{
		lite(test("TestCanonicalJSONRefusesWhatIsAmbiguous"), Edit{"canonical.go", "if byName(members[i], m) == 0 {", "if i < 0 && byName(members[i], m) == 0 {"}),
	}},
	{ID: "X15", What: "numbers in JSON are read as float64", Plants: []Plant{
		lite(kit("same key", "JSON that differs is other input"), Edit{"canonical.go",
			"\tp.out = append(p.out, p.in[start:p.pos]...)\n\treturn \"\"\n}\n\n// digits",
			"\tf, _ := strconv.ParseFloat(string(p.in[start:p.pos]), 64)\n\tp.out = strconv.AppendFloat(p.out, f, 'g', -1, 64)\n\treturn \"\"\n}\n\n// digits"}),
	}},
	{ID: "X16", What: "65 levels of JSON are taken", Plants: []Plant{
		lite(test("TestCanonicalJSONRefusesWhatIsAmbiguous"), Edit{"canonical.go", "if depth == maxDepth {", "if depth > maxDepth {"}),
	}},
	{ID: "X17", What: "opaque params that look like JSON are the same as JSON", Plants: []Plant{
		lite(kit("same key", "each field of the fingerprint counts by itself"), Edit{"fingerprint.go", "mode = \"opaque\"", "mode = \"json\""}),
	}},
	{ID: "X18", What: "keys of 256 bytes are taken", Plants: []Plant{
		lite(kit("limits", "a bad intent is refused and not stored"), Edit{"validate.go", "maxKey         = 255", "maxKey         = 256"}),
	}},
	{ID: "X19", What: "who finds a job is told that it created it", Plants: []Plant{
		lite(kit("double click", "64 goroutines create one job"), Edit{"create.go", "return rec.Job, rec.Job.ID == p.ID, nil", "return rec.Job, rec.Job.ID != \"\", nil"}),
	}},
	{ID: "X20", What: "a stored fingerprint is compared under the newest version only", Plants: []Plant{
		lite(test("TestFingerprintOfAnOldVersionIsStillCompared"), Edit{"fingerprint.go", "fingerprintVersions[stored.version](in)", "fingerprintVersions[f.version](in)"}),
	}},
	{ID: "X21", What: "a key whose job was purged answers with the empty job", Plants: []Plant{
		lite(kit("purge", "retires the key"), Edit{"create.go", "case !rec.Job.PurgedAt.IsZero():", "case !rec.Job.PurgedAt.IsZero() && err != nil:"}),
	}},
	{ID: "X22", What: "a conflict returns the job with the other input beside the error", Plants: []Plant{
		lite(kit("same key", "Create refuses other input in every state"), Edit{"create.go", "ok && e.Err != ErrKeyConflict {", "ok {"}),
	}},
	{ID: "X23", What: "IDs are taken in upper case too", Plants: []Plant{
		pg(kit("owners", "a malformed ID is no job"), Edit{"id.go", "c >= 'a' && c <= 'f' }", "c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }"}),
	}},
	{ID: "X182", What: "CreateMany stores in the order of its caller", Plants: []Plant{
		pg(kit("many", "callers with the same keys in other orders"), Edit{"create_many.go",
			"return cmp.Or(cmp.Compare(a.Intent.Owner, b.Intent.Owner), cmp.Compare(a.Intent.Key, b.Intent.Key))", "return cmp.Compare(a.at, b.at)"}),
	}},
	{ID: "X183", What: "an array's quotes are not escaped", Plants: []Plant{
		pg(kit("many", "any bytes are kept"), Edit{"store_postgres_many.go", "_, _ = pgQuoted.WriteString(&a.b, s)", "a.b.WriteString(s)"}),
	}},
}
