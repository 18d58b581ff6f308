package upgrade_test

import (
	"archive/zip"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// release is a kept one.
type release struct {
	name    string
	archive string
	once    sync.Once
	binary  string
	err     error
}

// releases are made by scripts/keep-release.
var releases = func() (list []*release) {
	archives, _ := filepath.Glob("../../testdata/releases/*.zip")
	for _, a := range archives {
		list = append(list, &release{name: strings.TrimSuffix(filepath.Base(a), ".zip"), archive: a})
	}
	return list
}()

// workshop is where the old programs are built. TestMain removes it.
var workshop string

// onEachRelease runs the test for each release that is kept.
func onEachRelease(t *testing.T, run func(t *testing.T, r *release)) {
	t.Helper()
	require.NotEmpty(t, releases, "no release is kept in testdata/releases")
	for _, r := range releases {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			run(t, r)
		})
	}
}

// program returns the path of the release's program: its library, its kit and
// the worker.
func (r *release) program(t *testing.T) string {
	t.Helper()
	r.once.Do(func() { r.binary, r.err = r.build() })
	require.NoError(t, r.err)
	return r.binary
}

func (r *release) build() (string, error) {
	dir := filepath.Join(workshop, r.name)
	if err := unzip(r.archive, dir); err != nil {
		return "", err
	}
	own := filepath.Join(dir, "internal", "upgrade")
	for to, from := range map[string]string{"worker": "worker", "kit": "testdata/old"} {
		if err := os.CopyFS(filepath.Join(own, to), os.DirFS(from)); err != nil {
			return "", err
		}
	}
	binary := filepath.Join(workshop, r.name+".test")
	cmd := exec.Command("go", "test", "-c", "-mod=mod", "-vet=off", "-o", binary, "./internal/upgrade/kit")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", &buildError{r.name, err, out}
	}
	return binary, nil
}

type buildError struct {
	name string
	err  error
	out  []byte
}

func (e *buildError) Error() string {
	return "the kept release " + e.name + " does not build: " + e.err.Error() + "\n" + string(e.out) +
		"\nIf modules are missing and there is no network, download them where there is one. " +
		"If the worker uses what that release lacks, give it up, or the release: docs/releasing.md."
}

func unzip(archive, dir string) error {
	r, err := zip.OpenReader(archive)
	if err != nil {
		return err
	}
	defer r.Close()
	for _, f := range r.File {
		to := filepath.Join(dir, filepath.FromSlash(path.Clean("/"+f.Name)))
		if f.FileInfo().IsDir() {
			continue
		}
		if err := extract(f, to); err != nil {
			return err
		}
	}
	return nil
}

func extract(f *zip.File, to string) error {
	from, err := f.Open()
	if err != nil {
		return err
	}
	defer from.Close()
	raw, err := io.ReadAll(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o700)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(to, raw, 0o600)
}
