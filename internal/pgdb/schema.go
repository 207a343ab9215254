package pgdb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5/pgconn"
)

// Schema is the tables of one part of the program. They are in a schema of their own in the database, in which the table "migration" has
// their version.
type Schema struct {
	// Name is the name of the schema in the database.
	Name string
	// Files has the migrations, SQL files in a folder "migration". In the order of their names they lead to versions 1, 2 and so on. They
	// qualify all names with the schema's name. A released file is never changed.
	Files fs.FS
}

// lockKey is the advisory lock under which migrations of all schemas run: "treeline" in ASCII.
const lockKey = 0x747265656c696e65

// files returns the migrations. The version that this program works with is their number.
func (s Schema) files() ([]string, error) { return fs.Glob(s.Files, "migration/*.sql") }

// ready reports whether the database has the tables. For a write it makes them, or brings them up to date.
func (s Schema) ready(ctx context.Context, c *conn, write bool) (there bool, err error) {
	files, err := s.files()
	if err != nil {
		return false, err
	}
	version, err := s.version(ctx, c)
	switch newest := len(files); {
	case err != nil:
		return false, err
	case version > newest:
		return false, fmt.Errorf("%w: %s has version %d, this program knows %d; use a newer program", ErrSchema, s.Name, version, newest)
	case version < newest && write:
		return true, s.migrate(ctx, c, files)
	case version < newest && version > 0:
		return false, fmt.Errorf("%w: %s has version %d, this program needs %d, and a reader does not change it; write something first",
			ErrSchema, s.Name, version, newest)
	}
	return version > 0, nil
}

// table returns the name of the table of versions, quoted.
func (s Schema) table() string { return Identifier{s.Name, "migration"}.Sanitize() }

// version returns the version of the tables in the database, 0 if there are none.
func (s Schema) version(ctx context.Context, c *conn) (version int, err error) {
	err = c.plainly(ctx, "select coalesce(max(version), 0) from "+s.table()).Scan(&version)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && (pg.Code == "42P01" || pg.Code == "3F000") { // no such table, no such schema
		return 0, nil
	}
	return version, err
}

// migrate brings the tables up to date, each step in a transaction of its own. Because of the lock other programs wait, and then find
// nothing left to do.
func (s Schema) migrate(ctx context.Context, c *conn, files []string) error {
	for i, file := range files {
		sql, err := fs.ReadFile(s.Files, file)
		if err == nil {
			err = s.step(ctx, c, i+1, string(sql))
		}
		if err != nil {
			return fmt.Errorf("making version %d of the schema %s: %w", i+1, s.Name, err)
		}
	}
	return nil
}

// step makes one version, unless it exists.
func (s Schema) step(ctx context.Context, c *conn, version int, sql string) error {
	if _, err := c.exec(ctx, "begin"); err != nil {
		return err
	}
	tx := &Tx{c: c, release: func() {}}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // nothing to do after the commit
	if _, err := c.exec(ctx, fmt.Sprintf("select pg_advisory_xact_lock(%d)", int64(lockKey))); err != nil {
		return err
	}
	// The schema may have been made by the owner of the database, for a user without the right to make one.
	var made bool
	if err := c.plainly(ctx, "select exists (select from pg_namespace where nspname = $1)", s.Name).Scan(&made); err != nil {
		return err
	}
	if !made {
		if _, err := c.exec(ctx, "create schema "+Identifier{s.Name}.Sanitize()); err != nil {
			return err
		}
	}
	if _, err := c.exec(ctx, "create table if not exists "+s.table()+" (version integer primary key, applied timestamptz not null)"); err != nil {
		return err
	}
	var have int
	if err := c.plainly(ctx, "select coalesce(max(version), 0) from "+s.table()).Scan(&have); err != nil {
		return err
	}
	if have >= version {
		return nil
	}
	if _, err := c.exec(ctx, sql); err != nil { // several statements
		return err
	}
	if _, err := c.exec(ctx, fmt.Sprintf("insert into %s values (%d, now())", s.table(), version)); err != nil {
		return err
	}
	return tx.Commit(ctx)
}
