package mutants

// driving are mutants of Do and of the contexts that steps run under.
var driving = []Mutant{
	{ID: "X150", What: "Do with a Try.ID whose attempt was begun before calls the provider again", Plants: []Plant{
		lite(kit("the whole way", "an attempt that was begun before"), Edit{"do.go", "case try.ID != \"\" && !fresh:", "case try.ID != \"\" && !fresh && a == nil:"}),
	}},
	{ID: "X151", What: "the context of the call ends with the client's", Plants: []Plant{
		lite(kit("the whole way", "the context of the call"), Edit{"attempt.go", "watchSends(context.WithoutCancel(parent))", "watchSends(parent)"}),
	}},
	{ID: "X152", What: "a panic of the call leaves the attempt started", Plants: []Plant{
		lite(kit("the whole way", "the call panics"), Edit{"do.go", "\t\tif !settled {\n", "\t\tif !settled && result == nil && a == nil {\n"},
			Edit{"do.go", "\tsettled := false\n", "\tvar result []byte\n\tsettled := false\n"}, Edit{"do.go", "\tresult, err := call(actx, job, *a)\n", "\tresult, err = call(actx, job, *a)\n"}),
	}},
	{ID: "X153", What: "Do gives up a result at the database's first error", Plants: []Plant{
		lite(kit("the whole way, in an outage", "Do stores the result when the database is back"), Edit{"do.go", "passing(err) && actx.Err() == nil;", "passing(err) && actx.Err() != nil;"}),
	}},
	{ID: "X154", What: "Do tells of a result that was not stored as ErrUnavailable, which invites a second call", Plants: []Plant{
		lite(kit("the whole way, in an outage", "an outage that outlasts the attempt leaves a doubt"), Edit{"do.go", "\tcase errors.Is(err, ErrLateResult):\n\t\treturn job, renamed(op, err)\n", "\tcase errors.Is(err, ErrLateResult) || lost(err):\n\t\treturn job, renamed(op, err)\n"}),
	}},
	{ID: "X155", What: "Do calls the provider again on a completed job", Plants: []Plant{
		lite(kit("the whole way", "Do once and again"), Edit{"do.go", "case err != nil && job.State == JobCompleted && !errors.Is(err, ErrKeyRetired):", "case err != nil && job.State == JobCompleted && !errors.Is(err, ErrKeyRetired) && a != nil:"}),
	}},
	{ID: "X156", What: "Do fails an attempt whose result is over the limit", Plants: []Plant{
		lite(kit("the whole way", "a result over the limit"), Edit{"do.go", "s.doubt(ctx, op, a, SettleParams{To: StateUnknown, Cause: string(why)})", "s.settleTo(ctx, op, a, SettleParams{To: StateFailed, Cause: string(why)})"}),
	}},
	{ID: "X157", What: "Complete is refused on a context that has ended", Plants: []Plant{
		lite(kit("settling", "on a context that has ended"), Edit{"cas.go", "\tvar also []JobID // that", "\tif err := ended(ctx, op); err != nil {\n\t\treturn Job{}, err\n\t}\n\tvar also []JobID // that"}),
	}},
	{ID: "X158", What: "a decision is carried out on a context that has ended", Plants: []Plant{
		lite(kit("settling", "deciding on a context that has ended"), Edit{"context.go", "\tif err := ended(ctx, op); err != nil {\n\t\tvar none T\n\t\treturn none, err\n\t}\n\treturn settling", "\t_ = op\n\treturn settling"}),
	}},
	{ID: "X159", What: "the refusal of Do shows the attempt as it was when it began", Plants: []Plant{
		lite(kit("the whole way, in an outage", "a detached attempt is told as what it is"), Edit{"do.go", "\tif rec.Attempt != nil {\n\t\treturn *rec.Attempt\n\t}\n", ""}),
	}},
	{ID: "X160", What: "an attempt in the way that is unknown is not told as ErrInDoubt", Plants: []Plant{
		lite(kit("begin", "an open attempt blocks the next"), Edit{"errors.go", "if e.Err == ErrAttemptOpen && e.Attempt != nil && e.Attempt.State == StateUnknown {", "if e.Err == ErrAttemptOpen && e.Attempt != nil && e.Attempt.State == StateLate {"}),
	}},
}
