package browser

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"math"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

// box is where an element is, and its colours.
type box struct {
	X, Y, W, H float64
	Fill       string
}

func (w *tab) boxes(css string) []box {
	w.Helper()
	return eval[[]box](w, fmt.Sprintf(`[...document.querySelectorAll(%q)].map(el => {
		const r = el.getBoundingClientRect();
		return {X: r.x + scrollX, Y: r.y + scrollY, W: r.width, H: r.height, Fill: getComputedStyle(el).fill};
	})`, css))
}

func (w *tab) picture() image.Image {
	w.Helper()
	shot, err := chromedp.Run(w.ctx, chromedp.FullScreenshot(100))
	require.NoError(w, err)
	img, err := png.Decode(bytes.NewReader(shot))
	require.NoError(w, err)
	return img
}

// share is how much of a box has a colour, such as "rgb(1, 2, 3)".
func share(t *testing.T, img image.Image, b box, colour string) float64 {
	t.Helper()
	var r, g, bl int
	_, err := fmt.Sscanf(colour, "rgb(%d, %d, %d)", &r, &g, &bl)
	require.NoError(t, err, colour)
	hits, all := 0, 0
	for y := int(math.Ceil(b.Y)); y < int(b.Y+b.H); y++ {
		for x := int(math.Ceil(b.X)); x < int(b.X+b.W); x++ {
			cr, cg, cb, _ := img.At(x, y).RGBA()
			all++
			if near(cr, r) && near(cg, g) && near(cb, bl) {
				hits++
			}
		}
	}
	require.Positive(t, all)
	return float64(hits) / float64(all)
}

func near(got uint32, want int) bool { return math.Abs(float64(got>>8)-float64(want)) <= 12 }

// colour is what a variable of the stylesheet is here.
func (w *tab) colour(name string) string {
	w.Helper()
	return eval[string](w, fmt.Sprintf(`(() => {
		const d = document.createElement("i"); document.body.append(d); d.style.color = "var(%s)";
		const c = getComputedStyle(d).color; d.remove(); return c;
	})()`, name))
}

// What the page says is at a place is what is to be seen there, in both schemes
// and at both widths.
func TestThePictureShowsWhatHappened(t *testing.T) {
	t.Parallel()
	o, env := still(t)
	// A race: the first is detached at 8 s, past its deadline at 4 s; the second
	// wins at 12 s; the first comes late at 16 s.
	a := o.begin("race", "acme-pay", 4*time.Second)
	env.Advance(8 * time.Second)
	job, err := o.op.DetachAttempt(t.Context(), a.ID, onejob.Decision{By: "ada", Reason: "waits at the counter"})
	require.NoError(t, err)
	b, err := o.jobs.BeginAttempt(t.Context(), job, onejob.Try{Provider: "fallback-pay", Timeout: time.Hour})
	require.NoError(t, err)
	env.Advance(4 * time.Second)
	_, err = o.jobs.Complete(t.Context(), b, []byte("1"))
	require.NoError(t, err)
	env.Advance(4 * time.Second)
	_, err = o.jobs.Complete(t.Context(), a, []byte("late"))
	require.ErrorIs(t, err, onejob.ErrLateResult)
	w := o.open()
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{1100, 360} {
			w.scheme(scheme)
			w.size(width, 900)
			w.visit("/ops/jobs/" + string(a.JobID))
			w.seesTheRace()
		}
	}
}

func (w *tab) seesTheRace() {
	w.Helper()
	img := w.picture()
	const row1, row2 = ".timeline .row:nth-of-type(2) ", ".timeline .row:nth-of-type(3) "
	one := func(css string) box {
		w.Helper()
		found := w.boxes(css)
		require.Len(w, found, 1, css)
		return found[0]
	}
	axis := one(".timeline .axis")
	at := func(seconds float64) float64 { return axis.X + axis.W*seconds/16 }
	lost, unknown, detached := one(row1+".bar.lost"), one(row1+".bar.unknown"), one(row1+".bar.detached")
	won, deadline, late := one(row2+".bar.won"), one(row1+".deadline"), one(row1+".end.late path")
	for _, c := range []struct {
		b        box
		from, to float64
	}{{lost, 0, 4}, {unknown, 4, 8}, {detached, 8, 16}, {won, 8, 12}} {
		require.InDelta(w, at(c.from), c.b.X, 1.5)
		require.InDelta(w, at(c.to), c.b.X+c.b.W, 1.5)
	}
	require.InDelta(w, at(4), deadline.X, 2)
	require.InDelta(w, at(16), late.X+late.W/2, 2)

	inner := func(b box) box { return box{b.X + 9, b.Y + 3, b.W - 18, b.H - 6, b.Fill} }
	require.Greater(w, share(w.T, img, inner(lost), lost.Fill), 0.95, "one colour")
	require.Greater(w, share(w.T, img, inner(won), won.Fill), 0.95, "one colour")
	lines, ground := share(w.T, img, inner(unknown), w.colour("--doubt")), share(w.T, img, inner(unknown), w.colour("--doubt-ground"))
	require.Greater(w, lines, 0.25, "the doubt has its lines")
	require.Greater(w, ground, 0.25, "on their ground")
	dots, ground := share(w.T, img, inner(detached), w.colour("--detached")), share(w.T, img, inner(detached), w.colour("--detached-ground"))
	require.Greater(w, dots, 0.04, "what is detached has its dots")
	require.Greater(w, ground, 0.5, "on their ground")
	require.Greater(w, share(w.T, img, late, w.colour("--late")), 0.3, "the late result is marked")
	require.Greater(w, share(w.T, img, deadline, w.colour("--bad")), 0.15, "the deadline is marked")
	require.Greater(w, share(w.T, img, one(row2+".end circle:not(.halo)"), w.colour("--won")), 0.5, "the winner is marked")
	w.shows("Late: 4 bytes thrown away", "Decided by ada: waits at the counter", "A result came late and was thrown away: 4 bytes")
	require.Contains(w, eval[string](w, `document.querySelector(".timeline desc").textContent`), "Attempt 2 by fallback-pay began")
}

// The bars of the overview stand where their hours are.
func TestRacesPerHourAreDrawn(t *testing.T) {
	t.Parallel()
	o, env := still(t)
	env.Advance(env.Now().Truncate(time.Hour).Add(time.Hour).Sub(env.Now()))
	for i := range 3 {
		a := o.begin(fmt.Sprint(i), "acme-pay", time.Hour)
		_, err := o.op.CancelAttempt(t.Context(), a.ID, onejob.Decision{By: "ada", Reason: "r"})
		require.NoError(t, err)
		_, err = o.jobs.Complete(t.Context(), a, []byte("late"))
		require.ErrorIs(t, err, onejob.ErrLateResult)
		env.Advance(time.Duration(i) * 4 * time.Hour)
	}
	w := o.open()
	w.visit("/ops/")
	w.shows("3 results came late and were thrown away.")
	img, bars, axis := w.picture(), w.boxes(".races .bar"), w.boxes(".races .axis")[0]
	require.Len(t, bars, 2, "two in one hour, one four hours later")
	require.InDelta(t, bars[0].H, 2*bars[1].H, 1.5)
	require.InDelta(t, bars[1].X-bars[0].X, axis.W*4/24, 2)
	for _, b := range bars {
		require.Greater(t, share(t, img, b, b.Fill), 0.9)
	}
}
