package trash

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
)

// Restore puts a session back in its place. id is its id in the trash or a unique prefix of it. Of several copies of a session, for example
// one that a killed removal left and one of a later removal, it restores the newest complete one, unless id has the number of another. It
// never overwrites a log that has taken its place meanwhile.
func (t *Trash) Restore(ctx context.Context, id string) (Item, error) {
	item, err := t.find(ctx, id)
	if err != nil {
		return item, err
	}
	bin, err := t.open()
	if err != nil {
		return item, err
	}
	at, err := bin.Stat(ctx, item.ID+contentExt)
	if err != nil {
		return item, err
	}
	content, err := backend.ReadAll(ctx, bin, at)
	if err != nil {
		return item, err
	}
	// This comes first, so that GC finds the references.
	if err := t.opt.Folders.NoteFolder(ctx, item.From); err != nil {
		return item, err
	}
	if err := t.putBack(ctx, bin, &item, content, at.Time); err != nil {
		return item, err
	}
	if err := t.remove(ctx, bin, &item); err != nil {
		return item, fmt.Errorf("%s is restored, but still in the trash: %w", item.From, err)
	}
	return item, nil
}

// putBack creates a log with exactly this content and time, after the files of its folder. If the same content already exists there, a crash
// left it.
func (t *Trash) putBack(ctx context.Context, bin backend.Backend, item *Item, content []byte, when time.Time) (err error) {
	path := item.From
	l, release, err := t.m.LocateWriting(path, "", nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	files, err := t.kept(ctx, bin, item)
	if err != nil {
		return err
	}
	if len(files.Logs) > 0 {
		if err := dialect.CheckFileID(session.ID(item.Folder)); err != nil && item.Folder != "." {
			return fmt.Errorf("the folder of %s in the trash: %w", item.ID, err)
		}
		if _, err := files.CopyTo(ctx, l.Backend, place.SidePrefix(l.Name, item.Folder), place.Join(place.Dir(path), item.Folder), nil); err != nil {
			return fmt.Errorf("%w; it was not touched, and the session is still in the trash", logtree.Named(path, err))
		}
	}
	if _, _, err = backend.RestoreOnce(ctx, l.Backend, l.Name, content, when); errors.Is(err, backend.ErrExist) {
		return fmt.Errorf("%s: %w; it was not touched, and the session is still in the trash", path, backend.ErrExist)
	}
	return logtree.Named(path, err)
}

// Empty deletes what has been in the trash since before that time. It returns what was deleted, even after an error.
func (t *Trash) Empty(ctx context.Context, before time.Time) (removed []Item, err error) {
	list, err := t.List(ctx)
	if err != nil {
		return nil, err
	}
	bin, err := t.open()
	if err != nil {
		return nil, err
	}
	for _, item := range list {
		if !item.Time.Before(before) {
			continue
		}
		if err := t.remove(ctx, bin, &item); err != nil {
			return removed, fmt.Errorf("%s in the trash: %w", item.ID, err)
		}
		removed = append(removed, item)
	}
	return removed, nil
}

// kept returns the files of an item in the trash.
func (t *Trash) kept(ctx context.Context, bin backend.Backend, item *Item) (place.SideFiles, error) {
	files := t.files(bin, item)
	for log, err := range bin.List(ctx, files.Prefix) {
		if err != nil {
			return files, err
		}
		at, err := bin.Stat(ctx, log.Name) // Remove needs its current state
		if err != nil {
			return files, err
		}
		files.Logs = append(files.Logs, at)
	}
	return files, ctx.Err()
}

// remove deletes an item and its files.
func (t *Trash) remove(ctx context.Context, bin backend.Backend, item *Item) error {
	files, err := t.kept(ctx, bin, item)
	if err == nil {
		err = item.remove(ctx, bin)
	}
	if err != nil {
		return err
	}
	return files.Remove(ctx)
}

// remove deletes the two logs of an item. The content goes first: List ignores an origin without content.
func (item *Item) remove(ctx context.Context, bin backend.Backend) error {
	for _, name := range []string{item.ID + contentExt, item.ID + originExt} {
		at, err := bin.Stat(ctx, name)
		if err == nil {
			err = bin.Remove(ctx, at)
		}
		if err != nil && !errors.Is(err, backend.ErrNotExist) {
			return err
		}
	}
	return nil
}

// find returns the item with an id, or else the only one whose id begins with it. Copies of one session count as one.
func (t *Trash) find(ctx context.Context, id string) (Item, error) {
	list, err := t.List(ctx)
	if err != nil {
		return Item{}, err
	}
	var matches []Item
	for _, item := range list {
		if item.ID == id {
			if item.ID != nameFor(item.Session) {
				return item, nil // id has the number of a copy
			}
			matches = copies(list, &item)
			break
		}
		if id != "" && place.HasPrefixFold(item.ID, id) {
			matches = append(matches, item)
		}
	}
	switch {
	case len(matches) == 0:
		return Item{}, fmt.Errorf("%q: %w", id, ErrNotInTrash)
	case len(copies(matches, &matches[0])) == len(matches):
		return t.newestWhole(ctx, matches)
	}
	return Item{}, fmt.Errorf("%q matches %d sessions in the trash, such as %s and %s", id, len(matches), matches[0].ID, matches[1].ID)
}

// copies returns the items that are copies of the same session.
func copies(list []Item, of *Item) (same []Item) {
	for _, item := range list {
		if item.Session == of.Session && item.From == of.From {
			same = append(same, item)
		}
	}
	return same
}

// newestWhole returns the first item whose content has all bytes of its session, or the first item if none has.
func (t *Trash) newestWhole(ctx context.Context, list []Item) (Item, error) {
	bin, err := t.m.Open(place.Join(t.opt.State, folder))
	if err != nil {
		return list[0], err
	}
	for _, item := range list {
		if at, err := bin.Stat(ctx, item.ID+contentExt); err == nil && at.Size >= item.Size {
			return item, nil
		}
	}
	return list[0], nil
}
