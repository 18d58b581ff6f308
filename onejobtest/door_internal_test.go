package onejobtest

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

// abilities are the interfaces by which the library knows what a store can do.
var abilities = map[string]reflect.Type{
	"Store":         reflect.TypeFor[onejob.Store](),
	"TxStore":       reflect.TypeFor[onejob.TxStore](),
	"OperatorStore": reflect.TypeFor[onejob.OperatorStore](),
	"BatchStore":    reflect.TypeFor[onejob.BatchStore](),

	"QualificationStore": reflect.TypeFor[onejob.QualificationStore](),
	"WaitStore":          reflect.TypeFor[onejob.WaitStore](),
	"TurnStore":          reflect.TypeFor[onejob.TurnStore](),
}

// storesInTheLibrary are the exported interfaces of the root package that are
// named like a store.
func storesInTheLibrary(t *testing.T) []string {
	t.Helper()
	sources, err := filepath.Glob("../*.go")
	require.NoError(t, err)
	var names []string
	for _, source := range sources {
		if strings.HasSuffix(source, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), source, nil, 0)
		require.NoError(t, err)
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.TypeSpec); ok && s.Name.IsExported() && strings.HasSuffix(s.Name.Name, "Store") {
				if _, is := s.Type.(*ast.InterfaceType); is {
					names = append(names, s.Name.Name)
				}
			}
			return true
		})
	}
	return names
}

// An ability that the door lacks is one that hosts' tests silently do without.
func TestTheDoorHasEveryAbilityOfTheStore(t *testing.T) {
	t.Parallel()
	names := storesInTheLibrary(t)
	require.Contains(t, names, "Store")
	for _, name := range names {
		require.Contains(t, abilities, name, "the door must learn it, and so must the tables of this file")
	}
	store := reflect.TypeFor[*onejob.SQLiteStore]()
	for name, ability := range abilities {
		require.True(t, store.Implements(ability), name)
		require.True(t, reflect.TypeFor[*door]().Implements(ability), name)
	}
}

// subject is a database with something to do for each method.
type subject struct {
	*Env
	ctx                       context.Context
	open, free, overdue, done onejob.Attempt
	tx                        *sql.Tx
}

func newSubject(t *testing.T) *subject {
	s := &subject{Env: New(t, nil), ctx: t.Context()}
	begin := func(key string) onejob.Attempt {
		_, a, err := s.Jobs.Start(s.ctx, onejob.Intent{Owner: "o", Key: key, Kind: "k"}, onejob.Try{Provider: "p", Timeout: time.Minute})
		require.NoError(t, err)
		return a
	}
	s.overdue = begin("overdue")
	s.door.advance(time.Minute)
	s.done = begin("done")
	_, err := s.Jobs.Complete(s.ctx, s.done, nil)
	require.NoError(t, err)
	s.free = begin("free")
	_, err = s.Jobs.Fail(s.ctx, s.free, onejob.NoEffect(io.EOF))
	require.NoError(t, err)
	s.open = begin("open")
	_, err = onejob.NewOperator(s.Jobs).SaveQualification(s.ctx, subjectProof("known"), time.Hour)
	require.NoError(t, err)
	return s
}

func (s *subject) create() onejob.CreateParams {
	return onejob.CreateParams{
		ID:     "01900000-0000-7000-8000-000000000000",
		Intent: onejob.Intent{Owner: "o", Key: "new", Kind: "k"}, FingerprintVersion: 1, Clock: time.Now,
	}
}

func (s *subject) begin(job onejob.JobID) onejob.BeginParams {
	return onejob.BeginParams{
		ID: onejob.AttemptID(job) + "-0123456789abcdef", Owner: "o", Provider: "p",
		Timeout: time.Second, Max: 9, Clock: time.Now,
	}
}

