// Package trash removes sessions so that they can come back, and collects blobs that nothing refers to.
//
// The trash is a folder in treeline's state folder with two logs for each session: "<id>.json" says where it came from,
// "<id>.session" holds its exact bytes. The first is written before the second, and both before the session is removed
// from its place. So a crash leaves the session in both places rather than in none, and never bytes without an origin.
// The files of a session's folder (see dialect.Foldered) are in "<id>.files". All copies keep the time at which the original was last
// changed, and a session that is restored has it again.
//
// GC counts sessions in the trash as references: they may come back, and need their blobs.
package trash

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/sorting"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
)

const (
	folder      = "trash"
	originExt   = ".json"
	contentExt  = ".session"
	filesExt    = ".files"
	mostRetries = 20 // each copies the whole session
)

// ErrNoState is returned if there is no state folder to keep the trash in.
var ErrNoState = errors.New("the store has no state folder")

// ErrNoPlace is returned by GC for an unknown place in GCOptions.Forget.
var ErrNoPlace = errors.New("no known place with sessions")

// ErrNotInTrash is wrapped by the error for an id that no session in the trash has. It wraps place.ErrNoSession.
var ErrNotInTrash = fmt.Errorf("%w in the trash", place.ErrNoSession)

// Options are the options of a Trash.
type Options struct {
	Machine *place.Machine
	// State is treeline's own folder, or "" if there is none.
	State string
	// Folders remembers the folders with sessions.
	Folders Folders
	// Clock returns the time; nil means the machine's clock.
	Clock func() time.Time
}

// Folders remembers the folders outside of the agents' own in which sessions were written.
type Folders interface {
	// Folders lists the folders, including forgotten ones.
	Folders(ctx context.Context) ([]place.NotedFolder, error)
	// NoteFolder adds the folder of a log. When it returns, the note survives a crash.
	NoteFolder(ctx context.Context, path string) error
	// ChangeFolders changes the list. change may be called several times.
	ChangeFolders(ctx context.Context, change func([]place.NotedFolder) []place.NotedFolder) error
}

// Trash is the trash of a machine.
type Trash struct {
	opt Options
	m   *place.Machine
}

// New returns a Trash.
func New(opt Options) *Trash {
	if opt.Clock == nil {
		opt.Clock = time.Now
	}
	return &Trash{opt, opt.Machine}
}

// Item is a session in the trash.
type Item struct {
	// ID is the name in the trash: the id of the session, followed by a number if that is taken.
	ID string `json:"id"`
	// Session, Title, CWD and Dialect describe the session; Prompt is the user's first prompt.
	Session session.ID `json:"session"`
	Title   string     `json:"title"`
	Prompt  string     `json:"prompt,omitempty"`
	CWD     string     `json:"cwd"`
	Dialect string     `json:"dialect"`
	// From is the path from which the session was removed.
	From string `json:"from"`
	// Folder is the name of the session's folder; "" if it had no files.
	Folder string `json:"folder,omitempty"`
	// Time is the time of the removal.
	Time time.Time `json:"time"`
	Size int64     `json:"size"`
}

// open opens the trash for writing. A copy must be durable before the original is removed.
func (t *Trash) open() (backend.Backend, error) {
	if t.opt.State == "" || t.m.ReadOnly() {
		return nil, ErrNoState
	}
	return t.m.OpenWriting(place.Join(t.opt.State, folder), backend.DurabilityAlways)
}

// NeededError is the error for a session that other sessions continue: without it, they would lose what comes before.
type NeededError struct {
	Path string
	// By are the paths of those sessions.
	By []string
}

// Error implements error.
func (e *NeededError) Error() string {
	return fmt.Sprintf("%s: other sessions go on from it, and would lose what comes before: %s; nothing was removed", e.Path, strings.Join(e.By, ", "))
}

// Put moves the session at a path to the trash. It refuses a log that is not a session, one that another program has open for writing
// (backend.ErrHeld), and one that other sessions continue (*NeededError).
func (t *Trash) Put(ctx context.Context, path string) (Item, error) {
	return t.putPath(ctx, path, backend.Writer{}, nil, false)
}

