package console

import (
	"context"
	"errors"
	"net/http"

	"github.com/onejob-go/onejob"
)

// problem is a page that says what went wrong and what to do.
type problem struct {
	Status       int
	Title        string
	What, Advice string
}

var (
	pNotFound = problem{http.StatusNotFound, "Not found",
		"There is no such page, job or attempt here.",
		"A job ID is 36 characters long, an attempt ID 53. Attempts of a purged job are gone, but for its winner and detached ones."}
	pMethod = problem{http.StatusMethodNotAllowed, "Not allowed",
		"The console answers this address to another kind of request.", ""}
	pForged = problem{http.StatusForbidden, "Refused: where did this come from?",
		"The browser did not say that this form came from the console itself. Nothing was done.",
		"Open the console afresh and decide there. If this comes up each time, a proxy takes off the headers Sec-Fetch-Site and Origin, " +
			"or changes Host over plain HTTP: see TrustedOrigins."}
	pReadOnly = problem{http.StatusForbidden, "This console is read-only for you",
		"Nothing was done.", "Ask somebody who may decide, or use the command line."}
	pLarge = problem{http.StatusRequestEntityTooLarge, "The form is too large",
		"Nothing was done.", "A result as large as this is for a program to confirm: Operator.Confirm."}
	pForm = problem{http.StatusBadRequest, "The form did not come whole",
		"Nothing was done.", "Go back and send it again."}
	pUnavailable = problem{http.StatusServiceUnavailable, "The database gave no answer",
		"The console works; what it shows and decides is in the database, which cannot be asked now.",
		"Reload the page in a moment. What is in doubt stays in doubt meanwhile, and blocked."}
	pUnsupported = problem{http.StatusNotImplemented, "The store cannot do this",
		"The schema is not migrated, or the store lacks an ability.", "Run Migrate, or look at the log of the host."}
	pInternal = problem{http.StatusInternalServerError, "Something went wrong",
		"The console could not make this page.", "The log of the host says more."}
)

func (v *view) fail(p problem) { v.render(p.Status, "problem", p.Title, p) }

// failed tells an error of reading. No text of it is shown: it may be somebody
// else's.
func (v *view) failed(err error) {
	p := pInternal
	switch {
	case errors.Is(err, onejob.ErrNotFound):
		p = pNotFound
	case unavailable(err):
		p = pUnavailable
	case errors.Is(err, onejob.ErrUnsupported):
		p = pUnsupported
	}
	if p.Status >= http.StatusInternalServerError {
		v.o.Logger.ErrorContext(v.r.Context(), "console: no page", "page", p.Title, "err", logged(err))
	}
	v.fail(p)
}

func unavailable(err error) bool {
	return errors.Is(err, onejob.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// logged is the text of an error that may go into logs: the library's own, which
// holds no payloads.
func logged(err error) string {
	var e *onejob.Error
	switch {
	case errors.As(err, &e):
		return e.Error()
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return err.Error()
	}
	return "an error of another package"
}
