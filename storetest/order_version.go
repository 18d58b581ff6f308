package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
)

var _ = register("order of return, forged",
	testCase{
		name: "an attempt value with the version of a canceled job",
		why:  "the version is a fence and not a key: a value made up to fit the job as it now stands wins nothing on a job that is over",
		run: func(h *harness) {
			job, a := h.start("k")
			canceled, err := h.op.CancelJob(h.ctx, job.ID, someone)
			require.NoError(h, err)
			a.JobVersion = canceled.Version
			h.loses(a, onejob.StateLate, canceled)
		},
	},
)