// PutAs is Put for a writer; see place.Machine.OpenAs. If may returns an error for the session that is at the path now, it stays there.
func (t *Trash) PutAs(ctx context.Context, writer backend.Writer, path string, may func(session.Header) error) (Item, error) {
	return t.putPath(ctx, path, writer, may, false)
}

// PutHeld is Put even if another program has the log open, or other sessions continue it. What that program writes later is lost, and the
// other sessions lose what comes before.
func (t *Trash) PutHeld(ctx context.Context, path string) (Item, error) {
	return t.putPath(ctx, path, backend.Writer{}, nil, true)
}

func (t *Trash) putPath(ctx context.Context, path string, writer backend.Writer, may func(session.Header) error, force bool) (item Item, err error) {
	bin, err := t.open()
	if err != nil {
		return Item{}, err
	}
	l, release, err := t.m.LocateAs(writer, path, "", nil)
	if err != nil {
		return Item{}, err
	}
	defer func() { err = errors.Join(err, release()) }()
	// The first round is strict; later ones include what other programs appended meanwhile.
	for round := range mostRetries {
		item, err = t.put(ctx, bin, l, may, backend.RewriteOptions{Force: force, Grown: round > 0})
		if !errors.Is(err, backend.ErrConflict) {
			return item, err
		}
	}
	return Item{}, fmt.Errorf("%s: %w repeatedly", path, backend.ErrConflict)
}

// put fails with ErrConflict, and leaves nothing in the trash, if another process wrote to the session meanwhile.
func (t *Trash) put(ctx context.Context, bin backend.Backend, l place.Location, may func(session.Header) error, opt backend.RewriteOptions) (Item, error) {
	from, err := place.Abs(l.Path)
	if err != nil {
		return Item{}, err
	}
	log, err := t.m.OpenLog(ctx, l, nil)
	if err != nil {
		return Item{}, err
	}
	// at is both copied and removed: Remove refuses any other log.
	at, d, h := log.At, log.Dialect, log.Tree.Header()
	if err := log.Close(); err != nil {
		return Item{}, err
	}
	if may != nil {
		if err := may(h); err != nil {
			return Item{}, err
		}
	}
	if !opt.Force {
		if by, err := t.m.NeededBy(ctx, d, l); err != nil || len(by) > 0 {
			return Item{}, cmp.Or(err, error(&NeededError{from, by}))
		}
	}
	// The trash keeps exact bytes, and compressed logs are not written back.
	if backend.Compressed(l.Backend, l.Name) {
		if l, err = l.Expand(ctx); err != nil {
			return Item{}, logtree.Named(from, err)
		}
		return t.put(ctx, bin, l, may, opt)
	}
	all, err := backend.ReadAll(ctx, l.Backend, at)
	if err != nil {
		return Item{}, logtree.Named(l.Path, err)
	}
	files, err := place.FindSideFiles(ctx, d, l)
	if err != nil {
		return Item{}, logtree.Named(l.Path, err)
	}
	about := d.Peek(all, nil, true)
	item := Item{
		Session: h.ID, Title: cmp.Or(about.Title, h.Title), Prompt: about.Prompt, CWD: h.CWD, Dialect: d.Name(), From: from,
		Time: t.opt.Clock().UTC().Truncate(time.Millisecond), Size: at.Size,
	}
	if len(files.Logs) > 0 {
		item.Folder = files.Folder
	}
	made, err := item.write(ctx, bin, nameFor(h.ID), all, at.Time)
	kept := t.files(bin, &item)
	if err == nil {
		kept, err = files.CopyTo(ctx, bin, kept.Prefix, kept.Dir, nil)
	}
	if err == nil {
		opt.Keep = func(records [][]byte) (err error) {
			all = withRecords(all, records)
			made[1], err = bin.Replace(ctx, made[1], all)
			return err
		}
		var late backend.Late
		if late, err = backend.Remove(ctx, l.Backend, at, opt); err == nil {
			err = errors.Join(keepLate(ctx, bin, made[1], all, late), leftBehind(files.Remove(context.WithoutCancel(ctx))))
			t.m.DropFolder(d, from)
			return item, err
		}
	}
	// An error may come after the removal: then the copy is all that is left.
	ctx = context.WithoutCancel(ctx)
	_, gone := l.Backend.Stat(ctx, l.Name)
	if errors.Is(err, backend.ErrConflict) || !errors.Is(gone, backend.ErrNotExist) {
		for _, log := range slices.Backward(made) { // never bytes without an origin
			err = errors.Join(err, bin.Remove(ctx, log))
		}
		err = errors.Join(err, kept.Remove(ctx))
	}
	return Item{}, logtree.Named(l.Path, err)
}

