package integration

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/idempotency"
	"github.com/onejob-go/onejob/onejobtest"
)

// The layer takes and gives an http.Handler, so any router takes it.
func TestTheLayerWorksUnderRouters(t *testing.T) {
	t.Parallel()
	gin.SetMode(gin.ReleaseMode)
	routers := map[string]func(l *idempotency.Layer, runs *int) http.Handler{
		"ServeMux": func(l *idempotency.Layer, runs *int) http.Handler {
			mux := http.NewServeMux()
			mux.Handle("POST /orders/{shop}", l.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				*runs++
				w.WriteHeader(http.StatusCreated)
				io.WriteString(w, r.PathValue("shop"))
			})))
			mux.Handle("GET /jobs/{id}", l.Job())
			return mux
		},
		"chi": func(l *idempotency.Layer, runs *int) http.Handler {
			r := chi.NewRouter()
			r.With(l.Wrap).Post("/orders/{shop}", func(w http.ResponseWriter, r *http.Request) {
				*runs++
				w.WriteHeader(http.StatusCreated)
				io.WriteString(w, chi.URLParam(r, "shop"))
			})
			r.Method(http.MethodGet, "/jobs/{id}", l.Job()) // chi sets the path values too
			return r
		},
		// gin keeps a writer of its own: it is made anew inside of the layer.
		"gin": func(l *idempotency.Layer, runs *int) http.Handler {
			inner := gin.New()
			inner.POST("/orders/:shop", func(c *gin.Context) {
				*runs++
				c.String(http.StatusCreated, c.Param("shop"))
			})
			outer := gin.New()
			outer.POST("/orders/*any", gin.WrapH(l.Wrap(inner)))
			outer.GET("/jobs/:id", func(c *gin.Context) {
				c.Request.SetPathValue("id", c.Param("id"))
				l.Job().ServeHTTP(c.Writer, c.Request)
			})
			return outer
		},
		"echo": func(l *idempotency.Layer, runs *int) http.Handler {
			e := echo.New()
			e.POST("/orders/:shop", func(c echo.Context) error {
				*runs++
				if c.Param("shop") == "closed" {
					return echo.NewHTTPError(http.StatusPaymentRequired, "closed")
				}
				return c.String(http.StatusCreated, c.Param("shop"))
			})
			e.GET("/jobs/:id", func(c echo.Context) error {
				c.Request().SetPathValue("id", c.Param("id"))
				l.Job().ServeHTTP(c.Response(), c.Request())
				return nil
			})
			// Not as echo's middleware: echo writes what a handler returns as an error
			// only after that, and the layer would have stored an empty 200.
			return l.Wrap(e)
		},
	}
	for name, router := range routers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := onejobtest.New(t, nil)
			l, err := idempotency.New(env.Jobs, idempotency.Options{
				Kind: "order", Owner: func(*http.Request) (string, error) { return "user-7", nil },
			})
			require.NoError(t, err)
			runs := 0
			s := httptest.NewServer(router(l, &runs))
			t.Cleanup(s.Close)
			sendKey := func(method, path, key string) (*http.Response, string) {
				req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(`{"item":"pen"}`))
				require.NoError(t, err)
				req.Header.Set("Content-Type", "application/json")
				req.Header.Set("Idempotency-Key", key)
				resp, err := http.DefaultClient.Do(req)
				require.NoError(t, err)
				defer resp.Body.Close()
				text, err := io.ReadAll(resp.Body)
				require.NoError(t, err)
				return resp, string(text)
			}
			send := func(method, path string) (*http.Response, string) { return sendKey(method, path, "k") }
			for i := range 3 {
				resp, text := send(http.MethodPost, "/orders/paris")
				require.Equal(t, http.StatusCreated, resp.StatusCode, text)
				require.Equal(t, "paris", text)
				require.Equal(t, i > 0, resp.Header.Get("Idempotent-Replayed") == "true")
			}
			require.Equal(t, 1, runs)
			if name == "echo" {
				for i := range 2 {
					resp, text := sendKey(http.MethodPost, "/orders/closed", "closed")
					require.Equal(t, http.StatusPaymentRequired, resp.StatusCode, text)
					require.Contains(t, text, "closed")
					require.Equal(t, i > 0, resp.Header.Get("Idempotent-Replayed") == "true")
				}
			}
			resp, _ := send(http.MethodPost, "/orders/rome")
			require.Equal(t, http.StatusConflict, resp.StatusCode, "the path is part of the intent")
			job, err := env.Jobs.GetByKey(t.Context(), "user-7", "k")
			require.NoError(t, err)
			require.Equal(t, onejob.StatusCompleted, job.Status())
			resp, text := send(http.MethodGet, "/jobs/"+string(job.ID))
			require.Equal(t, http.StatusOK, resp.StatusCode)
			require.Contains(t, text, string(job.ID))
		})
	}
}
