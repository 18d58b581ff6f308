package main

import "fmt"

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
