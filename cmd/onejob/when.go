package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// age is a flag's duration, with days and weeks: "90d", "2w", "36h", "1d12h".
type age time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (a *age) UnmarshalText(text []byte) error {
	d, err := parseAge(string(text))
	if err == nil && d <= 0 {
		err = fmt.Errorf("must be positive")
	}
	*a = age(d)
	return err
}

func parseAge(s string) (time.Duration, error) {
	rest, total := s, time.Duration(0)
	for _, unit := range []struct {
		letter string
		length time.Duration
	}{{"w", 7 * 24 * time.Hour}, {"d", 24 * time.Hour}} {
		head, tail, found := strings.Cut(rest, unit.letter)
		if !found {
			continue
		}
		n, err := strconv.ParseInt(head, 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64/int64(unit.length)/2 {
			return 0, notAnAge(s)
		}
		total += time.Duration(n) * unit.length
		rest = tail
	}
	if rest == "" && s != "" {
		return total, nil
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d < 0 || total+d < 0 {
		return 0, notAnAge(s)
	}
	return total + d, nil
}

func notAnAge(s string) error {
	return fmt.Errorf("%s is no length of time: write 90d, 2w, 36h, 1d12h or 30m", safe(s))
}

// when is a flag's instant: a time, or how long ago by the database's clock.
type when struct {
	at  time.Time
	ago time.Duration
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (w *when) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04",
		"2006-01-02 15:04:05", "2006-01-02 15:04:05Z", "2006-01-02T15:04Z07:00", "2006-01-02"} {
		if at, err := time.Parse(layout, s); err == nil {
			w.at = at
			return nil
		}
	}
	d, err := parseAge(s)
	if err != nil || d == 0 {
		return fmt.Errorf("%s is no time: write 2026-11-30T14:05:00Z, 2026-11-30 14:05 (UTC), or how long ago: 2h, 3d", safe(s))
	}
	w.ago = d
	return nil
}

func (w when) set() bool { return w != when{} }

func (w when) from(now time.Time) time.Time {
	if w.ago > 0 {
		return now.Add(-w.ago)
	}
	return w.at
}

// stamp is how a time is shown: to the second, in UTC as in logs.
func stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

// span is a length of time in its two largest units.
func span(d time.Duration) string {
	if d < 0 {
		return "-" + span(-d)
	}
	if d < time.Second {
		return d.Truncate(time.Millisecond).String()
	}
	day := 24 * time.Hour
	units := []struct {
		letter string
		length time.Duration
	}{{"d", day}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}}
	for i, u := range units {
		if d < u.length {
			continue
		}
		text := strconv.FormatInt(int64(d/u.length), 10) + u.letter
		if i+1 < len(units) && d%u.length >= units[i+1].length {
			text += strconv.FormatInt(int64(d%u.length/units[i+1].length), 10) + units[i+1].letter
		}
		return text
	}
	return d.String()
}

// inWords is a length of time that nobody takes for another.
func inWords(d time.Duration) string {
	var parts []string
	for _, u := range []struct {
		name   string
		length time.Duration
	}{{"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute}, {"second", time.Second}} {
		if n := d / u.length; n > 0 {
			parts = append(parts, count(int64(n), u.name))
			d -= n * u.length
		}
	}
	if len(parts) == 0 {
		return d.String()
	}
	return strings.Join(parts, " ")
}

// stampAgo is a time with its age.
func stampAgo(t, now time.Time) string {
	switch {
	case t.IsZero():
		return "-"
	case t.After(now):
		return fmt.Sprintf("%s (in %s)", stamp(t), span(t.Sub(now)))
	}
	return fmt.Sprintf("%s (%s ago)", stamp(t), span(now.Sub(t)))
}
