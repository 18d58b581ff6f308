package console

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/onejobtest"
)

// The list says where it ends early: nobody shall take it for all there is.
func TestAListThatGoesTooFarSaysSo(t *testing.T) {
	t.Parallel()
	env := onejobtest.New(t, nil)
	c, err := New(env.Jobs, nil)
	require.NoError(t, err)
	c.farthest = 3
	get := func() string {
		w := httptest.NewRecorder()
		c.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/attempts", nil))
		require.Equal(t, http.StatusOK, w.Code)
		return w.Body.String()
	}
	for i := range 4 {
		require.NotContains(t, get(), "Narrow it by a filter")
		_, _, err := env.Jobs.Start(t.Context(), onejob.Intent{Owner: "o", Key: fmt.Sprint(i), Kind: "k"}, onejob.Try{Provider: "p", Timeout: time.Hour})
		require.NoError(t, err)
	}
	require.Contains(t, get(), "There are more, further than this list goes. Narrow it by a filter")
}

// A store whose clock is ahead of the host's has no negative ages.
func TestAgesAreNotNegative(t *testing.T) {
	t.Parallel()
	env := onejobtest.New(t, nil)
	c, err := New(env.Jobs, &Options{Now: func() time.Time { return env.Now().Add(-time.Minute) }})
	require.NoError(t, err)
	_, _, err = env.Jobs.Start(t.Context(), onejob.Intent{Owner: "o", Key: "k", Kind: "k"}, onejob.Try{Provider: "p", Timeout: time.Hour})
	require.NoError(t, err)
	w := httptest.NewRecorder()
	c.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/attempts", nil))
	require.Contains(t, w.Body.String(), `data-label="Age">0 s<`)
}

// What is too long is cut between characters; what is none is cut all the same.
func TestALongPayloadIsCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	shown := payloadOf([]byte("a" + strings.Repeat("é", maxShown)))
	require.True(t, shown.Cut)
	require.Equal(t, "a"+strings.Repeat("é", maxShown/2-1), shown.Text)
	require.True(t, strings.HasSuffix(payloadOf([]byte(strings.Repeat("\x80", maxShown+9))).Text, `\x80`))
	require.Equal(t, maxShown, len(payloadOf([]byte(strings.Repeat("x", maxShown))).Text))
}
