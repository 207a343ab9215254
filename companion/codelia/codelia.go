// Package codelia keeps the states of codelia's sessions.
//
// # The format
//
// In codelia's folder of sessions there are, beside the logs of runs,
//
//	state.db               SQLite (WAL): the table session_state with a row for each session
//	messages/<id>.jsonl    the session's conversation, a message on each line, replaced as a whole with each save
//	state/<id>.json        what came before, and what the format's document describes: row and messages in one object
//
// The row of a session wins over its state/<id>.json; a row without a messages file is a session without messages. The
// program loads no session that has neither a row nor a state/<id>.json: where it could not write the row (it waits for
// nobody) it leaves messages that it does not find again. We do: such a file is listed and loaded, and has a row after the
// next save.
//
// # Reading
//
// The database is read without a trace, the file itself or a copy of it (internal/litefile). Row and messages are two files:
// if the database changed while they were read, they are read again.
//
// # Writing
//
// A crash may come between row and messages, in whatever order they are written. What must never be is messages without
// a row. In this order, for these reasons:
//
//  1. The messages go to a file of another name and are synced: nothing has changed yet, and the lock that follows is short.
//     Codelia waits for nobody; what is locked for long makes it fail.
//  2. Where the session has neither a row nor a state/<id>.json it gets a row, committed and synced: from here on the
//     program finds it, empty.
//  3. In a transaction, begun as a writing one so that others wait, the row is changed, then the messages get their name and
//     the folder is synced, then it is committed. A crash in between leaves the row from before with the messages from
//     before or the new ones: both load. All writers of ours take their turns here, so that no row meets the messages of
//     another.
//
// To remove a session the row is deleted in a transaction in which the files go; a crash leaves at worst a row without
// messages.
package codelia

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/litefile"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// Options change how a companion works.
type Options struct {
	// FS is the file system for all but the database; nil is that of the machine.
	FS durable.FS
	// Clock gives the time of saves that have none; nil is that of the machine.
	Clock func() time.Time
	// Busy is how long to wait for other writers of the database; 0 is ten seconds.
	Busy time.Duration
	// Alone leaves the state/<id>.json out.
	Alone bool
}

// Companion keeps states as the program of today does.
type Companion struct {
	dir string
	opt Options
	doc *Document

	// mu is held while the database is read, too: several lists at once read it once.
	mu    sync.Mutex
	known *snapshot // of the database, while it does not change
}

var (
	_ store.Companion = (*Companion)(nil)
	_ store.Resumer   = (*Companion)(nil)
)

// New gives the companion of a folder of sessions (~/.codelia/sessions). It need not exist.
func New(dir string, opt Options) *Companion {
	opt.fill()
	return &Companion{dir: dir, opt: opt, doc: &Document{dir: dir, opt: opt}}
}

