package history

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/treeline-dev/treeline/internal/litefile"
	"github.com/treeline-dev/treeline/session"
)

// Places knows in which sessions prompts were used. The table of the history has no room for it, and is not ours to
// change; so it has a file of its own, in a cache: whatever is wrong with it, it is begun anew. It holds no texts, only
// their keys.
type Places struct {
	path string
	db   *litefile.DB
	// anew is why it was begun anew; see Anew.
	anew string
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

// Uses are the prompts of one session.
type Uses struct {
	Path string
	// Stamp changes with the content of the file.
	Stamp   string
	Dialect string
	Session session.ID
	CWD     string
	List    []Use
}

// Use is a prompt in a session.
type Use struct {
	Key   Key
	Entry session.EntryID
	At    time.Time
}

// placesVersion is that of our tables. A file of another one is begun anew.
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

// OpenPlaces opens the file, or makes it. One that is damaged or of another version is removed and made again. With the
// path "" it is in memory.
func OpenPlaces(ctx context.Context, path string, opt Options) (*Places, error) {
	opt.fill()
	if path == "" {
		db, err := litefile.Memory()
		if err != nil {
			return nil, err
		}
		return preparePlaces(ctx, &Places{db: db})
	}
	p, err := openPlaces(ctx, path, opt)
	if err == nil || !litefile.IsCorrupt(err) && !errors.Is(err, ErrForeign) {
		return p, err
	}
	anew := err.Error()
	// Another process may have it open, and goes on with a file that has no name any more: what it takes down there is
	// collected again.
	if err := Remove(path, opt); err != nil {
		return nil, err
	}
	if p, err = openPlaces(ctx, path, opt); err == nil {
		p.anew = anew
	}
	return p, err
}

// ReadPlaces opens the file for reading, and changes nothing. Where there is none, none that can be read, or nothing in it
// yet, it gives places in memory, without any, and Anew says why.
func ReadPlaces(ctx context.Context, path string, opt Options) (*Places, error) {
	opt.fill()
	why := "nothing was collected yet"
	if info, err := opt.FS.Stat(path); err == nil && info.Size > 0 {
		// Share and not Read: the file lies in our cache, where what SQLite leaves beside it disturbs nobody.
		db, err := litefile.Share(path, opt.Busy)
		if err != nil {
			return nil, err
		}
		var (
			version int
			filled  bool
		)
		// Sessions in which nobody typed anything are something too. The other table is only looked at.
		err = db.QueryRowContext(ctx, `SELECT user_version, EXISTS (SELECT 1 FROM files) AND EXISTS (SELECT 1 FROM uses) >= 0
			FROM pragma_user_version`).Scan(&version, &filled)
		switch {
		case err != nil:
			why = err.Error()
		case version != placesVersion:
			why = ErrForeign.Error()
		case filled:
			return &Places{path: path, db: db}, nil
		}
		_ = db.Close() // nothing was read
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	p, err := OpenPlaces(ctx, "", opt)
	if err == nil {
		p.anew = why
	}
	return p, err
}

// Anew says why what the file had is not there: why it had to be begun anew, or could not be read; "" where neither is so.
func (p *Places) Anew() string { return p.anew }

func openPlaces(ctx context.Context, path string, opt Options) (*Places, error) {
	db, err := litefile.Write(opt.FS, path, litefile.Writing{Busy: opt.Busy})
	if err != nil {
		return nil, err
	}
	return preparePlaces(ctx, &Places{path: path, db: db})
}

// preparePlaces makes the tables in an empty file and refuses one of another version. In one transaction: two processes may
// begin at the same moment. It closes the database after an error.
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

// Stamps gives the sessions that are known, by their paths.
func (p *Places) Stamps(ctx context.Context) (map[string]string, error) {
	rows, err := p.db.QueryContext(ctx, `SELECT path, stamp FROM files`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	known := map[string]string{}
	for rows.Next() {
		var path, stamp string
		if err := rows.Scan(&path, &stamp); err != nil {
			return nil, err
		}
		known[path] = stamp
	}
	return known, rows.Err()
}

// Bind says which history the places belong to, by its file and the last row that it ever had. Where it was another
// before, no stamp is known any more: what was taken down for that one is not in this one. A file that is made anew may
// be taken for the one before it, but it has had fewer rows.
func (p *Places) Bind(ctx context.Context, file string, last int64) error {
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

// Put takes down what is used in sessions, in the place of what was known of them, and forgets others. All or nothing.
func (p *Places) Put(ctx context.Context, list []Uses, forget []string) error {
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

// putUses takes down one session, in the place of what was known of it.
func putUses(ctx context.Context, tx *sql.Tx, u *Uses) error {
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
		// A session may have an id twice; the last one counts there too.
		if _, err := tx.ExecContext(ctx, `INSERT OR REPLACE INTO uses (key, file, entry, at) VALUES (?, ?, ?, ?)`,
			use.Key[:], file, string(use.Entry), use.At.Unix()); err != nil {
			return err
		}
	}
	return nil
}

// Of gives the places where a prompt was used, the last one first, no more than limit.
func (p *Places) Of(ctx context.Context, k Key, limit int) ([]Place, error) {
	rows, err := p.db.QueryContext(ctx, `SELECT f.path, f.dialect, f.session, u.entry, f.cwd, u.at FROM uses u JOIN files f ON f.id = u.file
		WHERE u.key = ? ORDER BY u.at DESC, f.path, u.entry LIMIT ?`, k[:], limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []Place
	for rows.Next() {
		var (
			at int64
			l  Place
		)
		if err := rows.Scan(&l.Path, &l.Dialect, &l.Session, &l.Entry, &l.CWD, &at); err != nil {
			return nil, err
		}
		l.At = time.Unix(at, 0)
		list = append(list, l)
	}
	return list, rows.Err()
}

// In gives the prompts that were used in a working directory.
func (p *Places) In(ctx context.Context, cwd string) (map[Key]bool, error) {
	rows, err := p.db.QueryContext(ctx, `SELECT DISTINCT u.key FROM files f JOIN uses u ON u.file = f.id WHERE f.cwd = ?`, cwd)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	keys := map[Key]bool{}
	for rows.Next() {
		var b []byte
		if err := rows.Scan(&b); err != nil {
			return nil, err
		}
		// SQLite holds any value in any column, and a file of a cache is not believed.
		if len(b) == len(Key{}) {
			keys[Key(b)] = true
		}
	}
	return keys, rows.Err()
}
