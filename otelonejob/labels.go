package otelonejob

import (
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// The names of attributes.
const (
	attrJob       = attribute.Key("onejob.job.id")
	attrStatus    = attribute.Key("onejob.job.status")
	attrKind      = attribute.Key("onejob.kind")
	attrAttempt   = attribute.Key("onejob.attempt.id")
	attrNumber    = attribute.Key("onejob.attempt.number")
	attrProvider  = attribute.Key("onejob.provider")
	attrState     = attribute.Key("onejob.state")
	attrOp        = attribute.Key("onejob.op")
	attrOutcome   = attribute.Key("onejob.outcome")
	attrResult    = attribute.Key("onejob.result")
	attrReason    = attribute.Key("onejob.reason")
	attrChanged   = attribute.Key("onejob.changed")
	attrCount     = attribute.Key("onejob.count")
	attrErrorType = attribute.Key("error.type")
)

// other is what a value beyond the limit counts as, and none the provider of a
// gauge's zero as long as no provider is known.
const (
	other = "other"
	none  = "none"
)

// labels are the attributes of a measurement; an empty one is left out.
type labels struct{ kind, provider, state, op, outcome, result, reason, errorType string }

func (l labels) attributes(base []attribute.KeyValue) []attribute.KeyValue {
	attrs := append([]attribute.KeyValue(nil), base...)
	for _, a := range []struct {
		key   attribute.Key
		value string
	}{
		{attrKind, l.kind}, {attrProvider, l.provider}, {attrState, l.state}, {attrOp, l.op},
		{attrOutcome, l.outcome}, {attrResult, l.result}, {attrReason, l.reason}, {attrErrorType, l.errorType},
	} {
		if a.value != "" {
			attrs = append(attrs, a.key.String(a.value))
		}
	}
	return attrs
}

// options are one set of labels as each instrument wants them.
type options struct {
	add     []metric.AddOption
	record  []metric.RecordOption
	observe metric.ObserveOption
}

// series keeps the sets of labels in use, so that a measurement makes none anew.
type series struct {
	base      []attribute.KeyValue
	providers *limited
	kinds     *limited
	mu        sync.RWMutex
	made      map[labels]*options
}

func newSeries(o Options) *series {
	return &series{
		base:      o.Attributes,
		providers: newLimited(o.MaxProviders),
		kinds:     newLimited(o.MaxKinds),
		made:      map[labels]*options{},
	}
}

func (s *series) of(l labels) *options {
	s.mu.RLock()
	opts := s.made[l]
	s.mu.RUnlock()
	if opts != nil {
		return opts
	}
	with := metric.WithAttributeSet(attribute.NewSet(l.attributes(s.base)...))
	opts = &options{add: []metric.AddOption{with}, record: []metric.RecordOption{with}, observe: with}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made[l] = opts
	return opts
}

// limited holds the values of a label that are told apart.
type limited struct {
	max   int // negative: the label is left out
	mu    sync.RWMutex
	known map[string]bool
}

func newLimited(n int) *limited {
	if n == 0 {
		n = 50
	}
	return &limited{max: n, known: map[string]bool{}}
}

// of is value as the label shows it; fresh reports that it was not known before.
func (l *limited) of(value string) (shown string, fresh bool) {
	if l.max < 0 || value == "" {
		return "", false
	}
	l.mu.RLock()
	known, full := l.known[value], len(l.known) >= l.max
	l.mu.RUnlock()
	switch {
	case known:
		return value, false
	case full:
		return other, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.known[value]:
		return value, false
	case len(l.known) >= l.max:
		return other, false
	}
	l.known[value] = true
	return value, true
}

// all are the values that are told apart.
func (l *limited) all() []string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	values := make([]string, 0, len(l.known))
	for value := range l.known {
		values = append(values, value)
	}
	return values
}
