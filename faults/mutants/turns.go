package mutants

const (
	pgTurnFile     = "store_postgres_turn.go"
	sqliteTurnFile = "store_sqlite_turn.go"
)

func turnCase(name string) string { return kit("turns", name) }

func turnTest(name string) string { return test(name, "{store}") }

var turns = []Mutant{
	{ID: "X209", What: "a turn that another holder has is given away", Plants: []Plant{
		pg(turnCase("one holder has the turn"),
			Edit{pgTurnFile, "AND o.until > c.now AND o.taken_at <= c.now", "AND o.until > c.now AND o.taken_at > c.now"},
			Edit{pgTurnFile, "\nWHERE t.holder = excluded.holder OR t.until <= clock_timestamp() OR t.taken_at > clock_timestamp()", ""}),
		lite(turnCase("one holder has the turn"),
			Edit{sqliteTurnFile, "AND until > ?3 AND taken_at <= ?3`", "AND until > ?3 AND taken_at > ?3`"},
			Edit{sqliteTurnFile, "\nWHERE holder = excluded.holder OR until <= excluded.taken_at OR taken_at > excluded.taken_at", ""}),
	}},
	{ID: "X210", What: "of two who ask at once for a free turn both get it", Plants: []Plant{
		pg(turnCase("one of many gets it"), Edit{pgTurnFile, "\nWHERE t.holder = excluded.holder OR t.until <= clock_timestamp() OR t.taken_at > clock_timestamp()", ""}).often(5),
		lite(turnCase("one of many gets it"), Edit{sqliteTurnFile, "\nWHERE holder = excluded.holder OR until <= excluded.taken_at OR taken_at > excluded.taken_at", ""}).often(5),
	}},
	{ID: "X211", What: "the holder is not compared, so that it is refused its own turn", Plants: []Plant{
		pg(turnCase("the holder may take it again"), Edit{pgTurnFile, "o.holder <> $2::text AND", "$2::text <> '' AND"}),
		lite(turnCase("the holder may take it again"), Edit{sqliteTurnFile, "holder <> ?2 AND", "?2 <> '' AND"}),
	}},
	{ID: "X212", What: "a turn goes by the clock of who asks", Plants: []Plant{
		pg(turnTest("TestATurnGoesByTheClockOfTheStore"),
			Edit{pgTurnFile, "d time.Duration, _ func() time.Time)", "d time.Duration, clock func() time.Time)"},
			Edit{pgTurnFile, "d.Microseconds())", "d.Microseconds(), clock())"},
			Edit{pgTurnFile, "FROM (SELECT clock_timestamp() AS now) c", "FROM (SELECT $4::timestamptz AS now) c"},
			Edit{pgTurnFile, "OR t.until <= clock_timestamp() OR t.taken_at > clock_timestamp()", "OR t.until <= $4::timestamptz OR t.taken_at > $4::timestamptz"}),
		lite(turnTest("TestATurnGoesByTheClockOfTheStore"),
			Edit{sqliteTurnFile, "name, holder, clock().UnixMicro())\n", "name, holder, time.Now().UnixMicro())\n"},
			Edit{sqliteTurnFile, "name, holder, clock().UnixMicro(), d", "name, holder, time.Now().UnixMicro(), d"}),
	}},
	{ID: "X213", What: "who is refused a turn makes it longer", Plants: []Plant{
		pg(turnCase("who is refused does not make it longer"),
			Edit{pgTurnFile, "AND o.until > c.now AND o.taken_at <= c.now", "AND o.until > c.now AND o.taken_at > c.now"},
			Edit{pgTurnFile, "SET holder = excluded.holder, taken_at", "SET holder = CASE WHEN t.until <= clock_timestamp() THEN excluded.holder ELSE t.holder END, taken_at"},
			Edit{pgTurnFile, "\nWHERE t.holder = excluded.holder OR t.until <= clock_timestamp() OR t.taken_at > clock_timestamp()\nRETURNING true", "\nRETURNING t.holder = $2::text"}),
		lite(turnCase("who is refused does not make it longer"),
			Edit{sqliteTurnFile, "AND until > ?3 AND taken_at <= ?3`", "AND until > ?3 AND taken_at > ?3`"},
			Edit{sqliteTurnFile, "SET holder = excluded.holder, taken_at", "SET holder = CASE WHEN until <= excluded.taken_at THEN excluded.holder ELSE holder END, taken_at"},
			Edit{sqliteTurnFile, "\nWHERE holder = excluded.holder OR until <= excluded.taken_at OR taken_at > excluded.taken_at", ""},
			Edit{sqliteTurnFile, "return Record{}, n > 0, err", "if err == nil {\n\t\t\t\tvar mine int\n\t\t\t\tvar found bool\n\t\t\t\tif found, err = one(ctx, q, []any{&mine}, `SELECT 1 FROM {p}turns WHERE name = ?1 AND holder = ?2`, name, holder); !found {\n\t\t\t\t\tn = 0\n\t\t\t\t}\n\t\t\t}\n\t\t\treturn Record{}, n > 0, err"}),
	}},
	{ID: "X214", What: "who is refused a turn waits for the lock on it first", Plants: []Plant{
		pg(turnTest("TestWhoIsRefusedATurnTouchesNothing"), Edit{pgTurnFile, "AND o.until > c.now AND o.taken_at <= c.now", "AND o.until > c.now AND o.taken_at > c.now"}),
		lite(turnTest("TestWhoIsRefusedATurnTouchesNothing"), Edit{sqliteTurnFile, "AND until > ?3 AND taken_at <= ?3`", "AND until > ?3 AND taken_at > ?3`"}),
	}},
	{ID: "X215", What: "a turn that was taken in the future lasts until then", Plants: []Plant{
		pg(turnTest("TestATurnThatWasTakenInTheFutureIsFree"),
			Edit{pgTurnFile, "AND o.until > c.now AND o.taken_at <= c.now", "AND o.until > c.now"}),
		lite(turnTest("TestATurnThatWasTakenInTheFutureIsFree"),
			Edit{sqliteTurnFile, "AND until > ?3 AND taken_at <= ?3`", "AND until > ?3`"}),
	}},
}