// files returns the folder of an item's files in the trash.
func (t *Trash) files(bin backend.Backend, item *Item) place.SideFiles {
	return place.SideFiles{Backend: bin, Prefix: item.ID + filesExt + "/", Dir: place.Join(t.opt.State, folder, item.ID+filesExt)}
}

// leftBehind returns the error for files of a session that stay in their place although the session is in the trash.
func leftBehind(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the session is in the trash with the files of its folder, but some of them are still in their place: %w", err)
}

// keepLate appends to the content in the trash what other programs wrote while the session was removed.
func keepLate(ctx context.Context, bin backend.Backend, content backend.Log, all []byte, late backend.Late) error {
	if len(late.Records) == 0 {
		return nil
	}
	_, err := bin.Replace(context.WithoutCancel(ctx), content, withRecords(all, late.Records))
	return err
}

func withRecords(all []byte, records [][]byte) []byte {
	for _, r := range records {
		all = append(append(all, r...), '\n')
	}
	return all
}

// nameFor returns the preferred name of a session in the trash. An id from a log may not be a valid file name.
func nameFor(id session.ID) string {
	if dialect.CheckFileID(id) == nil {
		return string(id)
	}
	return "session"
}

// write writes both logs under the first name that is free. It returns those that it created, even after an error.
func (item *Item) write(ctx context.Context, bin backend.Backend, name string, content []byte, changed time.Time) (made []backend.Log, err error) {
	for n := 1; ; n++ {
		item.ID = name
		if n > 1 {
			item.ID = fmt.Sprintf("%s-%d", name, n)
		}
		record, err := json.Marshal(item)
		if err != nil {
			return nil, err
		}
		// Creating the origin claims the name.
		origin, err := bin.Create(ctx, item.ID+originExt, record)
		if err == nil {
			made = []backend.Log{origin}
			var copied backend.Log
			if copied, err = backend.RestoreAt(ctx, bin, item.ID+contentExt, content, changed); err == nil {
				return append(made, copied), nil
			}
		}
		if !errors.Is(err, backend.ErrExist) || n == 1000 {
			return made, err
		}
		// A crash left content without an origin. The name remains unused.
		for _, at := range made {
			if err := bin.Remove(ctx, at); err != nil {
				return made, err
			}
		}
		made = nil
	}
}

// List returns the sessions in the trash, the last removed first. It fails if one cannot be read: omitting it would look as if it were
// gone.
func (t *Trash) List(ctx context.Context) ([]Item, error) {
	if t.opt.State == "" {
		return nil, ErrNoState
	}
	bin, err := t.m.Open(place.Join(t.opt.State, folder))
	if err != nil {
		return nil, err
	}
	var list []Item
	for log, err := range bin.List(ctx, "") {
		if err != nil {
			return nil, err
		}
		id, ok := strings.CutSuffix(log.Name, originExt)
		if !ok || strings.Contains(id, "/") {
			continue
		}
		switch _, err := bin.Stat(ctx, id+contentExt); {
		case errors.Is(err, backend.ErrNotExist):
			continue // a crash came before the content was written
		case err != nil:
			return nil, err
		}
		record, err := backend.ReadAll(ctx, bin, log)
		if err != nil {
			return nil, err
		}
		var item Item
		if err := json.Unmarshal(record, &item); err != nil {
			return nil, fmt.Errorf("%s in the trash: %w", log.Name, err)
		}
		item.ID = id // the file may have been copied
		list = append(list, item)
	}
	sorting.By(list, func(a, b Item) int { // at the same time, the highest number first
		return cmp.Or(b.Time.Compare(a.Time), len(b.ID)-len(a.ID), strings.Compare(b.ID, a.ID))
	})
	return list, nil
}
