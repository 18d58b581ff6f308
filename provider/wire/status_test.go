package wire_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob/provider"
	"github.com/onejob-go/onejob/provider/wire"
)

func TestTheStatusTellsWhatIsKnown(t *testing.T) {
	t.Parallel()
	const unknown, done, notStarted = provider.Unknown, provider.Done, provider.NotStarted
	declared := []int{http.StatusBadRequest, http.StatusServiceUnavailable}
	for _, row := range []struct {
		status          int
		plain, declared provider.Verdict // the second: with BeforeWork
	}{
		{200, done, done}, {201, done, done}, {202, done, done}, {204, done, done}, {299, done, done},
		{300, unknown, unknown}, {301, unknown, unknown}, {302, unknown, unknown}, {303, unknown, unknown},
		{304, unknown, unknown}, {307, unknown, unknown}, {308, unknown, unknown},
		{400, unknown, notStarted},
		{401, notStarted, notStarted}, {403, notStarted, notStarted}, {404, notStarted, notStarted},
		{402, unknown, unknown}, {405, unknown, unknown}, {408, unknown, unknown}, {409, unknown, unknown},
		{410, unknown, unknown}, {411, unknown, unknown},
		{413, notStarted, notStarted}, {422, notStarted, notStarted}, {429, notStarted, notStarted},
		{425, unknown, unknown}, {499, unknown, unknown},
		{500, unknown, unknown}, {501, unknown, unknown}, {502, unknown, unknown},
		{503, unknown, notStarted},
		{504, unknown, unknown}, {529, unknown, unknown}, {599, unknown, unknown},
	} {
		t.Run(fmt.Sprint(row.status), func(t *testing.T) {
			t.Parallel()
			for _, before := range [][]int{nil, declared} {
				want := row.plain
				if before != nil {
					want = row.declared
				}
				s := newScene(t)
				s.sender.BeforeWork = before
				s.http(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Location", "/elsewhere?from="+r.URL.Path) // nobody may go there
					w.WriteHeader(row.status)
				})
				answer, err := s.require(want, 1)
				require.Equal(t, row.status, answer.Status)
				require.NotEmpty(t, answer.Header.Get("Location"))
				var status *wire.StatusError
				if want != provider.Done {
					require.ErrorAs(t, err, &status)
					require.Equal(t, row.status, status.Status)
					require.Contains(t, err.Error(), fmt.Sprint(row.status))
				}
			}
		})
	}
}

// A refusal is one however its body ends, and its body is the caller's to read.
func TestARefusalStandsWithoutItsBody(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]provider.Verdict{
		http.StatusTooManyRequests: provider.NotStarted, http.StatusInternalServerError: provider.Unknown,
	} {
		s := newScene(t)
		s.raw(says(fmt.Sprintf("HTTP/1.1 %d No\r\nContent-Length: 900\r\n\r\nwhy", status)))
		answer, err := s.require(want, 1)
		require.Equal(t, "why", string(answer.Body))
		var e *wire.StatusError
		require.ErrorAs(t, err, &e)
	}
}

// The same refusal comes through HTTP/2.
func TestTheStatusTellsWhatIsKnownThroughHTTP2(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]provider.Verdict{
		200: provider.Done, 429: provider.NotStarted, 307: provider.Unknown, 503: provider.Unknown,
	} {
		s := newScene(t)
		server := s.https(func(w http.ResponseWriter, r *http.Request) {
			if r.ProtoMajor != 2 {
				panic("this is no HTTP/2")
			}
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
		})
		s.sender.Client = server.Client()
		s.require(want, 1)
	}
}

// The client is the host's, and so is the request.
func TestSendChangesNeitherClientNorRequest(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.http(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(http.StatusFound)
	})
	asked := 0
	s.sender.Client.CheckRedirect = func(*http.Request, []*http.Request) error {
		asked++
		return http.ErrUseLastResponse
	}
	req := post(t, s.url)
	before := req.Header.Clone()
	_, _, err := s.sender.Send(req)
	require.Error(t, err)
	require.Zero(t, asked)
	require.NotNil(t, req.GetBody)
	require.Equal(t, before, req.Header)
	_, err = s.sender.Client.Do(get(t, s.url))
	require.NoError(t, err)
	require.Equal(t, 1, asked)
}

func TestWithoutAClientTheDefaultOneSends(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.http(nothing)
	s.sender.Client = nil
	s.require(provider.Done, 1)
}
