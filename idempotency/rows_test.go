package idempotency_test

import "testing"

// rows are those of docs/http.md, each through a real server and a real client.
// H8 in each state and by each part of the input, H13, H14 and H15 need a server of
// their own: TestAnotherRequestWithTheKeyConflicts, TestTheDatabaseDiesInMidHandler,
// TestTheStoreFailsInMidHandler and TestWhatIsStreamedIsNotReplayed.
var rows = []struct {
	row, what string
	run       func(w *world)
}{
	{"H1 H2 H2b H3 H3b H4", "what has no identity makes no job", rowRequestsWithoutAnIdentityMakeNoJob},
	{"H1b", "no identity is invented", rowAKeyMayBeOptional},
	{"H2c H2d", "one key in many spellings", rowOneKeyInManySpellings},
	{"H5 H6 H6u H7 H8 (Create)", "the job, as it stands", rowCreateAnswersWithTheJob},
	{"H6w H16", "50 identical requests at once are one execution", rowManyIdenticalRequestsAreOneExecution},
	{"H6u H11", "a 5xx and a panic block the key", rowAnUnknownOutcomeBlocksTheKey},
	{"H6u", "an overdue handler is in doubt, and may still win", rowAnOverdueHandlerIsInDoubt},
	{"H7", "byte for byte, with the headers of the list", rowARepeatedRequestGetsTheStoredResponse},
	{"H8", "50 inputs with one key at once: one has it", rowManyConflictingRequestsAreOneExecution},
	{"H9", "no hint of another owner", rowOwnersDoNotSeeEachOther},
	{"H10", "the tombstone answers", rowAfterPurgeNothingIsExecutedAgain},
	{"H11b", "what did nothing runs again", rowWhatDidNothingRunsAgain},
	{"H11c", "a refusal is an answer", rowAClientErrorIsStored},
	{"H12", "the client leaves, the handler goes on", rowTheHandlerOutlivesItsClient},
	{"H16 (Create)", "50 identical requests at once are one job", rowManyCreatesAreOneJob},
}

func TestRows(t *testing.T) {
	t.Parallel()
	for _, row := range rows {
		t.Run(row.row+" "+row.what, func(t *testing.T) {
			t.Parallel()
			onBoth(t, row.run)
		})
	}
}
