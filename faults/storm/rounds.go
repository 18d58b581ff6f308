package storm

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob/faults/worker"
)

// table is worker processes that play rounds together.
type table struct {
	t       testing.TB
	players []*player
}

type player struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Scanner
	asked chan worker.Round
	told  chan worker.Played
}

// newTable seats processes with so many goroutines each.
func newTable(t testing.TB, processes, goroutines int, config worker.Config) *table {
	tb := &table{t: t}
	for n := range processes {
		config.Name, config.Rounds, config.Goroutines, config.Conns = fmt.Sprint("p", n), true, goroutines, goroutines
		cmd, in, err := worker.Command(config)
		require.NoError(t, err)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		p := &player{cmd, in, bufio.NewScanner(out), make(chan worker.Round), make(chan worker.Played)}
		p.out.Buffer(nil, 1<<20)
		go p.play()
		tb.players = append(tb.players, p)
	}
	t.Cleanup(func() {
		for _, p := range tb.players {
			close(p.asked)
			in := p.in
			in.Close()
			require.NoError(t, p.cmd.Wait())
		}
	})
	return tb
}

func (p *player) play() {
	asks := json.NewEncoder(p.in)
	for r := range p.asked {
		played := worker.Played{Error: "the process does not answer"}
		if asks.Encode(r) == nil && p.out.Scan() {
			if err := json.Unmarshal(p.out.Bytes(), &played); err != nil {
				played.Error = err.Error()
			}
		}
		p.told <- played
	}
}

// play has each process play its own round, all at once.
func (tb *table) play(rounds ...worker.Round) []worker.Played {
	for i, r := range rounds {
		tb.players[i].asked <- r
	}
	played := make([]worker.Played, len(rounds))
	for i := range rounds {
		played[i] = <-tb.players[i].told
	}
	return played
}
