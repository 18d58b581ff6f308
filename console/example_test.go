package console_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite"

	"github.com/onejob-go/onejob"
	"github.com/onejob-go/onejob/console"
)

// The console is mounted behind the host's own login, which says who decides.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "console")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := onejob.OpenSQLite(ctx, filepath.Join(dir, "jobs.db"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	if err := store.Migrate(ctx); err != nil {
		log.Fatal(err)
	}
	jobs := onejob.New(store, nil) // with the OnComplete of the processes that serve

	c, err := console.New(jobs, &console.Options{
		By: func(r *http.Request) string { name, _, _ := r.BasicAuth(); return name },
	})
	if err != nil {
		log.Fatal(err)
	}
	login := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, password, _ := r.BasicAuth(); password != "secret" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
	mux := http.NewServeMux()
	mux.Handle("/onejob/", login(http.StripPrefix("/onejob", c)))

	for _, password := range []string{"", "secret"} {
		r := httptest.NewRequest(http.MethodGet, "/onejob/attempts", nil)
		r.SetBasicAuth("ada", password)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		fmt.Println(w.Code)
	}
	// Output:
	// 401
	// 200
}
