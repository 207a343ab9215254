package trash

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// The trash is a folder in the state folder with two logs for each session: "<id>.json" says where it came from,
// "<id>.session" is its log, byte for byte. The first is written before the second, and both before the session goes from
// its place: a crash leaves the session at both places rather than at none, and never one of which nobody knows whose.
const (
	trashDir     = "trash"
	trashRecord  = ".json"
	trashContent = ".session"
)

// Trashed is a session in the trash.
type Trashed struct {
	// ID is what the trash calls it: the session's id, where that is free.
	ID string `json:"id"`
	// Session, Title, CWD and Dialect say what it is; Prompt is what was asked first.
	Session session.ID `json:"session"`
	Title   string     `json:"title"`
	Prompt  string     `json:"prompt,omitempty"`
	CWD     string     `json:"cwd"`
	Dialect string     `json:"dialect"`
	// From is the file that it was.
	From string `json:"from"`
	// Time is when it was removed.
	Time time.Time `json:"time"`
	Size int64     `json:"size"`
}

// ErrNoState is wrapped by the error for what needs a state folder in a store that has none.
var ErrNoState = errors.New("the store has no state folder")

// trash opens the trash. DurabilityAlways: the copy must last before the original goes.
func (s *Store) trash() (backend.Backend, error) {
	if s.opt.State == "" || s.opt.WriteDir == nil {
		return nil, ErrNoState
	}
	return s.opt.WriteDir(filepath.Join(s.opt.State, trashDir), DurabilityAlways, nil)
}

// Trash moves the session in a file to the trash. What is not a session is refused: nobody could say later what it was.
func (s *Store) Trash(ctx context.Context, path string, opt WriteOptions) (Trashed, error) {
	opt.fill()
	abs, err := filepath.Abs(path)
	if err != nil {
		return Trashed{}, err
	}
	t, err := s.trash()
	if err != nil {
		return Trashed{}, err
	}
	defer t.Close()
	b, err := s.writeDir(filepath.Dir(abs), path, opt)
	if err != nil {
		return Trashed{}, err
	}
	defer b.Close()
	// Each round copies the whole session: one that is written all the time is better left where it is.
	for range 20 {
		item, err := s.trashOnce(ctx, t, b, abs, path, opt)
		if !errors.Is(err, backend.ErrConflict) {
			return item, err
		}
	}
	return Trashed{}, fmt.Errorf("%s: %w again and again", path, backend.ErrConflict)
}

// trashOnce fails with ErrConflict, and leaves nothing behind, where somebody wrote to the session meanwhile.
func (s *Store) trashOnce(ctx context.Context, t, b backend.Backend, abs, path string, opt WriteOptions) (Trashed, error) {
	sess, err := s.OpenLog(ctx, b, filepath.Base(abs), path, OpenOptions{})
	if err != nil {
		return Trashed{}, err
	}
	// at is what is copied and what is removed: Remove refuses where the log is not that any more.
	at, d, h := sess.log, sess.dialect, sess.tree.Header()
	if err := sess.Close(); err != nil {
		return Trashed{}, err
	}
	all, err := readAll(ctx, b, at)
	if err != nil {
		return Trashed{}, named(path, err)
	}
	// The whole of it is at hand, so what lists would show is known for certain.
	about := d.Peek(all, nil, true)
	item := Trashed{
		Session: h.ID, Title: about.Title, Prompt: about.Prompt, CWD: h.CWD, Dialect: d.Name(), From: abs,
		Time: opt.Clock().UTC().Truncate(time.Millisecond), Size: at.Size,
	}
	records, err := item.put(ctx, t, trashID(d, h.ID), all)
	if err == nil {
		if err = b.Remove(ctx, at); err == nil {
			s.dropFolder(d, abs)
			return item, nil
		}
	}
	// The session is still at its place: what the trash has of it would be a second one.
	for _, r := range records {
		err = errors.Join(err, t.Remove(ctx, r))
	}
	return Trashed{}, named(path, err)
}

// trashID is the name that the trash would like a session to have. An id that stands in a log is nobody's promise that it
// can be a file name.
func trashID(d dialect.Dialect, id session.ID) string {
	if w, ok := d.(dialect.Writer); ok && w.CheckID(id) == nil {
		return string(id)
	}
	return "session"
}

// put writes both logs under the first id that is free, and gives them for the case that they must go again.
func (item *Trashed) put(ctx context.Context, t backend.Backend, id string, content []byte) ([]backend.Log, error) {
	var logs []backend.Log
	for n := 1; ; n++ {
		item.ID = id
		if n > 1 {
			item.ID = fmt.Sprintf("%s-%d", id, n)
		}
		record, err := json.Marshal(item)
		if err != nil {
			return nil, err
		}
		at, err := t.Create(ctx, item.ID+trashRecord, record)
		// The record's name is what the id is claimed by: two who remove sessions of one id get two.
		if errors.Is(err, backend.ErrExist) && n < 1000 {
			continue
		}
		if err != nil {
			return nil, err
		}
		logs = append(logs, at)
		break
	}
	at, err := t.Create(ctx, item.ID+trashContent, content)
	if err == nil {
		logs = append(logs, at)
	}
	return logs, err
}

