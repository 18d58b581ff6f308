package idempotency

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/onejob-go/onejob"
)

// plainIntent is the default: the body is the input, and the transport is part
// of it.
func plainIntent(kind string, r *http.Request, body []byte) onejob.Intent {
	media := mediaType(r)
	return onejob.Intent{
		Kind: kind, Params: body, Opaque: len(body) > 0 && (!isJSON(media) || compressed(r)),
		Scope: []string{r.Method, r.URL.EscapedPath(), r.URL.RawQuery, media},
	}
}

// compressed reports whether the body is in a form that bodyOf does not undo.
func compressed(r *http.Request) bool {
	encoding := strings.ToLower(strings.TrimSpace(r.Header.Get("Content-Encoding")))
	return encoding != "" && encoding != "gzip" && encoding != "identity"
}

func isJSON(media string) bool {
	return media == "application/json" || strings.HasSuffix(media, "+json")
}

var (
	errBodyLarge = errors.New("the body is larger than this server takes")
	errBodyRead  = errors.New("the body did not come whole")
	errBodyGone  = errors.New("the body was read before the layer, which so cannot tell one input from another: put the layer outside of what reads it")
)

// bodyOf reads the whole body. plain is without a compression, which two senders
// of the same input may do differently; a compression that it does not know is
// left, and the bytes are the input.
func (l *Layer) bodyOf(w http.ResponseWriter, r *http.Request) (raw, plain []byte, err error) {
	if r.Body == nil {
		return nil, nil, nil
	}
	raw, err = io.ReadAll(http.MaxBytesReader(w, r.Body, l.o.MaxBody))
	if err != nil {
		if errors.As(err, new(*http.MaxBytesError)) {
			return nil, nil, errBodyLarge
		}
		return nil, nil, errBodyRead
	}
	if r.PostForm != nil || r.MultipartForm != nil || r.ContentLength > int64(len(raw)) {
		return nil, nil, errBodyGone
	}
	if !strings.EqualFold(strings.TrimSpace(r.Header.Get("Content-Encoding")), "gzip") {
		return raw, raw, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, nil, errBodyRead
	}
	plain, err = io.ReadAll(io.LimitReader(z, l.o.MaxBody+1))
	switch {
	case err != nil:
		return nil, nil, errBodyRead
	case int64(len(plain)) > l.o.MaxBody:
		return nil, nil, errBodyLarge
	}
	return raw, plain, nil
}
