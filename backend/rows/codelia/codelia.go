// Package codelia keeps codelia's sessions in codelia's own database and files.
//
// # The format
//
// Codelia's folder of sessions holds, beside the logs of runs,
//
//	state.db               SQLite (WAL): the table session_state with a row for each session
//	messages/<id>.jsonl    the session's conversation, a message on each line, replaced whole with each save
//	state/<id>.json        the older form, which the format's document describes: row and messages in one object
//
// Each of the two folders is a place of its own: database keeps the sessions of messages/, document those of state/. The
// program loads a session from its row, and from state/<id>.json only if there is no row. A row without a messages file is
// a session without messages.
//
// The program does not find messages that have no row. It leaves such messages itself if it cannot write the row, because
// it does not wait for locks. The database lists and loads them, and its next save makes the row.
//
// # The log
//
// The header of a log is the session without its messages, with its members in this order:
//
//	{"schema_version":1,"session_id":…,"updated_at":ISO,"run_id"?,"invoke_seq"?,"workspace_root"?,"meta"?, other members}
//
// # Reading
//
// The database is read without a trace, either the file itself or a copy of it (see internal/litefile). Row and messages
// are two files: if the database changed while they were read, they are read again.
//
// # Writing
//
// A crash may come between row and messages, in whatever order they are written. There must never be messages without a
// row. Hence this order:
//
//  1. The messages go to a temporary file, which is synced. Nothing has changed yet, and the lock that follows is short:
//     codelia does not wait for locks, so a long lock makes it fail.
//  2. A session with neither a row nor a state/<id>.json gets a row, committed and synced. From here on the program finds
//     the session, empty.
//  3. In a transaction that excludes other writers from its beginning, the row is changed, then the messages get their
//     name and the folder is synced, then the transaction is committed. A crash in between leaves the old row with the old
//     or the new messages; both load. All writers of this package take turns here, so a row never meets the messages of
//     another save.
//
// To remove a session, its row is deleted in a transaction that also removes the messages. A crash leaves at worst a row
// without messages.
package codelia

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/rows"
	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/rawjson"
)

// Driver opens the folders in which codelia keeps the states of its sessions.
func Driver() backend.Driver {
	return backend.Driver{Name: "codelia", Claims: claims, Open: open}
}

// The names in a folder of sessions.
const (
	databaseName = "state.db"
	messagesName = "messages"
	stateName    = "state"
)

// claims reports whether a folder is called "messages" or "state" and lies beside a state.db, or in codelia's own folder of
// sessions.
func claims(dir string) bool {
	dir = filepath.Clean(dir)
	base, sessions := filepath.Base(dir), filepath.Dir(dir)
	if base != messagesName && base != stateName || filepath.Base(sessions) != "sessions" {
		return false
	}
	owner := filepath.Base(filepath.Dir(sessions))
	_, err := os.Stat(filepath.Join(sessions, databaseName))
	return err == nil || owner == ".codelia" || owner == "codelia"
}

func open(dir string, opt backend.OpenOptions) (backend.Backend, error) {
	dir = filepath.Clean(dir)
	db := newDatabase(filepath.Dir(dir), options{})
	switch filepath.Base(dir) {
	case messagesName:
		return rows.New(db, ".jsonl", opt.ReadOnly), nil
	case stateName:
		doc := newDocument(filepath.Dir(dir), options{})
		doc.newer = db
		return rows.New(doc, ".json", opt.ReadOnly), nil
	}
	return nil, fmt.Errorf("%s: codelia keeps sessions in folders called %s and %s", dir, messagesName, stateName)
}

// options change how a schema works.
type options struct {
	// FS is the file system for everything but the database; nil is the machine's.
	FS durable.FS
	// Clock returns the time of saves; nil is the machine's.
	Clock func() time.Time
}

// busy is how long to wait for other writers.
const busy = 10 * time.Second

// place is what both schemas have in common.
type place struct {
	dir string
	opt options
}

func newPlace(dir string, opt options) place {
	if opt.FS == nil {
		opt.FS = durable.OS{}
	}
	if opt.Clock == nil {
		opt.Clock = time.Now
	}
	return place{dir, opt}
}

// Now implements rows.Keeper.
func (p place) Now() time.Time { return p.opt.Clock() }

// beside returns the path of a file that is kept beside the sessions of a folder.
func (p place) beside(folder, ext, name string) (string, error) {
	id, rest, _ := strings.Cut(name, ext+".")
	for _, part := range []string{id, rest} {
		if err := checkID(part); err != nil {
			return "", err
		}
	}
	return filepath.Join(p.dir, folder, name), nil
}

func (p place) keep(folder, ext, name string, content []byte) error {
	path, err := p.beside(folder, ext, name)
	if err != nil {
		return err
	}
	_, err = durable.Create(p.opt.FS, path, 0o600, bytes.NewReader(content))
	if errors.Is(err, fs.ErrExist) {
		return backend.ErrExist
	}
	return err
}

func (p place) discard(folder, ext, name string) error {
	path, err := p.beside(folder, ext, name)
	if err != nil {
		return err
	}
	return p.opt.FS.Remove(path)
}

// Touch implements rows.Schema.
func (p place) Touch(header []byte) []byte {
	return rawjson.Set(header, "updated_at", rawjson.Quote(p.now()))
}

func (p place) now() string { return p.opt.Clock().UTC().Format(timeForm) }

// begin prepares a save: the state is of the version that is written and has a time, and the folder exists.
func (p place) begin(s *state, folder string) error {
	if err := s.writable(); err != nil {
		return err
	}
	if s.updated == "" {
		s.updated = p.now()
	}
	if err := checkID(s.id); err != nil {
		return err
	}
	return durable.MkdirAll(p.opt.FS, filepath.Join(p.dir, folder), 0o700)
}

// Parse implements rows.Schema.
func (p place) Parse(id string, records [][]byte) (rows.Session, error) {
	if len(records) == 0 {
		return rows.Session{}, fmt.Errorf("%w: a session begins with a header", backend.ErrRecord)
	}
	s, err := parseState(rows.Session{ID: id, Header: records[0], Messages: records[1:]})
	return s.session(), err
}

// checkID refuses ids that cannot be file names. The program itself accepts "../x". An id neither begins nor ends with a dot: a name
// of dots alone is another folder, and one that begins with a dot is hidden from lists.
func checkID(id string) error {
	const alphanumeric = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	if id == "" || len(id) > 128 || strings.Trim(id, "._-") != id || strings.Trim(id, alphanumeric+"._-") != "" {
		return fmt.Errorf("session id %.80q: %w: only letters, digits, '.', '_' and '-', beginning and ending with a letter or digit", id, backend.ErrName)
	}
	return nil
}

func notExist(id string) error { return fmt.Errorf("%s: %w", id, backend.ErrNotExist) }
