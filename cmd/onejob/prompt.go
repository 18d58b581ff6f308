package main

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/mattn/go-isatty"
)

// agree asks before something is done that cannot be taken back. What is about to
// be done is shown in any case, on stderr.
func (a *app) agree(yes bool, about []string, question string) error {
	if !a.JSON || !yes {
		for _, line := range about {
			fmt.Fprintln(a.stderr, line)
		}
	}
	if yes {
		return a.ctx.Err()
	}
	if !isatty.IsTerminal(a.stdin.Fd()) || !isatty.IsTerminal(a.stderr.Fd()) {
		return fail(exitNotConfirmed, "nobody is here to be asked, nothing was done: add --yes to do it")
	}
	fmt.Fprintf(a.stderr, "%s Type yes: ", question)
	answer := make(chan string, 1)
	go func() { // it may outlive a signal: so does the process not
		line, _ := bufio.NewReader(a.stdin).ReadString('\n')
		answer <- strings.TrimSpace(line)
	}()
	select {
	case <-a.ctx.Done():
		fmt.Fprintln(a.stderr)
		return errInterrupted
	case line := <-answer:
		if strings.EqualFold(line, "yes") {
			return nil
		}
		return fail(exitNotConfirmed, "not confirmed: nothing was done")
	}
}