// methods are all that the abilities hold: writes are what a cut waits for.
var methods = map[string]struct {
	writes bool
	call   func(s *subject) error
}{
	"Store.Create": {true, func(s *subject) error { _, err := s.door.Create(s.ctx, s.create()); return err }},
	"Store.Start": {true, func(s *subject) error {
		_, _, err := s.door.Start(s.ctx, s.create(), s.begin(s.create().ID))
		return err
	}},
	"Store.Begin": {true, func(s *subject) error {
		_, _, err := s.door.Begin(s.ctx, s.begin(s.free.JobID))
		return err
	}},
	"Store.Complete": {true, func(s *subject) error {
		_, _, err := s.door.Complete(s.ctx, onejob.CompleteParams{ID: s.open.ID, Version: 1, Result: []byte{}, Digest: sha256.Sum256(nil)})
		return err
	}},
	"Store.Settle": {true, func(s *subject) error {
		_, _, err := s.door.Settle(s.ctx, onejob.SettleParams{ID: s.open.ID, To: onejob.StateUnknown})
		return err
	}},
	"Store.Amend": {true, func(s *subject) error {
		_, _, err := s.door.Amend(s.ctx, onejob.AmendParams{ID: s.open.ID, Extend: time.Hour})
		return err
	}},
	"Store.CancelJob": {true, func(s *subject) error {
		_, _, err := s.door.CancelJob(s.ctx, onejob.CancelParams{ID: s.open.JobID, Decision: onejob.Decision{By: "b", Reason: "r"}})
		return err
	}},
	"Store.Find": {false, func(s *subject) error {
		_, err := s.door.Find(s.ctx, onejob.FindParams{ID: s.open.JobID, AnyOwner: true})
		return err
	}},
	"TxStore.Tx": {true, func(s *subject) error {
		return s.door.Tx(s.ctx, func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `CREATE TABLE host (n)`)
			return err
		})
	}},
	"TxStore.CreateTx": {false, func(s *subject) error {
		_, err := s.door.CreateTx(s.ctx, s.tx, s.create())
		return err
	}},
	"TxStore.CompleteTx": {false, func(s *subject) error {
		_, _, err := s.door.CompleteTx(s.ctx, s.tx, onejob.CompleteParams{ID: s.open.ID, Version: 1, Result: []byte{}})
		return err
	}},
	"TxStore.FindTx": {false, func(s *subject) error {
		_, err := s.door.FindTx(s.ctx, s.tx, onejob.FindParams{ID: s.open.JobID, AnyOwner: true})
		return err
	}},
	"BatchStore.CreateMany": {true, func(s *subject) error {
		_, err := s.door.CreateMany(s.ctx, []onejob.CreateParams{s.create()})
		return err
	}},
	"QualificationStore.SaveQualification": {true, func(s *subject) error {
		_, err := s.door.SaveQualification(s.ctx, subjectProof("new"), time.Hour, nil)
		return err
	}},
	"QualificationStore.RevokeQualification": {true, func(s *subject) error {
		_, _, err := s.door.RevokeQualification(s.ctx, "known", subjectProof("").Requirement, onejob.Decision{By: "ada", Reason: "r"}, nil)
		return err
	}},
	"QualificationStore.Qualifications": {false, func(s *subject) error {
		_, err := s.door.Qualifications(s.ctx, nil, 9)
		return err
	}},
	"WaitStore.Settled": {false, func(s *subject) error {
		_, err := s.door.Settled(s.ctx, []onejob.JobID{"00000000-0000-7000-8000-000000000000"}, nil)
		return err
	}},
	"TurnStore.TakeTurn": {true, func(s *subject) error {
		_, err := s.door.TakeTurn(s.ctx, "purge", "a", time.Hour, nil)
		return err
	}},
	"OperatorStore.Page": {false, func(s *subject) error {
		_, err := s.door.Page(s.ctx, onejob.Filter{}, nil, 9, nil)
		return err
	}},
	"OperatorStore.Sweep": {true, func(s *subject) error { _, err := s.door.Sweep(s.ctx, 9, nil); return err }},
	"OperatorStore.Purge": {true, func(s *subject) error {
		_, err := s.door.Purge(s.ctx, onejob.Retention{Payloads: 1}, 9, nil)
		return err
	}},
	"OperatorStore.Stats":  {false, func(s *subject) error { _, err := s.door.Stats(s.ctx, nil); return err }},
	"OperatorStore.Doctor": {false, func(s *subject) error { _, err := s.door.Doctor(s.ctx); return err }},
}

func subjectProof(provider string) onejob.Qualification {
	return onejob.Qualification{Provider: provider, Requirement: onejob.Requirement{Contract: "c", Model: "m", Fingerprint: "f"}, Runs: 1, Passes: 1}
}

func TestEveryMethodOfTheStoreMeetsTheFaults(t *testing.T) {
	t.Parallel()
	for name, ability := range abilities {
		for i := range ability.NumMethod() {
			require.Contains(t, methods, name+"."+ability.Method(i).Name, "is it one that a cut waits for?")
		}
	}
	for name, m := range methods {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSubject(t)
			s.door.advance(time.Second)
			dump := func() (all string) {
				// A pool of the host's own sees what is committed.
				require.NoError(t, s.DB.QueryRow(`SELECT
					(SELECT group_concat(concat_ws('|', id, state, version, purged_at), ';' ORDER BY id) FROM onejob_jobs) || '/' ||
					(SELECT group_concat(concat_ws('|', id, state, deadline), ';' ORDER BY job_id, id) FROM onejob_attempts) || '/' ||
					(SELECT group_concat(concat_ws('|', provider, passes, revoked_at), ';' ORDER BY provider) FROM onejob_qualifications) || '/' ||
					(SELECT count(*) FROM onejob_turns) || '/' ||
					(SELECT count(*) FROM sqlite_master)`).Scan(&all))
				return all
			}
			call := func() error {
				if name != "TxStore.Tx" && strings.HasPrefix(name, "TxStore.") {
					tx, err := s.DB.Begin()
					require.NoError(t, err)
					defer tx.Rollback()
					s.tx = tx
				}
				return m.call(s)
			}
			before := dump()

			s.Down()
			require.ErrorIs(t, call(), io.ErrUnexpectedEOF, "it reaches a database that is down")
			require.Equal(t, before, dump())

			s.Up()
			s.CutReply()
			err := call()
			if !m.writes {
				require.NoError(t, err)
				require.Equal(t, before, dump(), "it writes")
				require.True(t, s.door.link.cut, "it used up a cut that waits for a commit")
				s.Up()
				return
			}
			require.ErrorIs(t, err, io.ErrUnexpectedEOF, "its reply is not cut")
			require.NotEqual(t, before, dump(), "nothing was committed")
			require.False(t, s.door.link.cut, "one cut, one reply")
		})
	}
}

func TestALostReplyTellsNothing(t *testing.T) {
	t.Parallel()
	s := newSubject(t)
	s.CutReply()
	rec, begun, err := s.door.Begin(s.ctx, s.begin(s.free.JobID))
	require.Error(t, err)
	require.False(t, begun)
	require.Zero(t, rec)
	s.CutReply()
	rec, won, err := s.door.Complete(s.ctx, onejob.CompleteParams{ID: s.open.ID, Version: 1, Result: []byte{}, Digest: sha256.Sum256(nil)})
	require.Error(t, err)
	require.False(t, won)
	require.Zero(t, rec)
}
