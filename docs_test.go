package onejob_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lib/pq"
	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/internal/dbtest"
)

var (
	heading   = regexp.MustCompile(`(?m)^#+ (.+)$`)
	anchor    = regexp.MustCompile(`<a id="([^"]+)">`)
	link      = regexp.MustCompile(`\]\(([^)#]*)#?([^)]*)\)`)
	fenced    = regexp.MustCompile("(?s)```.*?```")
	notInSlug = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors are what a link may name on a page, as GitHub makes them of headings.
func anchors(t *testing.T, path string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	plain := fenced.ReplaceAllString(string(text), "")
	names := map[string]bool{"": true}
	for _, m := range heading.FindAllStringSubmatch(plain, -1) {
		names[strings.ReplaceAll(notInSlug.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	for _, m := range anchor.FindAllStringSubmatch(plain, -1) {
		names[m[1]] = true
	}
	return names
}

// Alert rules link to these headings of the runbook. One that is renamed leaves
// whoever is woken on top of a long page.
func TestTheRunbookHasTheAnchorsThatAlertsLinkTo(t *testing.T) {
	t.Parallel()
	names := anchors(t, "docs/operations.md")
	for _, name := range []string{
		"an-attempt-is-unknown", "doubts-are-growing", "a-provider-leaves-doubts", "a-result-came-too-late", "late-results",
		"an-attempt-never-ends", "the-database-gives-no-answer", "operations-fail", "keys-are-retired", "telemetry-is-gone",
	} {
		require.True(t, names[name], "docs/operations.md has no #%s", name)
	}
}

func TestLinksOfTheRunbookLeadSomewhere(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"docs/operations.md", "docs/walks.md"} {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		found := 0
		for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			found++
			target := page
			if m[1] != "" {
				target = filepath.Join(filepath.Dir(page), m[1])
			}
			info, err := os.Stat(target)
			require.NoError(t, err, "%s: %s", page, m[0])
			if !info.IsDir() && m[2] != "" {
				require.True(t, anchors(t, target)[m[2]], "%s: %s", page, m[0])
			}
		}
		require.Greater(t, found, 2)
	}
}

// The SQL that a tired reader pastes from the runbook must run as it stands,
// and leave rows as the library would.
func TestTheSQLOfTheRunbookRuns(t *testing.T) {
	t.Parallel()
	db := dbtest.OpenPostgres(t, dbtest.PostgresDSN(t))
	store, err := onejob.NewPostgresStore(db, nil)
	require.NoError(t, err)
	ctx, jobs := t.Context(), onejob.New(store, nil)
	op := onejob.NewOperator(jobs)
	begin := func(owner, key string) (onejob.Job, onejob.Attempt) {
		job, a, err := jobs.Start(ctx, onejob.Intent{Owner: owner, Key: key, Kind: "charge", Params: []byte(`"p"`)},
			onejob.Try{Provider: "acme-pay", Timeout: time.Hour})
		require.NoError(t, err)
		return job, a
	}
	// All that a purge has to do with: a winner, a loser, a failed one, a
	// detached one, and a doubt that holds its job back.
	story := func(owner string) []onejob.JobID {
		done, first := begin(owner, "done")
		_, err := jobs.MarkUnknown(ctx, first, errors.New("no answer"))
		require.NoError(t, err)
		_, err = op.DetachAttempt(ctx, first.ID, word)
		require.NoError(t, err)
		_, second := begin(owner, "done")
		_, err = op.Refute(ctx, second.ID, word)
		require.NoError(t, err)
		_, third := begin(owner, "done")
		_, err = jobs.Complete(ctx, third, []byte("r"))
		require.NoError(t, err)
		lost, late := begin(owner, "late")
		_, err = op.DetachAttempt(ctx, late.ID, word)
		require.NoError(t, err)
		_, winner := begin(owner, "late")
		winner, err = jobs.SetExternalRef(ctx, winner, "ch_1")
		require.NoError(t, err)
		_, err = jobs.Complete(ctx, winner, []byte("r"))
		require.NoError(t, err)
		_, err = jobs.Complete(ctx, late, []byte("other"))
		require.ErrorIs(t, err, onejob.ErrLateResult)
		withdrawn, _ := begin(owner, "withdrawn")
		_, err = op.CancelJob(ctx, withdrawn.ID, word)
		require.NoError(t, err)
		begin(owner, "running")
		return []onejob.JobID{done.ID, lost.ID}
	}
	bySQL, byPurge := story("user-7"), story("user-8")

	page, err := os.ReadFile("docs/operations.md")
	require.NoError(t, err)
	blocks := strings.Split(string(page), "```sql\n")[1:]
	require.Greater(t, len(blocks), 6)
	for _, block := range blocks {
		block, _, ok := strings.Cut(block, "```")
		require.True(t, ok)
		block = regexp.MustCompile(`(?m)^ *\\set owner .*$`).ReplaceAllString(block, "")
		block = strings.ReplaceAll(block, ":'owner'", pq.QuoteLiteral("user-7"))
		_, err := db.ExecContext(ctx, block)
		require.NoError(t, err, block)
		if !strings.Contains(block, "CREATE TEMP TABLE erase") {
			continue
		}
		_, err = db.ExecContext(ctx, block)
		require.NoError(t, err, "once more")
		_, _, err = jobs.Create(ctx, onejob.Intent{Owner: "user-7", Key: "late", Kind: "charge", Params: []byte(`"p"`)})
		require.ErrorIs(t, err, onejob.ErrKeyRetired)
		var left []any
		for _, id := range bySQL {
			left = append(left, leftOf(t, op, id))
		}
		_, err = op.Purge(ctx, onejob.Retention{Payloads: time.Microsecond}, 100)
		require.NoError(t, err)
		for i, id := range byPurge {
			require.Equal(t, leftOf(t, op, id), left[i])
		}
		var heldBack int
		require.NoError(t, db.QueryRowContext(ctx, `SELECT count(*) FROM onejob.jobs
			WHERE owner = 'user-7' AND state <> 'open' AND purged_at IS NULL`).Scan(&heldBack))
		require.Equal(t, 1, heldBack)
	}
	_, err = jobs.GetByKey(ctx, "user-7", "late")
	require.ErrorIs(t, err, onejob.ErrNotFound, "the tombstones went last")
	_, err = jobs.GetByKey(ctx, "user-7", "running")
	require.NoError(t, err)
}

// leftOf is what a purge leaves of a job, but for what differs between two.
func leftOf(t *testing.T, op *onejob.Operator, id onejob.JobID) any {
	t.Helper()
	job, attempts, err := op.Get(t.Context(), id)
	require.NoError(t, err)
	list := []any{job.Version, job.State, job.Params, job.Result, !job.PurgedAt.IsZero()}
	for _, a := range attempts {
		list = append(list, a.Number, a.State, a.Decision, a.Cause, a.ExternalRef, !a.EndedAt.IsZero())
	}
	return list
}
