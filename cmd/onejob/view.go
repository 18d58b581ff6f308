package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/onejob-go/onejob"
)

// jobView is a job as programs see it. The names are a promise.
type jobView struct {
	ID         onejob.JobID    `json:"id"`
	Owner      string          `json:"owner"`
	Key        string          `json:"key"`
	Kind       string          `json:"kind"`
	Target     string          `json:"target,omitempty"`
	State      onejob.JobState `json:"state"`
	Status     onejob.Status   `json:"status"`
	Version    int64           `json:"version"`
	CreatedAt  time.Time       `json:"created_at"`
	EndedAt    time.Time       `json:"ended_at,omitzero"`
	PurgedAt   time.Time       `json:"purged_at,omitzero"`
	By         string          `json:"by,omitempty"`
	Reason     string          `json:"reason,omitempty"`
	ParamsSize *int            `json:"params_size,omitempty"` // show only, and not once purged
	ResultSize *int            `json:"result_size,omitempty"`
	Params     *payload        `json:"params,omitempty"` // with --payloads
	Result     *payload        `json:"result,omitempty"`
}

// payload is bytes as text where they are text.
type payload struct {
	Text   *string `json:"text,omitempty"`
	Base64 []byte  `json:"base64,omitempty"`
}

func payloadOf(p []byte) *payload {
	if p == nil {
		return nil
	}
	if !utf8.Valid(p) {
		return &payload{Base64: p}
	}
	text := string(p)
	return &payload{Text: &text}
}

// attemptView is an attempt as programs see it.
type attemptView struct {
	ID             onejob.AttemptID `json:"id"`
	JobID          onejob.JobID     `json:"job_id"`
	Number         int              `json:"number"`
	Provider       string           `json:"provider"`
	State          onejob.State     `json:"state"`
	ProviderKey    string           `json:"provider_key"`
	ExternalRef    string           `json:"external_ref,omitempty"`
	TimeoutSeconds float64          `json:"timeout_seconds"`
	StartedAt      time.Time        `json:"started_at"`
	Deadline       time.Time        `json:"deadline"`
	EndedAt        time.Time        `json:"ended_at,omitzero"`
	Cause          string           `json:"cause,omitempty"`
	By             string           `json:"by,omitempty"`
	Reason         string           `json:"reason,omitempty"`
	LateAt         time.Time        `json:"late_at,omitzero"`
	LateSize       *int64           `json:"late_size,omitempty"`
	LateSHA256     string           `json:"late_sha256,omitempty"`
}

// entryView is an attempt in a list, with its job.
type entryView struct {
	attemptView
	Job jobView `json:"job"`
}

func viewJob(j onejob.Job) jobView {
	return jobView{ID: j.ID, Owner: j.Owner, Key: j.Key, Kind: j.Kind, Target: j.Target, State: j.State,
		Status: j.Status(), Version: j.Version, CreatedAt: j.CreatedAt.UTC(), EndedAt: utc(j.EndedAt), PurgedAt: utc(j.PurgedAt),
		By: j.By, Reason: j.Reason}
}

func viewAttempt(a onejob.Attempt) attemptView {
	v := attemptView{ID: a.ID, JobID: a.JobID, Number: a.Number, Provider: a.Provider, State: a.State,
		ProviderKey: a.ProviderKey, ExternalRef: a.ExternalRef, TimeoutSeconds: a.Timeout.Seconds(),
		StartedAt: a.StartedAt.UTC(), Deadline: a.Deadline.UTC(), EndedAt: utc(a.EndedAt), Cause: a.Cause, By: a.By, Reason: a.Reason}
	if !a.LateAt.IsZero() {
		v.LateAt, v.LateSize, v.LateSHA256 = utc(a.LateAt), &a.LateSize, hex.EncodeToString(a.LateDigest[:])
	}
	return v
}

func utc(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC()
}

// tell writes the one document of a command, or has it told to people.
func (a *app) tell(doc any, people func()) error {
	if !a.JSON {
		people()
		return nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return err
	}
	_, err := a.stdout.Write(asciiJSON(b.Bytes()))
	return err
}

// say writes a line to people.
func (a *app) say(format string, args ...any) { fmt.Fprintf(a.stdout, format+"\n", args...) }

// note writes a line beside the output, for people only.
func (a *app) note(format string, args ...any) {
	if !a.JSON {
		fmt.Fprintf(a.stderr, format+"\n", args...)
	}
}
