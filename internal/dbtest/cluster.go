// Package dbtest gives tests real databases: a temporary PostgreSQL cluster,
// run as a user other than root, and SQLite files. It checks the invariants of
// every database when its test ends.
package dbtest

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	_ "github.com/lib/pq" // the driver the tests use
)

// Cluster is a PostgreSQL server of our own on a free port of the loopback.
type Cluster struct {
	Port int
	dir  string
	bin  string
	args []string
	cred *syscall.Credential
	cmd  *exec.Cmd
	done chan error
}

// ErrMissing says how to get PostgreSQL.
var ErrMissing = errors.New("PostgreSQL's server programs (initdb, postgres) were not found. " +
	"Install them (Debian: apt-get install postgresql; macOS: brew install postgresql), run 'make test', " +
	"which does so where it may, set ONEJOB_TEST_PGBIN to their directory, " +
	"or set ONEJOB_TEST_POSTGRES to the address of a server on which databases may be created")

// errPortTaken: somebody else has the port, perhaps only for the life of an
// outgoing connection.
var errPortTaken = errors.New("dbtest: the port is taken")

// Start makes a cluster and starts it. Each setting is given as "name=value".
func Start(settings ...string) (*Cluster, error) { return startOn(freePort, settings...) }

func startOn(ports func() (int, error), settings ...string) (*Cluster, error) {
	bin, err := findBin()
	if err != nil {
		return nil, err
	}
	cred, err := serverUser()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "onejob-postgres-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{dir: dir, bin: bin, cred: cred}
	if cred != nil {
		err = os.Chown(dir, int(cred.Uid), int(cred.Gid))
	}
	if err == nil {
		err = c.run("initdb", "-D", c.data(), "-U", "onejob", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	}
	if err == nil {
		err = c.first(ports, settings)
	}
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return c, nil
}

// first starts the server for the first time. A free port may be taken by the
// time the server asks for it: then it gets another.
func (c *Cluster) first(ports func() (int, error), settings []string) error {
	for tries := 10; ; tries-- {
		var err error
		if c.Port, err = ports(); err != nil {
			return err
		}
		c.args = []string{"-D", c.data(), "-p", strconv.Itoa(c.Port), "-k", c.dir}
		for _, s := range append([]string{"listen_addresses=127.0.0.1", "max_connections=400"}, settings...) {
			c.args = append(c.args, "-c", s)
		}
		if err = c.boot(patience); !errors.Is(err, errPortTaken) || tries == 1 {
			return err
		}
	}
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

// DSN returns the address of a database of the cluster.
func (c *Cluster) DSN(database string) string {
	return fmt.Sprintf("postgres://onejob@127.0.0.1:%d/%s?sslmode=disable", c.Port, database)
}

// run runs one of the server's programs as its user.
func (c *Cluster) run(name string, args ...string) error {
	cmd := exec.Command(filepath.Join(c.bin, name), args...)
	var out bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.dir, &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.cred}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("dbtest: %s: %w\n%s", name, err, out.String())
	}
	return nil
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// serverUser returns whom to run the server as: nil means ourselves. It refuses
// to be root.
func serverUser() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, errors.New("dbtest: PostgreSQL does not run as root, and there is no user postgres or nobody")
}

// findBin looks where the server's programs usually are, newest version first.
func findBin() (string, error) {
	var dirs []string
	if dir := os.Getenv("ONEJOB_TEST_PGBIN"); dir != "" {
		dirs = append(dirs, dir)
	}
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin",
		"/opt/homebrew/opt/postgresql*/bin", "/usr/local/opt/postgresql*/bin",
	} {
		found, _ := filepath.Glob(pattern)
		slices.Sort(found)
		slices.Reverse(found)
		dirs = append(dirs, found...)
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		dirs = append(dirs, filepath.Dir(path))
	}
	for _, dir := range dirs {
		if isFile(filepath.Join(dir, "initdb")) && isFile(filepath.Join(dir, "postgres")) {
			return dir, nil
		}
	}
	return "", ErrMissing
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}
