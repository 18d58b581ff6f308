package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"

	"github.com/onejob-go/onejob/examples/internal/tempdb"
)

// search reads every byte of the database's files, while it is open (the WAL
// is there) and after it was closed.
func (s *story) search(db *tempdb.DB) error {
	s.tl.Scene("the bytes of the database's files")
	if err := s.look(db.Path, "open"); err != nil {
		return err
	}
	if err := db.Close(); err != nil {
		return err
	}
	return s.look(db.Path, "closed")
}

func (s *story) look(path, when string) error {
	var all []byte
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + suffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		name := "onejob.db" + suffix
		if err != nil {
			s.tl.Row(when, "%-14s is gone", name)
			continue
		}
		s.tl.Row(when, "%-14s %7d bytes", name, len(data))
		all = append(all, data...)
	}
	// What cannot find the winner's payload proves nothing about the loser's.
	s.tl.Promise(bytes.Contains(all, []byte(goodPayload)), "the winner's payload is there: %q", goodPayload)
	s.tl.Promise(!bytes.Contains(all, []byte(canary)), "the late payload is nowhere (searched for %q)", canary)
	return nil
}
