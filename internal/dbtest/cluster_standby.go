package dbtest

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// Standby makes a copy of the cluster, on a port of its own and with the same
// settings, starts it as a hot standby and waits until it streams. name is its
// application_name.
func (c *Cluster) Standby(name string) (*Cluster, error) {
	dir, err := os.MkdirTemp("", "onejob-postgres-")
	if err != nil {
		return nil, err
	}
	s := &Cluster{dir: dir, bin: c.bin, cred: c.cred}
	if c.cred != nil {
		err = os.Chown(dir, int(c.cred.Uid), int(c.cred.Gid))
	}
	if err == nil {
		err = s.run("pg_basebackup", "-D", s.data(), "-R", "-X", "stream", "-c", "fast", "--no-sync",
			"-d", fmt.Sprintf("host=127.0.0.1 port=%d user=onejob application_name=%s", c.Port, name))
	}
	if err == nil {
		s.Port, err = freePort()
	}
	if err == nil {
		s.args = append([]string{"-D", s.data(), "-p", strconv.Itoa(s.Port), "-k", dir}, c.args[6:]...)
		err = s.Boot()
	}
	if err == nil {
		if err = c.Await("SELECT count(*) = 1 FROM pg_stat_replication WHERE state = 'streaming' AND application_name = $1", name); err != nil {
			_ = s.Stop()
		}
	}
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return s, nil
}

// Promote makes a standby the primary. The old one must be dead.
func (c *Cluster) Promote() error {
	return c.Await("SELECT pg_promote(true, 60)")
}

// Set changes settings of the running server, each given as a name and a value.
// A standby made later begins with them.
func (c *Cluster) Set(settings ...string) error {
	db, err := sql.Open("postgres", c.DSN("postgres"))
	if err != nil {
		return err
	}
	defer db.Close()
	for pair := range slices.Chunk(settings, 2) {
		if _, err := db.Exec("ALTER SYSTEM SET " + pair[0] + " = '" + pair[1] + "'"); err != nil {
			return err
		}
	}
	_, err = db.Exec("SELECT pg_reload_conf()")
	return err
}

// Await asks the server until the query's answer is true.
func (c *Cluster) Await(query string, args ...any) error {
	db, err := sql.Open("postgres", c.DSN("postgres"))
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
	defer cancel()
	for {
		var yes bool
		if err = db.QueryRowContext(ctx, query, args...).Scan(&yes); err == nil && yes {
			return nil
		}
		select {
		case <-ctx.Done():
			text, _ := os.ReadFile(filepath.Join(c.dir, "server.log"))
			return fmt.Errorf("dbtest: waited in vain for %s %v: %w\n%s", query, args, err, text)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
