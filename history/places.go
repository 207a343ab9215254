package history

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"time"

	"github.com/treeline-dev/treeline/internal/litefile"
	"github.com/treeline-dev/treeline/session"
)

// Places knows in which sessions prompts were used. It is a database of its own in the cache, since the schema of a history belongs to
// oh-my-pi, and it is made again whenever it is damaged. It holds hashes of prompts and no texts.
type Places struct {
	db   *litefile.DB
	anew string // why the file was begun anew, or could not be read; otherwise ""
}

// Place is where a prompt was used.
type Place struct {
	Path    string // the session's file
	Dialect string
	Session session.ID
	Entry   session.EntryID
	CWD     string
	At      time.Time
}

// sessionUses are the prompts of one session.
type sessionUses struct {
	Path string
	// Stamp changes with the content of the file.
	Stamp   string
	Dialect string
	Session session.ID
	CWD     string
	List    []use
}

// use is a prompt in a session.
type use struct {
	Key   promptKey
	Entry session.EntryID
	At    time.Time
}

// placesVersion is the version of the tables. A file of another version is replaced.
const placesVersion = 1

const placesSchema = `CREATE TABLE IF NOT EXISTS files (
	id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, stamp TEXT NOT NULL, dialect TEXT NOT NULL, session TEXT NOT NULL, cwd TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS uses (
	key BLOB NOT NULL, file INTEGER NOT NULL, entry TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (key, file, entry)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS uses_file ON uses(file);
CREATE TABLE IF NOT EXISTS belongs (history TEXT NOT NULL, last INTEGER NOT NULL);
PRAGMA user_version = 1;`

// openPlaces opens the file, or creates it. If it is damaged or of another version, it is removed first. The path "" means memory.
func openPlaces(ctx context.Context, path string, opt dbOptions) (*Places, error) {
	opt.fill()
	if path == "" {
		db, err := litefile.Memory()
		if err != nil {
			return nil, err
		}
		return preparePlaces(ctx, &Places{db: db})
	}
	p, err := createPlaces(ctx, path, opt)
	if err == nil || !litefile.IsCorrupt(err) && !errors.Is(err, ErrForeign) {
		return p, err
	}
	anew := err.Error()
	// Another process that has it open continues with an unlinked file; what it records there is collected again.
	if err := removeDB(path, opt); err != nil {
		return nil, err
	}
	if p, err = createPlaces(ctx, path, opt); err == nil {
		p.anew = anew
	}
	return p, err
}

