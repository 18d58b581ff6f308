package timeline_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob/examples/internal/timeline"
)

func TestABrokenPromiseIsShownAndReturned(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	tl := timeline.New(&out)
	require.True(t, tl.Promise(true, "one job"))
	require.NoError(t, tl.Err())
	require.False(t, tl.Promise(false, "one execution: there were %d", 2))
	require.EqualError(t, tl.Err(), "broken promise: one execution: there were 2")
	require.Equal(t, "    kept  one job\n  BROKEN  one execution: there were 2\n", out.String())
}

func TestRowsOfManyGoroutinesComeOutWhole(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	tl := timeline.New(&out)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() { tl.Row(fmt.Sprintf("click %d", i), "leaves") })
	}
	wg.Wait()
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	require.Len(t, lines, 50)
	for _, line := range lines {
		require.Regexp(t, `^ +\d+ ms  click \d+ +leaves$`, line)
	}
}
