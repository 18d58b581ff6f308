package browser

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// playground builds and starts the example, as a newcomer does.
func playground(t *testing.T) *tab {
	t.Helper()
	program := filepath.Join(t.TempDir(), "playground")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "github.com/onejob-go/onejob/examples/playground").CombinedOutput()
	require.NoError(t, err, string(out))
	cmd := exec.Command(program, "-listen", "127.0.0.1:0")
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		require.NoError(t, cmd.Wait(), "it ends well")
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	url := regexp.MustCompile(`http://[0-9.:]+`).FindString(line)
	require.NotEmpty(t, url, line)
	w := open(t, url)
	w.visit("/")
	w.until(`document.querySelectorAll("#books tbody tr").length === 4`)
	return w
}

func (w *tab) press0(id string) { w.Helper(); w.do(chromedp.Click(chromedp.ID(id))) }

func (w *tab) pick(id, name string) {
	w.Helper()
	w.do(chromedp.SetValue(chromedp.ID(id), name))
}

// charged waits until the books say how often a provider was asked and charged.
func (w *tab) charged(name, asked, charged string) {
	w.Helper()
	w.until(`[...document.querySelectorAll("#books tbody tr")].some(r => r.innerText.split(/\s+/).join(" ").trim() === "` + name + " " + asked + " " + charged + `")`)
}

func (w *tab) told(n int, words string) {
	w.Helper()
	w.until(`document.querySelectorAll("#log li").length >= ` + string(rune('0'+n)))
	lines := strings.Split(w.text("#log"), "\n")
	require.Contains(w, lines[n-1], words)
}

func TestANewcomerSeesARaceInThePlayground(t *testing.T) {
	t.Parallel()
	w := playground(t)
	w.sound()

	// A double click: one ID.
	w.pick("provider", "honest")
	w.press0("double")
	w.charged("honest", "1", "1")
	w.until(`document.querySelector("#status").textContent === "completed"`)
	log := w.text("#log")
	ids := regexp.MustCompile(`job …([0-9a-f]{6})`).FindAllStringSubmatch(log, -1)
	require.Len(t, ids, 2, log)
	require.Equal(t, ids[0][1], ids[1][1])
	require.Contains(t, log, "attempt 1 by honest begins")
	require.Contains(t, log, "refused: attempt 1 by honest is under way")
	w.shows("Charged once.")
	w.press0("click")
	w.told(3, `done already: the stored result is {"charged":true,"receipt":"honest-1"}`)

	// A timeout blocks the fallback, until the operator decides.
	w.press0("new")
	w.pick("provider", "silent")
	w.press0("click")
	w.until(`document.querySelector("#status").textContent === "unknown"`)
	w.charged("silent", "1", "1")
	w.press0("fallback")
	w.told(2, "refused: attempt 1 by silent may have taken effect, nobody knows")
	w.charged("honest", "0", "0")
	w.sound()
	w.do(w.on("It happened"))
	w.until(`document.querySelector("#status").textContent === "completed"`)
	w.shows("Charged once.")

	// A liar is believed, unless it has to prove itself.
	w.press0("new")
	w.pick("provider", "liar")
	w.press0("click")
	w.charged("liar", "1", "0")
	w.until(`document.querySelector("#verdict").textContent.includes("a provider has lied")`)
	w.press0("new")
	w.press0("proven")
	w.press0("click")
	w.told(1, "refused: this provider has not proven that it does what it says")
	w.charged("liar", "0", "0")

	w.click("The operator’s console")
	w.shows("Overview")
}

func TestTheRaceButtonShowsTheLateResult(t *testing.T) {
	t.Parallel()
	w := playground(t)
	for _, look := range []struct {
		scheme string
		width  int64
	}{{"light", 1100}, {"dark", 360}} {
		w.scheme(look.scheme)
		w.size(look.width, 900)
		w.press0("race")
		w.until(`!document.querySelector("#race").disabled && document.querySelectorAll("#timeline .end.late").length > 0 && document.querySelector("#status").textContent === "completed"`)
		w.charged("slow", "1", "1")
		w.charged("honest", "1", "1")
		w.shows("Charged 2 times", "Late: 35 bytes thrown away", "Decided by you")
		require.Contains(t, w.text("#log"), "refused: attempt 1 by slow is under way")
		img := w.picture()
		for _, css := range []string{"#timeline .bar.won", "#timeline .bar.lost"} {
			b := w.boxes(css)[0]
			inner := box{b.X + 9, b.Y + 3, b.W - 18, b.H - 6, b.Fill}
			require.Greater(t, share(t, img, inner, b.Fill), 0.9, css)
		}
		w.sound()
	}
}