// readPlaces opens the file for reading, and changes nothing. If it is missing, unreadable or empty, the places are empty and in memory,
// and anew is the reason.
func readPlaces(ctx context.Context, path string, opt dbOptions) (*Places, error) {
	opt.fill()
	why := "nothing was collected yet"
	if info, err := opt.FS.Stat(path); err == nil && info.Size > 0 {
		// Share instead of Read: in our own cache SQLite may leave files beside it.
		db, err := litefile.Share(path, opt.Busy)
		if err != nil {
			return nil, err
		}
		var (
			version int
			filled  bool
		)
		// Sessions without prompts count. The table of uses is only checked for being readable.
		err = db.QueryRowContext(ctx, `SELECT user_version, EXISTS (SELECT 1 FROM files) AND EXISTS (SELECT 1 FROM uses) >= 0
			FROM pragma_user_version`).Scan(&version, &filled)
		switch {
		case err != nil:
			why = err.Error()
		case version != placesVersion:
			why = ErrForeign.Error()
		case filled:
			return &Places{db: db}, nil
		}
		_ = db.Close() // nothing was read
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	p, err := openPlaces(ctx, "", opt)
	if err == nil {
		p.anew = why
	}
	return p, err
}

func createPlaces(ctx context.Context, path string, opt dbOptions) (*Places, error) {
	db, err := litefile.Write(opt.FS, path, litefile.Writing{Busy: opt.Busy})
	if err != nil {
		return nil, err
	}
	return preparePlaces(ctx, &Places{db: db})
}

// preparePlaces creates the tables in an empty file and refuses one of another version, in one transaction, since two processes
// may begin at the same time. It closes the database after an error.
func preparePlaces(ctx context.Context, p *Places) (*Places, error) {
	err := p.db.Transact(ctx, func(tx *sql.Tx) error {
		var version, tables int
		err := tx.QueryRowContext(ctx, `SELECT (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_master)`).Scan(&version, &tables)
		switch {
		case err != nil:
			return err
		case tables == 0:
			_, err = tx.ExecContext(ctx, placesSchema)
			return err
		case version != placesVersion:
			return ErrForeign
		}
		return nil
	})
	if err != nil {
		_ = p.db.Close() // the first error says more
		return nil, err
	}
	return p, nil
}

// Close closes the file.
func (p *Places) Close() error { return p.db.Close() }

// stamps returns the stamps of the known sessions, by path.
func (p *Places) stamps(ctx context.Context) (map[string]string, error) {
	known := map[string]string{}
	err := each(ctx, p.db, func(rows *sql.Rows) error {
		var path, stamp string
		err := rows.Scan(&path, &stamp)
		known[path] = stamp
		return err
	}, `SELECT path, stamp FROM files`)
	return known, err
}

// bind records which history the places belong to, by its file and the last row that it ever had. If it was another history before, all
// stamps are forgotten, since the prompts of those sessions are not in this history. A file that was made anew can have the same identity,
// but then it has had fewer rows.
func (p *Places) bind(ctx context.Context, file string, last int64) error {
	return p.db.Transact(ctx, func(tx *sql.Tx) error {
		var (
			before string
			had    int64
		)
		err := tx.QueryRowContext(ctx, `SELECT history, last FROM belongs`).Scan(&before, &had)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if before != file || last < had {
			if _, err := tx.ExecContext(ctx, `UPDATE files SET stamp = ''`); err != nil {
				return err
			}
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM belongs; INSERT INTO belongs (history, last) VALUES (?, ?)`, file, last)
		return err
	})
}

// put replaces what is known of some sessions and forgets others, in one transaction.
func (p *Places) put(ctx context.Context, list []sessionUses, forget []string) error {
	return p.db.Transact(ctx, func(tx *sql.Tx) error {
		for _, path := range forget {
			if err := forgetFile(ctx, tx, path); err != nil {
				return err
			}
		}
		for i := range list {
			if err := putUses(ctx, tx, &list[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func forgetFile(ctx context.Context, tx *sql.Tx, path string) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM uses WHERE file = (SELECT id FROM files WHERE path = ?)`, path); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `DELETE FROM files WHERE path = ?`, path)
	return err
}

// putUses replaces what is known of one session.
func putUses(ctx context.Context, tx *sql.Tx, u *sessionUses) error {
	if err := forgetFile(ctx, tx, u.Path); err != nil {
		return err
	}
	r, err := tx.ExecContext(ctx, `INSERT INTO files (path, stamp, dialect, session, cwd) VALUES (?, ?, ?, ?, ?)`,
		u.Path, u.Stamp, u.Dialect, string(u.Session), u.CWD)
	if err != nil {
		return err
	}
	file, err := r.LastInsertId()
	if err != nil {
		return err
	}
	for _, use := range u.List {
		// If a session has an id twice, the last entry counts.
		if _, err := tx.ExecContext(ctx, `INSERT OR REPLACE INTO uses (key, file, entry, at) VALUES (?, ?, ?, ?)`,
			use.Key[:], file, string(use.Entry), use.At.Unix()); err != nil {
			return err
		}
	}
	return nil
}

// Of returns at most limit places where a prompt was used, the last one first.
func (p *Places) Of(ctx context.Context, prompt string, limit int) ([]Place, error) {
	k := keyOf(prompt)
	var list []Place
	err := each(ctx, p.db, func(rows *sql.Rows) error {
		var at int64
		var l Place
		err := rows.Scan(&l.Path, &l.Dialect, &l.Session, &l.Entry, &l.CWD, &at)
		l.At = time.Unix(at, 0)
		list = append(list, l)
		return err
	}, `SELECT f.path, f.dialect, f.session, u.entry, f.cwd, u.at FROM uses u JOIN files f ON f.id = u.file
		WHERE u.key = ? ORDER BY u.at DESC, f.path, u.entry LIMIT ?`, k[:], limit)
	return list, err
}

// In returns a function that reports whether a prompt was ever used in a working directory. It is for Query.Also.
func (p *Places) In(ctx context.Context, cwd string) (func(Prompt) bool, error) {
	keys := map[promptKey]bool{}
	err := each(ctx, p.db, func(rows *sql.Rows) error {
		var b []byte
		err := rows.Scan(&b)
		// SQLite stores any value in any column.
		if len(b) == len(promptKey{}) {
			keys[promptKey(b)] = true
		}
		return err
	}, `SELECT DISTINCT u.key FROM files f JOIN uses u ON u.file = f.id WHERE f.cwd = ?`, cwd)
	return func(prompt Prompt) bool { return keys[keyOf(prompt.Text)] }, err
}

// OpenPlaces opens the uses of prompts that imports recorded. They are a cache: if there is a history and they are missing or damaged, the
// sessions are read again (see Progress), and the history stays as it is. If they cannot be kept on disk, they are in memory, and Notice is
// called. Without a history there are none.
func OpenPlaces(ctx context.Context, opt Options) (*Places, error) {
	f, err := opt.files()
	if err != nil {
		return nil, err
	}
	p, err := readPlaces(ctx, f.places, dbOptions{})
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(f.db); err != nil || p.anew == "" {
		return p, nil
	}
	if err := p.Close(); err != nil {
		return nil, err
	}
	return collectPlaces(ctx, opt, f)
}

// collectPlaces reads all sessions, and keeps all of the result or nothing.
func collectPlaces(ctx context.Context, opt Options, f files) (*Places, error) {
	if opt.Sessions == nil {
		return nil, errNoSessions
	}
	f.own = true // the cache is ours, and the same for every history
	i := importing{opt: opt, files: f}
	var err error
	if i.places, err = i.openPlaces(ctx); err != nil {
		return nil, err
	}
	err = i.run(ctx)
	if err == nil {
		return i.places, nil
	}
	_ = i.places.Close() // the first error says more
	if ctx.Err() != nil {
		return nil, err
	}
	// The disk is full, or the cache has deeper damage. Memory is enough for an answer.
	opt.notice("where prompts were used cannot be saved: %v", err)
	i.prompts, i.uses, i.bytes = nil, nil, 0
	if i.places, err = i.placesAt(ctx, ""); err != nil {
		return nil, err
	}
	if err = i.run(ctx); err != nil {
		return nil, errors.Join(err, i.places.Close())
	}
	return i.places, nil
}