// Trashed lists the trash, what was removed last first.
func (s *Store) Trashed(ctx context.Context) ([]Trashed, error) {
	if s.opt.State == "" {
		return nil, ErrNoState
	}
	t, err := s.opt.OpenDir(filepath.Join(s.opt.State, trashDir))
	if err != nil {
		return nil, err
	}
	defer t.Close()
	var list []Trashed
	// One that cannot be read ends the list: to leave it out would look as if it were gone.
	for log, err := range t.List(ctx, "") {
		if err != nil {
			return nil, err
		}
		id, ok := strings.CutSuffix(log.Name, trashRecord)
		if !ok {
			continue
		}
		if _, err := t.Stat(ctx, id+trashContent); err != nil {
			continue // it did not get as far as the trash
		}
		record, err := readAll(ctx, t, log)
		if err != nil {
			return nil, err
		}
		item := Trashed{ID: id}
		if err := json.Unmarshal(record, &item); err != nil {
			return nil, fmt.Errorf("%s in the trash: %w", log.Name, err)
		}
		// The name of the file counts: somebody may have copied it.
		item.ID = id
		list = append(list, item)
	}
	slices.SortStableFunc(list, func(a, b Trashed) int { return b.Time.Compare(a.Time) })
	return list, nil
}

// Restore puts a session back from the trash, named by its id there or the beginning of it. A file that has taken its place
// meanwhile is never overwritten.
func (s *Store) Restore(ctx context.Context, id string, opt WriteOptions) (Trashed, error) {
	opt.fill()
	item, err := s.findTrashed(ctx, id)
	if err != nil {
		return item, err
	}
	t, err := s.trash()
	if err != nil {
		return item, err
	}
	defer t.Close()
	at, err := t.Stat(ctx, item.ID+trashContent)
	if err != nil {
		return item, err
	}
	content, err := readAll(ctx, t, at)
	if err != nil {
		return item, err
	}
	// Before it is back: a collection must find its references.
	if err := s.noteFolder(ctx, item.From); err != nil {
		return item, err
	}
	if err := s.putBack(ctx, item.From, content, opt); err != nil {
		return item, err
	}
	// Content first, as in EmptyTrash.
	if err := t.Remove(ctx, at); err != nil {
		return item, fmt.Errorf("%s is back, but still in the trash too: %w", item.From, err)
	}
	if at, err = t.Stat(ctx, item.ID+trashRecord); err == nil {
		err = t.Remove(ctx, at)
	}
	return item, err
}

// EmptyTrash removes for good what has been in the trash since before that time, and gives what went. One that cannot be
// removed ends it; what went before is gone.
func (s *Store) EmptyTrash(ctx context.Context, before time.Time) ([]Trashed, error) {
	list, err := s.Trashed(ctx)
	if err != nil {
		return nil, err
	}
	t, err := s.trash()
	if err != nil {
		return nil, err
	}
	defer t.Close()
	var gone []Trashed
	for _, item := range list {
		if !item.Time.Before(before) {
			continue
		}
		// The content first: what is left after a crash is a note of nothing, which is no item any more.
		for _, name := range []string{item.ID + trashContent, item.ID + trashRecord} {
			at, err := t.Stat(ctx, name)
			if err == nil {
				err = t.Remove(ctx, at)
			}
			if err != nil && !errors.Is(err, backend.ErrNotExist) {
				return gone, fmt.Errorf("%s in the trash: %w", item.ID, err)
			}
		}
		gone = append(gone, item)
	}
	return gone, nil
}

// putBack makes a file of a log's content. One that is there already with the same content is what a crash left.
func (s *Store) putBack(ctx context.Context, path string, content []byte, opt WriteOptions) error {
	b, err := s.writeDir(filepath.Dir(path), path, opt)
	if err != nil {
		return err
	}
	defer b.Close()
	name := filepath.Base(path)
	// Create would write records, each with its newline; a log may end without one, and comes back as it was.
	restorer, ok := b.(backend.Restorer)
	if !ok {
		return fmt.Errorf("%s: putting a log back here is %w", path, ErrUnsupported)
	}
	_, err = restorer.Restore(ctx, name, content)
	if !errors.Is(err, backend.ErrExist) {
		return named(path, err)
	}
	at, err := b.Stat(ctx, name)
	if err != nil {
		return named(path, err)
	}
	if have, err := readAll(ctx, b, at); err == nil && bytes.Equal(have, content) {
		return nil
	}
	return fmt.Errorf("%s: %w; it was not touched, and the session is still in the trash", path, backend.ErrExist)
}

// findTrashed gives the one whose id it is, or else the only one whose id begins so.
func (s *Store) findTrashed(ctx context.Context, id string) (Trashed, error) {
	list, err := s.Trashed(ctx)
	if err != nil {
		return Trashed{}, err
	}
	var fits []Trashed
	for _, item := range list {
		if item.ID == id {
			return item, nil
		}
		if id != "" && hasPrefixFold(item.ID, id) {
			fits = append(fits, item)
		}
	}
	switch len(fits) {
	case 0:
		return Trashed{}, fmt.Errorf("%q: %w in the trash", id, ErrNoSession)
	case 1:
		return fits[0], nil
	}
	return Trashed{}, fmt.Errorf("%q fits %d sessions in the trash: %s and %s, for example", id, len(fits), fits[0].ID, fits[1].ID)
}

// readAll reads a log, byte for byte. For logs that are kept as they are: splitting them into records would lose what
// stands between.
func readAll(ctx context.Context, b backend.Backend, at backend.Log) ([]byte, error) {
	o, ok := b.(backend.Opener)
	if !ok {
		return nil, errors.New("the backend gives no random access")
	}
	r, err := o.Open(ctx, at)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	all := make([]byte, at.Size)
	if n, err := r.ReadAt(all, 0); int64(n) < at.Size {
		if err == nil || errors.Is(err, io.EOF) {
			err = backend.ErrChanged
		}
		return nil, err
	}
	return all, nil
}
