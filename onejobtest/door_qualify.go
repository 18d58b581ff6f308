package onejobtest

import (
	"context"
	"time"

	"github.com/onejob-go/onejob"
)

var _ onejob.QualificationStore = (*door)(nil)

// SaveQualification implements [onejob.QualificationStore].
func (d *door) SaveQualification(ctx context.Context, q onejob.Qualification, ttl time.Duration, _ func() time.Time) (saved onejob.Qualification, err error) {
	err = d.pass(func() (wrote bool, err error) {
		saved, err = d.store.SaveQualification(ctx, q, ttl, d.clock)
		return true, err
	})
	return answer(saved, err)
}

// RevokeQualification implements [onejob.QualificationStore].
func (d *door) RevokeQualification(ctx context.Context, provider string, r onejob.Requirement, by onejob.Decision, _ func() time.Time) (q onejob.Qualification, found bool, err error) {
	err = d.pass(func() (wrote bool, err error) {
		q, found, err = d.store.RevokeQualification(ctx, provider, r, by, d.clock)
		return found, err
	})
	if err != nil {
		return onejob.Qualification{}, false, err
	}
	return q, found, nil
}

// Qualifications implements [onejob.QualificationStore].
func (d *door) Qualifications(ctx context.Context, after *onejob.Qualification, limit int) (list []onejob.Qualification, err error) {
	err = d.look(func() (err error) { list, err = d.store.Qualifications(ctx, after, limit); return err })
	return answer(list, err)
}
