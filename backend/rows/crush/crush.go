// Package crush keeps Crush's sessions in Crush's own databases.
//
// Each project has a database, crush.db in the folder .crush of the project or in another one: a row of sessions, and rows of messages, which
// are ordered by time and insertion. The program changes rows while an answer streams. Package rows has the form of a log.
//
// The columns of a session that triggers change are not shown: the number of messages and the time of the last change.
//
// The program has a registry of all projects. Projects shows them together, and adds to the first record of a log the directory
// of its project, which is in no table.
package crush

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/rows"
	"github.com/treeline-dev/treeline/internal/durable"
)

// Tables returns the schema of the program.
func Tables() rows.Tables {
	return rows.Tables{
		Agent: "Crush",
		Session: rows.Table{
			Name: "sessions", ID: "id", Updated: "updated_at", Unit: time.Second, Hidden: []string{"message_count", "updated_at"},
		},
		Message: rows.Table{
			Name: "messages", ID: "id", Session: "session_id", Order: []string{"created_at", "rowid"},
			JSON: []string{"parts"}, Updated: "updated_at", Unit: time.Second,
		},
		Migrations: `SELECT CAST(version_id AS TEXT) FROM goose_db_version WHERE is_applied`,
		Known: []string{"0", "20250424200609", "20250515105448", "20250624000000", "20250627000000", "20250810000000", "20250812000000",
			"20260127000000"},
		Complete: complete,
		Lock:     lock,
	}
}

// complete gives a new session the time of its last change. A trigger changes it later.
func complete(_ context.Context, _ *sql.Tx, session rows.Values) (rows.Values, error) {
	return rows.Values{{Column: "updated_at", Value: session.Get("created_at")}}, nil
}

// lock takes the lock file beside a database, if the program has made one.
func lock(_ context.Context, database string) (release func() error, err error) {
	path := filepath.Join(filepath.Dir(database), "crush.lock")
	f, err := durable.OS{}.Open(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return func() error { return nil }, nil
	}
	if err != nil {
		return nil, err
	}
	switch ok, err := f.TryLock(); {
	case err != nil:
		return nil, errors.Join(err, f.Close())
	case !ok:
		return nil, errors.Join(fmt.Errorf("%s: %w: Crush is running in the project", path, backend.ErrLocked), f.Close())
	}
	return f.Close, nil
}

// Driver opens the folder of the registry, a project below it, or one database.
func Driver() backend.Driver {
	return backend.Driver{Name: "crush", Claims: claims, Open: func(root string, opt backend.OpenOptions) (backend.Backend, error) {
		return rows.New(newProjects(root), ".jsonl", opt.ReadOnly), nil
	}}
}

// claims reports whether a path is that of a database, of the registry's folder, or of a project below it. A folder of that name that does
// not exist is the program's, so that no log becomes a file there.
func claims(path string) bool {
	if filepath.Base(path) == database {
		return true
	}
	if _, ok := directory(filepath.Base(path)); ok {
		path = filepath.Dir(path)
	}
	if filepath.Base(path) != "crush" {
		return false
	}
	info, err := os.Stat(filepath.Join(path, registry))
	if errors.Is(err, fs.ErrNotExist) {
		_, err = os.Stat(path)
		_, below := directory(filepath.Base(filepath.Dir(path)))
		return errors.Is(err, fs.ErrNotExist) && !below
	}
	return err == nil && info.Mode().IsRegular()
}
