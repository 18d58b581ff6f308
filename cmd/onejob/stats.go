package main

import (
	"strconv"
	"time"
)

type statsCmd struct{}

// Run counts.
func (statsCmd) Run(a *app) error {
	return a.with(surveys, func(s *session) error {
		st, err := s.operator.Stats(s.ctx)
		if err != nil {
			return err
		}
		now, err := s.now(s.ctx)
		if err != nil {
			return err
		}
		type jobs struct {
			Open      int64 `json:"open"`
			Completed int64 `json:"completed"`
			Canceled  int64 `json:"canceled"`
			Purged    int64 `json:"purged"`
		}
		type attempts struct {
			Started  int64 `json:"started"`
			Unknown  int64 `json:"unknown"`
			Detached int64 `json:"detached"`
			Late     int64 `json:"late"`
		}
		doc := struct {
			Jobs          jobs      `json:"jobs"`
			Attempts      attempts  `json:"attempts"`
			OldestUnknown time.Time `json:"oldest_unknown,omitzero"`
			Now           time.Time `json:"now"`
		}{jobs{st.Open, st.Completed, st.Canceled, st.Purged}, attempts{st.Started, st.Unknown, st.Detached, st.Late}, utc(st.OldestUnknown), now}
		return s.tell(doc, func() {
			n := func(i int64) string { return strconv.FormatInt(i, 10) }
			s.say("Jobs")
			facts(s.stdout, [][2]string{{"open", n(st.Open)}, {"completed", n(st.Completed)}, {"canceled", n(st.Canceled)},
				{"purged", n(st.Purged) + " (counted under their state too)"}}...)
			oldest := n(st.Unknown)
			if st.Unknown > 0 {
				oldest += ", the oldest began " + stampAgo(st.OldestUnknown, now)
			}
			s.say("Attempts")
			facts(s.stdout, [][2]string{{"started", n(st.Started)}, {"unknown", oldest}, {"detached", n(st.Detached)}, {"late", n(st.Late)}}...)
		})
	})
}
