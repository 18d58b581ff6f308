package onejob

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/onejob-go/onejob/schema"
)

// migration is one numbered file, its names written out.
type migration struct {
	version  int
	name     string // without ending, such as "0001_jobs"
	text     string // both ways, as goose reads them
	up, down string
}

// migrations renders the files of a database, in order.
func migrations(database string, names *strings.Replacer) []migration {
	files, err := fs.Glob(schema.FS, database+"/*.sql")
	if err != nil || len(files) == 0 {
		panic("onejob: no migrations are embedded for " + database)
	}
	list := make([]migration, len(files)) // Glob sorts
	for i, file := range files {
		raw, err := fs.ReadFile(schema.FS, file)
		if err != nil {
			panic(err)
		}
		text := names.Replace(string(raw))
		up, down, _ := strings.Cut(text, "-- +goose Down\n")
		name := strings.TrimSuffix(path.Base(file), ".sql")
		version, err := strconv.Atoi(name[:4])
		if err != nil || version != i+1 {
			panic("onejob: migrations must be numbered from 1: " + file)
		}
		list[i] = migration{version, name, text, strings.TrimPrefix(up, "-- +goose Up\n"), down}
	}
	return list
}

// steps returns the statements that lead from one version to another, down
// when to is the lower.
func steps(list []migration, from, to int) []string {
	var text strings.Builder
	for _, m := range list {
		if m.version > from && m.version <= to {
			text.WriteString(m.up)
		}
	}
	for i := len(list) - 1; i >= 0; i-- {
		if m := list[i]; m.version <= from && m.version > to {
			text.WriteString(m.down)
		}
	}
	var all []string
	for _, s := range strings.Split(text.String(), ";\n") {
		if s = strings.TrimSpace(s); s != "" {
			all = append(all, s)
		}
	}
	return all
}

// migrationFS offers the files to the common tools: goose/*.sql holds both
// ways in one file, migrate/*.up.sql and *.down.sql are what golang-migrate
// reads.
func migrationFS(list []migration) fs.FS {
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for _, m := range list {
		for name, text := range map[string]string{
			"goose/" + m.name + ".sql":        m.text,
			"migrate/" + m.name + ".up.sql":   m.up,
			"migrate/" + m.name + ".down.sql": m.down,
		} {
			f, err := w.CreateHeader(&zip.FileHeader{Name: name})
			if err == nil {
				_, err = f.Write([]byte(text))
			}
			if err != nil {
				panic(err) // a buffer does not fail
			}
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	r, err := zip.NewReader(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		panic(err)
	}
	return r
}

func checkTarget(list []migration, version int) error {
	if version < 0 || version > len(list) {
		return invalid("version", "must be from 0 to "+strconv.Itoa(len(list)))
	}
	return nil
}
