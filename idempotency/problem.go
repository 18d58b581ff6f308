package idempotency

import (
	"encoding/json"
	"net/http"

	"github.com/onejob-go/onejob"
)

// problem is what a client is told, as RFC 9457 has it. Clients branch on the
// type; the status is a hint.
type problem struct {
	kind   string // the last part of the type's address
	status int
	title  string
	detail string
}

// The problems. Their names are part of the interface; docs/http.md lists them.
var (
	pKeyMissing   = problem{"key-missing", http.StatusBadRequest, "Idempotency-Key is missing", "Send the header Idempotency-Key with a new value for each new intent, and the same value when you repeat it."}
	pKeyMalformed = problem{"key-malformed", http.StatusBadRequest, "Idempotency-Key is malformed", "Send one header with one string in quotation marks, of printable ASCII characters."}
	pKeyLong      = problem{"key-too-long", http.StatusBadRequest, "Idempotency-Key is too long", "Send at most 255 bytes."}
	pBodyLarge    = problem{"body-too-large", http.StatusRequestEntityTooLarge, "The body is too large", "Nothing was done."}
	pBodyRead     = problem{"request-invalid", http.StatusBadRequest, "The body did not come whole", "Nothing was done. Send the request again with the same key."}
	pOwner        = problem{"owner-missing", http.StatusUnauthorized, "Authentication is required", "Nothing was done."}
	pInvalid      = problem{"request-invalid", http.StatusBadRequest, "The request is not valid", "Nothing was done. Mend the request; it may use the same key."}
	pOutstanding  = problem{"request-outstanding", http.StatusConflict, "The request is being processed", "An earlier request with this key is under way. Ask again later with the same key."}
	pUnknown      = problem{"outcome-unknown", http.StatusConflict, "The outcome is not known yet", "An earlier request with this key may have taken effect. It is being checked; do not use a new key."}
	pKeyReused    = problem{"key-reused", http.StatusConflict, "Idempotency-Key was used for another request", "Use a new key for a new intent."}
	pExpired      = problem{"response-expired", http.StatusGone, "The response is no longer kept", "The request was processed, long ago. It is not processed again."}
	pStub         = problem{"response-not-replayable", http.StatusGone, "The response cannot be shown again", "The request was processed. It is not processed again."}
	pCanceled     = problem{"job-canceled", http.StatusConflict, "The request was withdrawn", "It is not processed."}
	pAttempts     = problem{"too-many-attempts", http.StatusConflict, "The request was tried too often", "It was tried as often as this service allows, and is not tried again with this key."}
	pNotQualified = problem{"not-qualified", http.StatusConflict, "Nobody may do this now", "Ask again later with the same key."}
	pStore        = problem{"store-unavailable", http.StatusServiceUnavailable, "The request could not be taken now", "Send it again with the same key."}
	pNotFound     = problem{"not-found", http.StatusNotFound, "There is no such job", ""}
	pInternal     = problem{"internal", http.StatusInternalServerError, "The request could not be taken", "Nothing was done."}
	pMethod       = problem{"method-not-allowed", http.StatusMethodNotAllowed, "The method is not allowed", ""}
)

// tell writes a problem, about a job where there is one.
func (l *Layer) tell(w http.ResponseWriter, p problem, job onejob.Job) {
	body := struct {
		Type   string       `json:"type"`
		Title  string       `json:"title"`
		Status int          `json:"status"`
		Detail string       `json:"detail,omitempty"`
		Job    onejob.JobID `json:"job,omitempty"`
	}{l.o.Problems + p.kind, p.title, p.status, p.detail, job.ID}
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	switch p.kind {
	case pKeyMissing.kind:
		h.Add("Link", "<"+l.o.Problems+p.kind+`>; rel="describedby"`)
	case pKeyReused.kind:
		h.Add("Link", "<"+l.o.Problems+p.kind+`>; rel="describedby"`)
		h.Set("X-Should-Retry", "false")
	case pUnknown.kind:
		h.Set("X-Should-Retry", "false") // clients that retry a 409 by themselves mind it
	}
	w.WriteHeader(p.status)
	text, err := json.Marshal(body)
	if err == nil {
		_, _ = w.Write(text) // a client that is gone has nothing to be told
	}
}
