package idempotency

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
)

// record is a handler's response as it is stored: one line of JSON, then the
// body as it was.
type record struct {
	Format string      `json:"onejob-response"` // "1"
	Status int         `json:"status"`
	Header http.Header `json:"header,omitempty"`
	Size   int         `json:"size"`
	Stub   bool        `json:"stub,omitempty"` // it was sent, and cannot be shown again
	body   []byte
}

const recordFormat = "1"

func (r record) encode() []byte {
	r.Format, r.Size = recordFormat, len(r.body)
	line, err := json.Marshal(r)
	if err != nil {
		panic("idempotency: " + err.Error()) // of strings and numbers it cannot be
	}
	return append(append(line, '\n'), r.body...)
}

// decode tells a recorded response from another result, such as one that an
// operator has confirmed.
func decode(result []byte) (record, bool) {
	line, body, ok := bytes.Cut(result, []byte{'\n'})
	var r record
	if !ok || json.Unmarshal(line, &r) != nil || r.Format != recordFormat || r.Size != len(body) ||
		r.Status < 200 || r.Status > 599 {
		return record{}, false
	}
	r.body = body
	return r, true
}

// Response takes apart the result of a job that a handler in [Layer.Wrap] has
// completed, as onejob's OnComplete and operators see it: the status and the body
// that its client got. It is not ok for another result, and for a response that
// cannot be shown again.
func Response(result []byte) (status int, body []byte, ok bool) {
	rec, ok := decode(result)
	if !ok || rec.Stub {
		return 0, nil, false
	}
	return rec.Status, rec.body, true
}

// replayTo sends a recorded response again.
func (l *Layer) replayTo(w http.ResponseWriter, r record) {
	h := w.Header()
	h.Del("Location") // the job's; the response may have one of its own
	for name, values := range r.Header {
		if l.replay[http.CanonicalHeaderKey(name)] {
			h[http.CanonicalHeaderKey(name)] = values
		}
	}
	h.Set("Idempotent-Replayed", "true")
	h.Set("Cache-Control", "no-store")
	if r.Status != http.StatusNoContent && r.Status != http.StatusNotModified {
		h.Set("Content-Length", strconv.Itoa(len(r.body)))
	}
	w.WriteHeader(r.Status)
	_, _ = w.Write(r.body) // a client that is gone has nothing to be told
}
