package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// ErrSchema: the tables in the database are of a version that this program does not work with. Nothing was changed.
var ErrSchema = errors.New("the schema of the database has another version")

// migrations are SQL files. The number that a name begins with is the version that the file leads to. A file that was released
// is never changed.
//
//go:embed migration/*.sql
var migrations embed.FS

// newest is the version that this program works with.
const newest = 1

// lockKey is the advisory lock under which migrations run: "treeline" in ASCII.
const lockKey = 0x747265656c696e65

// schemaVersion is the version of the tables in the database, 0 if there are none.
func schemaVersion(ctx context.Context, c *pgx.Conn) (version int, err error) {
	err = c.QueryRow(ctx, "select coalesce(max(version), 0) from treeline.migration", pgx.QueryExecModeExec).Scan(&version)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && (pg.Code == "42P01" || pg.Code == "3F000") { // no such table, no such schema
		return 0, nil
	}
	if version > newest {
		err = fmt.Errorf("%w: the database has version %d, this program knows %d; use a newer program", ErrSchema, version, newest)
	}
	return version, err
}

// migrate brings the tables to a version, each step in a transaction of its own. The lock makes other programs wait, which
// then find nothing left to do.
func migrate(ctx context.Context, c *pgx.Conn, to int) (version int, err error) {
	files, err := fs.Glob(migrations, "migration/*.sql")
	if err != nil {
		return 0, err
	}
	for i := range files[:to] {
		sql, err := fs.ReadFile(migrations, files[i])
		if err != nil {
			return 0, err
		}
		if err := step(ctx, c, i+1, string(sql)); err != nil {
			return 0, fmt.Errorf("making version %d of the schema: %w", i+1, err)
		}
	}
	return to, nil
}

// step makes one version, unless it is there.
func step(ctx context.Context, c *pgx.Conn, version int, sql string) error {
	tx, err := c.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // nothing to do after the commit
	if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock($1)", pgx.QueryExecModeExec, int64(lockKey)); err != nil {
		return err
	}
	// The schema may have been made by the owner of the database, for a user without the right to make one.
	const first = `do $$ begin
		if to_regnamespace('treeline') is null then create schema treeline; end if;
		create table if not exists treeline.migration (version integer primary key, applied timestamptz not null);
	end $$`
	if _, err := tx.Exec(ctx, first, pgx.QueryExecModeExec); err != nil {
		return err
	}
	var have int
	if err := tx.QueryRow(ctx, "select coalesce(max(version), 0) from treeline.migration", pgx.QueryExecModeExec).Scan(&have); err != nil {
		return err
	}
	if have >= version {
		return nil
	}
	if _, err := tx.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol); err != nil { // several statements
		return err
	}
	if _, err := tx.Exec(ctx, "insert into treeline.migration values ($1, now())", pgx.QueryExecModeExec, version); err != nil {
		return err
	}
	return tx.Commit(ctx)
}