func (o *Options) fill() {
	if o.FS == nil {
		o.FS = durable.OS{}
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Busy == 0 {
		o.Busy = 10 * time.Second
	}
}

// The names in a folder of sessions.
const (
	databaseName = "state.db"
	messagesName = "messages"
	stateName    = "state"
)

// At gives the companion whose states lie in a folder, and how their files end: a folder called "messages" or "state" beside
// a state.db, or in codelia's own folder of sessions. Each gives its own: what the document's place has and the database
// too is the database's.
func At(dir string) (c store.Companion, ext string, ok bool) {
	dir = filepath.Clean(dir)
	base, sessions := filepath.Base(dir), filepath.Dir(dir)
	if base != messagesName && base != stateName || filepath.Base(sessions) != "sessions" {
		return nil, "", false
	}
	owner := filepath.Base(filepath.Dir(sessions))
	if _, err := os.Stat(filepath.Join(sessions, databaseName)); err != nil && owner != ".codelia" && owner != "codelia" {
		return nil, "", false
	}
	program := New(sessions, Options{Alone: true})
	if base == messagesName {
		return program, ".jsonl", true
	}
	program.doc.beside = program
	return program.doc, ".json", true
}

// Beginning and end are no dots: a name of dots alone is another folder, and one that begins with a dot is hidden from
// lists.
var idPattern = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$`)

// checkID says why an id will not do. It becomes the name of a file: the program itself lets "../x" pass.
func checkID(id session.ID) error {
	if !idPattern.MatchString(string(id)) || len(id) > 128 {
		return &store.IDError{Err: fmt.Errorf("session id %.80q: only letters, digits, '.', '_' and '-', beginning and ending with a letter or digit", id)}
	}
	return nil
}

func (c *Companion) messagesPath(id session.ID) string {
	return filepath.Join(c.dir, messagesName, string(id)+".jsonl")
}

func noSession(id session.ID) error { return fmt.Errorf("%s: %w", id, store.ErrNoSession) }

// Load implements store.Companion.
func (c *Companion) Load(ctx context.Context, id session.ID) (store.State, error) {
	if err := checkID(id); err != nil {
		return store.State{}, err
	}
	s, err := c.load(ctx, id)
	if errors.Is(err, store.ErrNoSession) && !c.opt.Alone {
		return c.doc.Load(ctx, id)
	}
	return s, err
}

// load reads row and messages, again where somebody wrote meanwhile.
func (c *Companion) load(ctx context.Context, id session.ID) (store.State, error) {
	for try := 0; ; try++ {
		snap, err := c.snapshot(ctx)
		if err != nil {
			return store.State{}, err
		}
		r := snap.find(id)
		s, err := c.join(r, id)
		now, stampErr := c.stamp()
		switch {
		case stampErr != nil:
			return s, stampErr
		// Nobody wrote since the row was read. Messages that do not fit it are waited for only where a save may be under
		// way.
		case now == snap.stamp && (err != nil || try >= settleTries || r.fits(&s) || !c.recent(id)):
			return s, err
		case try >= manyTries:
			return s, fmt.Errorf("%s: %w", c.database(), litefile.ErrRestless)
		}
		if err := litefile.Pause(ctx, try); err != nil {
			return s, err
		}
	}
}

// A save changes the messages a moment before the row. Who looks in between sees messages that are newer than the row,
// waits for it a little, and else takes them as they are: after a crash they stay so.
const (
	// How often: with litefile.Pause between them, which waits longer each time.
	settleTries = 50
	manyTries   = 1000
)

// recent says whether the messages were written just now. A clock that was set back makes them recent for longer: then a
// reader waits settleTries in vain, no more.
func (c *Companion) recent(id session.ID) bool {
	info, err := c.opt.FS.Stat(c.messagesPath(id))
	return err == nil && c.opt.Clock().UnixNano()-info.Nanos < int64(time.Second)
}

// join puts a row, or none, and the messages together.
func (c *Companion) join(r *row, id session.ID) (store.State, error) {
	content, changed, err := c.read(c.messagesPath(id))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if r == nil {
			return store.State{}, noSession(id)
		}
	case err != nil:
		return store.State{}, err
	}
	s := store.State{ID: id}
	// The time of the file is the best guess of when it was saved.
	if r == nil { // messages that the program does not find
		s.UpdatedAt = iso(changed)
	} else {
		r.into(&s)
	}
	// Where there is no file, content is nil and there are no messages.
	if s.Messages, err = splitMessages(c.messagesPath(id), content); err != nil {
		return store.State{}, err
	}
	s.Version = version(&s)
	return s, nil
}

// List implements store.Companion: the rows, then messages without one, then what only the older place has.
func (c *Companion) List(ctx context.Context) ([]store.StateInfo, error) {
	snap, err := c.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]store.StateInfo, 0, len(snap.rows))
	seen := map[session.ID]bool{}
	for i := range snap.rows {
		r := &snap.rows[i]
		seen[session.ID(r.id)] = true
		list = append(list, r.info())
	}
	entries, err := c.opt.FS.ReadDir(filepath.Join(c.dir, messagesName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".jsonl")
		// Files in the making have names that are no ids: they begin with a dot.
		if id := session.ID(name); ok && !seen[id] && checkID(id) == nil && !e.IsDir() {
			seen[id] = true
			list = append(list, c.describe(id))
		}
	}
	if !c.opt.Alone {
		older, err := c.doc.List(ctx)
		if err != nil {
			return nil, err
		}
		list = append(list, slices.DeleteFunc(older, func(i store.StateInfo) bool { return seen[i.ID] })...)
	}
	newestFirst(list)
	return list, nil
}

// describe looks at messages without a row.
func (c *Companion) describe(id session.ID) store.StateInfo {
	s, err := c.join(nil, id)
	if err != nil {
		return store.StateInfo{ID: id, Err: err}
	}
	return infoOf(&s)
}

func infoOf(s *store.State) store.StateInfo {
	return store.StateInfo{
		ID: s.ID, UpdatedAt: s.UpdatedAt, RunID: s.RunID, Root: s.Root, Messages: len(s.Messages), LastUser: lastUser(s.Messages),
	}
}

// newestFirst orders as the program does: by the text of the time. All of one program's are spelled alike, so that the
// order of texts is that of times. The id keeps lists the same where times are.
func newestFirst(list []store.StateInfo) {
	slices.SortStableFunc(list, func(a, b store.StateInfo) int {
		if o := strings.Compare(b.UpdatedAt, a.UpdatedAt); o != 0 {
			return o
		}
		return strings.Compare(string(a.ID), string(b.ID))
	})
}

// iso is the program's spelling of a time.
func iso(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
