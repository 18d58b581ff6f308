package onejobtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/onejobtest"
)

// A cut that ended the outage would let a test pass that says "down" and is not.
func TestAReplyCannotBeCutDuringAnOutage(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]func(*onejobtest.Env){
		"CutReply":         (*onejobtest.Env).CutReply,
		"CutReplyThenDown": (*onejobtest.Env).CutReplyThenDown,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			env := onejobtest.New(f, nil)
			env.Down()
			cut(env)
			require.True(t, f.failed)
			_, _, err := env.Jobs.Create(t.Context(), onejob.Intent{Owner: "o", Key: "k", Kind: "charge"})
			require.ErrorIs(t, err, onejob.ErrUnavailable, "it is down until Up")
		})
	}
}
