package main

import (
	"fmt"
	"strings"
)

// word is a flag's text, which is not empty: --owner "$OWNER" with a variable
// that is not set must not choose everybody's jobs.
type word string

// UnmarshalText implements encoding.TextUnmarshaler.
func (w *word) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return fmt.Errorf("is empty: leave the flag away, or is a variable not set?")
	}
	*w = word(text)
	return nil
}

// stateNames are repeated, or with commas between them. Empty is no name: it would
// mean the standard ones, which nobody asked for.
type stateNames []string

// UnmarshalText implements encoding.TextUnmarshaler.
func (n *stateNames) UnmarshalText(text []byte) error {
	for name := range strings.SplitSeq(string(text), ",") {
		var w word
		if err := w.UnmarshalText([]byte(name)); err != nil {
			return err
		}
		*n = append(*n, name)
	}
	return nil
}
