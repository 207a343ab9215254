// Package started makes the databases of agents as they are after the first start of the agent: with tables and without sessions. treeline
// itself never makes such a database; the demo and the tests need them.
package started

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/litefile"
)

// madeOnce makes a database with tables. An existing one stays.
func madeOnce(path, tables string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	return transact(path, func(tx *sql.Tx) error {
		_, err := tx.Exec(tables)
		return err
	})
}

// transact writes to a database in one transaction. It creates the database if it does not exist.
func transact(path string, write func(*sql.Tx) error) (err error) {
	db, err := litefile.Write(durable.OS{}, path, litefile.Writing{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	ctx := context.Background()
	if err := db.UseWAL(ctx, 0); err != nil {
		return err
	}
	return db.Transact(ctx, write)
}

// Changed sets the time at which a session was last changed, in the database of an agent.
func Changed(agent, path, id string, at time.Time) error {
	return transact(path, func(tx *sql.Tx) (err error) {
		switch agent {
		case "opencode":
			_, err = tx.Exec(`UPDATE session SET time_updated = ? WHERE id = ?`, at.UnixMilli(), id)
		case "goose":
			_, err = tx.Exec(`UPDATE sessions SET updated_at = ? WHERE id = ?`, at.UTC().Format(time.DateTime), id)
		case "crush": // Crush's trigger would set the machine's time
			if _, err = tx.Exec(`DROP TRIGGER update_sessions_updated_at`); err == nil {
				_, err = tx.Exec(`UPDATE sessions SET updated_at = ? WHERE id = ?`, at.Unix(), id)
			}
			if err == nil {
				_, err = tx.Exec(crushTrigger)
			}
		default:
			err = fmt.Errorf("%s keeps no such database", agent)
		}
		return err
	})
}

// Open keeps the database of an agent open, as the agent does while it runs: what others write stays in the write-ahead log until the
// result is closed. A write to the database itself would make each reader wait until the time of the file tells a further one.
func Open(path string) (io.Closer, error) {
	db, err := litefile.Write(durable.OS{}, path, litefile.Writing{})
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	conn, err := db.Conn(ctx)
	if err == nil {
		if _, err = conn.ExecContext(ctx, `BEGIN DEFERRED`); err == nil { // a reader: nothing is moved from the log while it reads
			_, err = conn.ExecContext(ctx, `SELECT count(*) FROM sqlite_schema`)
		}
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return closing(func() error {
		_, err := conn.ExecContext(ctx, `ROLLBACK`)
		return errors.Join(err, conn.Close(), db.Close())
	}), nil
}

// closing is what ends a use.
type closing func() error

// Close implements io.Closer.
func (c closing) Close() error { return c() }
