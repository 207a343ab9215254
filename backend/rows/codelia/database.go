package codelia

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/treeline-dev/treeline/backend/rows"
	"github.com/treeline-dev/treeline/internal/litefile"
)

// database keeps sessions as current versions of the program do: rows of state.db, and files of messages.
type database struct {
	place

	// mu is held while the database is read, so that concurrent lists read it once.
	mu    sync.Mutex
	known *snapshot // the last snapshot, nil if a change after it might not show
}

// newDatabase returns the schema of a folder of sessions (~/.codelia/sessions). The folder need not exist.
func newDatabase(dir string, opt options) *database { return &database{place: newPlace(dir, opt)} }

func (d *database) path() string { return filepath.Join(d.dir, databaseName) }

func (d *database) messagesPath(id string) string {
	return filepath.Join(d.dir, messagesName, id+".jsonl")
}

// List implements rows.Schema: the rows, then messages without a row.
func (d *database) List(ctx context.Context) ([]string, error) {
	snap, err := d.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	ids := slices.Collect(maps.Keys(snap.rows))
	files, err := d.files(messagesName, ".jsonl")
	for _, id := range files {
		if snap.rows[id] == nil {
			ids = append(ids, id)
		}
	}
	return ids, err
}

// files returns the ids of the files in a folder, including invalid ids. Temporary files begin with a dot, which no id does.
func (p place) files(folder, ext string) (ids []string, err error) {
	entries, err := p.opt.FS.ReadDir(filepath.Join(p.dir, folder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), ext); ok && !strings.HasPrefix(id, ".") && !e.IsDir() {
			ids = append(ids, id)
		}
	}
	return ids, err
}

// Keep implements rows.Keeper.
func (d *database) Keep(name string, content []byte) error {
	return d.keep(messagesName, ".jsonl", name, content)
}

// Discard implements rows.Keeper.
func (d *database) Discard(name string) error { return d.discard(messagesName, ".jsonl", name) }

// Load implements rows.Schema.
func (d *database) Load(ctx context.Context, id string) (rows.Session, error) {
	s, err := d.load(ctx, id)
	return s.session(), err
}

// A save changes the messages a moment before the row. A reader that sees messages newer than the row waits for the row a
// little, then uses the messages as they are: after a crash they stay so.
const (
	settleTries = 50 // litefile.Pause waits longer after each
	manyTries   = 1000
)

// load reads row and messages, again if another process wrote meanwhile.
func (d *database) load(ctx context.Context, id string) (state, error) {
	if err := checkID(id); err != nil {
		return state{}, err
	}
	for try := 0; ; try++ {
		snap, err := d.snapshot(ctx)
		if err != nil {
			return state{}, err
		}
		r := snap.rows[id]
		s, err := d.join(r, id)
		now, stampErr := d.stamp()
		switch {
		case stampErr != nil:
			return s, stampErr
		// The database did not change. Messages that do not match the row are waited for only during a save.
		case now == snap.stamp && (err != nil || try >= settleTries || r.matches(&s) || !d.recent(id)):
			return s, err
		case try >= manyTries:
			return s, fmt.Errorf("%s: %w", d.path(), litefile.ErrRestless)
		}
		if err := litefile.Pause(ctx, try); err != nil {
			return s, err
		}
	}
}

// recent reports whether the messages were written within the last second. If the clock was set back they count as recent for longer, and a
// reader only waits settleTries unnecessarily.
func (d *database) recent(id string) bool {
	info, err := d.opt.FS.Stat(d.messagesPath(id))
	return err == nil && d.opt.Clock().UnixNano()-info.Nanos < int64(time.Second)
}

// join makes a state of a row, which may be nil, and the messages.
func (d *database) join(r *row, id string) (state, error) {
	content, changed, err := readFile(d.opt.FS, d.messagesPath(id))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if r == nil {
			return state{}, notExist(id)
		}
	case err != nil:
		return state{}, err
	}
	s := state{id: id}
	if r == nil {
		s.updated = changed.UTC().Format(timeForm) // the best guess
	} else {
		r.into(&s)
	}
	s.messages, s.torn = splitMessages(content)
	s.stamp()
	return s, nil
}
