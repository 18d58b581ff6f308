package main

import (
	"fmt"
	"time"

	"github.com/onejob-go/onejob"
)

type qualificationsCmd struct {
	Provider string `placeholder:"NAME" help:"Only of this provider."`
	Payloads bool   `help:"With --json: the evidence too, which quotes what providers answered."`
}

type qualificationView struct {
	Provider     string    `json:"provider"`
	Contract     string    `json:"contract"`
	Model        string    `json:"model"`
	Fingerprint  string    `json:"fingerprint"`
	Status       string    `json:"status"`
	Runs         int       `json:"runs"`
	Passes       int       `json:"passes"`
	QualifiedAt  time.Time `json:"qualified_at"`
	ExpiresAt    time.Time `json:"expires_at"`
	RevokedAt    time.Time `json:"revoked_at,omitzero"`
	By           string    `json:"by,omitempty"`
	Reason       string    `json:"reason,omitempty"`
	EvidenceSize int       `json:"evidence_size"`
	Evidence     *payload  `json:"evidence,omitempty"`
}

// Run lists qualifications.
func (c *qualificationsCmd) Run(a *app) error {
	return a.with(reads, func(s *session) error {
		now, err := s.now(s.ctx)
		if err != nil {
			return err
		}
		views := []qualificationView{}
		for q, err := range s.operator.Qualifications(s.ctx) {
			if err != nil {
				return err
			}
			if c.Provider == "" || q.Provider == c.Provider {
				views = append(views, viewQualification(q, now, c.Payloads))
			}
		}
		doc := struct {
			Qualifications []qualificationView `json:"qualifications"`
		}{views}
		return s.tell(doc, func() {
			if len(views) == 0 {
				s.say("no provider has proven anything")
				return
			}
			qualificationTable(views, now).print(s.stdout)
		})
	})
}

func viewQualification(q onejob.Qualification, now time.Time, evidence bool) qualificationView {
	v := qualificationView{Provider: q.Provider, Contract: q.Contract, Model: q.Model, Fingerprint: q.Fingerprint,
		Status: standing(q, now), Runs: q.Runs, Passes: q.Passes, QualifiedAt: utc(q.QualifiedAt), ExpiresAt: utc(q.ExpiresAt),
		RevokedAt: utc(q.RevokedAt), By: q.By, Reason: q.Reason, EvidenceSize: len(q.Evidence)}
	if evidence {
		v.Evidence = payloadOf(q.Evidence)
	}
	return v
}

// standing is what the gate would say: "changed" is not for us to know, who have
// no fingerprint to compare.
func standing(q onejob.Qualification, now time.Time) string {
	switch {
	case !q.RevokedAt.IsZero():
		return "revoked"
	case q.Passes < q.Runs:
		return "failed"
	case !q.ExpiresAt.After(now):
		return "expired"
	}
	return "current"
}

func qualificationTable(views []qualificationView, now time.Time) *table {
	t := &table{head: []string{"STATUS", "PROVIDER", "CONTRACT", "MODEL", "PASSED", "QUALIFIED", "EXPIRES"}}
	for _, v := range views {
		notes := []string{"fingerprint " + safe(v.Fingerprint)}
		if !v.RevokedAt.IsZero() {
			notes = append(notes, fmt.Sprintf("revoked %s by %s: %s", stampAgo(v.RevokedAt, now), safe(v.By), safe(v.Reason)))
		}
		expires := "in " + span(v.ExpiresAt.Sub(now))
		if !v.ExpiresAt.After(now) {
			expires = span(now.Sub(v.ExpiresAt)) + " ago"
		}
		t.add([]string{v.Status, cut(safe(v.Provider), 20), cut(safe(v.Contract), 24), cut(safe(v.Model), 20),
			fmt.Sprintf("%d of %d", v.Passes, v.Runs), stamp(v.QualifiedAt), expires}, notes...)
	}
	return t
}
