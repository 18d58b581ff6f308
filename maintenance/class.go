package maintenance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/onejob-go/onejob"
)

// class is what may be told of an error that may be the host's own.
func class(err error) string {
	var e *onejob.Error
	switch {
	case errors.Is(err, errPanic):
		return "panic"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, onejob.ErrUnavailable):
		return "unavailable"
	case errors.Is(err, onejob.ErrUnsupported):
		return "unsupported"
	case errors.Is(err, onejob.ErrInvalid):
		return "invalid"
	case errors.As(err, &e):
		return "refused"
	}
	return "other"
}

// complain logs the error of a run. The text of a host's error may hold anything,
// so it is not shown; that of an error of the library's own says what to do.
func (l *Loop) complain(t *task, err error) {
	attrs := []any{"task", t.name, "class", class(err), "in a row", t.failing, "again in about", t.delay()}
	var e *onejob.Error
	switch {
	case !errors.As(err, &e):
		attrs = append(attrs, "type", fmt.Sprintf("%T", err))
	case e.Attempt != nil:
		attrs = append(attrs, "attempt", string(e.Attempt.ID), "error", e.Error())
	default:
		attrs = append(attrs, "error", e.Error())
	}
	l.log.Log(context.Background(), slog.LevelError, "onejob: maintenance: a run did not end well", attrs...)
}
