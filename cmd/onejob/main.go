// Onejob is the operator's command line: it finds jobs that are blocked, tells
// what happened to them, and takes the decision of whoever carries the pager.
//
//	onejob open                         what is under way or in doubt, oldest first
//	onejob show JOB                     the story of one job, and what may be done
//	onejob refute ATTEMPT --by … --reason …
//
// It never completes a job: the host's OnComplete is not in this program.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// report writes an error as the caller wants it, and returns the exit code.
func report(err error, asJSON bool, w io.Writer) int {
	if err == nil {
		return exitDone
	}
	f := explained(err)
	text := clean(f.text)
	if asJSON {
		type told struct {
			ExitCode int    `json:"exit_code"`
			Message  string `json:"message"`
		}
		doc, _ := json.Marshal(map[string]told{"error": {f.code, text}})
		fmt.Fprintf(w, "%s\n", asciiJSON(doc))
		return f.code
	}
	fmt.Fprintf(w, "onejob: %s\n", text)
	return f.code
}
