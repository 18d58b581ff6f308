package model

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/onejob-go/onejob"
)

// Diff tells where got is not what want says, "" when it is. Times may be later
// than the model's by slack microseconds, which is how long the sequence has
// been running where the clock is the server's; 0 means that they are exact.
func Diff(want, got Answer, slack int64) string {
	if want.Is != "" && want.Job.ID == "" {
		got.Job = JobView{}
	}
	if want.Is != "" && want.Attempt.ID == "" {
		got.Attempt = AttemptView{}
	}
	if want.Text == "" {
		got.Text = ""
	}
	if slack != 0 {
		nearAll(&want, &got, slack)
	}
	if same(&want, &got) {
		return ""
	}
	var out []string
	diff(&out, "", reflect.ValueOf(want), reflect.ValueOf(got))
	const enough = 8 // one wrong verdict makes all of its facts wrong
	if len(out) > enough {
		out = append(out[:enough], fmt.Sprintf("and %d more", len(out)-enough))
	}
	return strings.Join(out, "\n")
}

// same is the short way to no difference, without reflection.
func same(want, got *Answer) bool {
	return want.Is == got.Is && want.Op == got.Op && want.Field == got.Field && want.Text == got.Text &&
		want.Created == got.Created && want.N == got.N && want.Calls == got.Calls && want.Hooks == got.Hooks &&
		want.Panicked == got.Panicked && want.Stats == got.Stats &&
		want.ErrJob == got.ErrJob && want.ErrAttempt == got.ErrAttempt &&
		want.Job == got.Job && want.Attempt == got.Attempt && want.Hooked == got.Hooked &&
		slices.Equal(want.List, got.List) && slices.Equal(want.Entries, got.Entries)
}

// near puts the model's times in the place of the store's where those are near
// enough, so that what is left is compared exactly.
func near(want, got []int64, slack int64) {
	for i := range want {
		if (want[i] == 0) == (got[i] == 0) && got[i] >= want[i]-slack && got[i] <= want[i]+slack {
			got[i] = want[i]
		}
	}
}

// nearAttempt leaves the times of an attempt that was not extended and does not
// end its timeout after it started, and of one that ended before it started.
func nearAttempt(want, got *AttemptView, slack int64) {
	started, deadline, ended := got.Times[0], got.Times[1], got.Times[2]
	if want.Times[1]-want.Times[0] == want.Timeout && deadline-started != got.Timeout || ended != 0 && ended < started {
		return
	}
	near(want.Times[:], got.Times[:], slack)
}

// nearJob leaves the times of a winner that did not end with its job.
func nearJob(want, got *JobView, slack int64) {
	if want.Attempt.State == string(onejob.StateSucceeded) && got.Times[1] != got.Attempt.Times[2] {
		return
	}
	near(want.Times[:], got.Times[:], slack)
	nearAttempt(&want.Attempt, &got.Attempt, slack)
}

// nearAll does so for all that an answer holds. The lists are copied first.
func nearAll(want *Answer, got *Answer, slack int64) {
	nearJob(&want.ErrJob, &got.ErrJob, slack)
	nearJob(&want.Job, &got.Job, slack)
	nearJob(&want.Hooked, &got.Hooked, slack)
	nearAttempt(&want.ErrAttempt, &got.ErrAttempt, slack)
	nearAttempt(&want.Attempt, &got.Attempt, slack)
	near(want.Stats.Times[:], got.Stats.Times[:], slack)
	got.List, got.Entries = slices.Clone(got.List), slices.Clone(got.Entries)
	for i := range min(len(want.List), len(got.List)) {
		nearAttempt(&want.List[i], &got.List[i], slack)
	}
	for i := range min(len(want.Entries), len(got.Entries)) {
		nearJob(&want.Entries[i].Job, &got.Entries[i].Job, slack)
		nearAttempt(&want.Entries[i].Attempt, &got.Entries[i].Attempt, slack)
	}
}

func diff(out *[]string, path string, want, got reflect.Value) {
	switch {
	case want.Kind() == reflect.Struct:
		for i := range want.NumField() {
			f := want.Type().Field(i)
			if f.Name == "OldestUnknown" {
				continue // in Times
			}
			diff(out, path+"."+f.Name, want.Field(i), got.Field(i))
		}
	case want.Kind() == reflect.Slice:
		if want.Len() != got.Len() {
			*out = append(*out, fmt.Sprintf("%s: want %d, got %d: %+v\n  want %+v", path, want.Len(), got.Len(), got, want))
			return
		}
		for i := range want.Len() {
			diff(out, fmt.Sprintf("%s[%d]", path, i), want.Index(i), got.Index(i))
		}
	case strings.HasSuffix(path, ".Times"):
		for i := range want.Len() {
			w, g := want.Index(i).Int(), got.Index(i).Int()
			if w != g {
				*out = append(*out, fmt.Sprintf("%s[%d]: want %d, got %d (%d later)", path, i, w, g, g-w))
			}
		}
	case want.Kind() == reflect.String && want.String() == Some && got.String() != "":
	case !want.Equal(got):
		*out = append(*out, fmt.Sprintf("%s: want %#v, got %#v", path, want, got))
	}
}
