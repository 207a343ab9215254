package trash

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/place"
)

// Restore puts a session back in its place. It is named by its id in the trash or a unique prefix of it. A log that has
// taken its place meanwhile is never overwritten.
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
	// First, so that GC finds the references.
	if err := t.opt.Folders.NoteFolder(ctx, item.From); err != nil {
		return item, err
	}
	if err := t.putBack(ctx, item.From, content); err != nil {
		return item, err
	}
	if err := item.remove(ctx, bin); err != nil {
		return item, fmt.Errorf("%s is restored, but still in the trash: %w", item.From, err)
	}
	return item, nil
}

// putBack creates a log with exactly this content. A log that is there already with the same content was left by a crash.
func (t *Trash) putBack(ctx context.Context, path string, content []byte) (err error) {
	l, release, err := t.m.LocateWriting(path, "", nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	if _, err = backend.Restore(ctx, l.Backend, l.Name, content); !errors.Is(err, backend.ErrExist) {
		return logtree.Named(path, err)
	}
	at, err := l.Backend.Stat(ctx, l.Name)
	if err != nil {
		return logtree.Named(path, err)
	}
	if have, err := backend.ReadAll(ctx, l.Backend, at); err == nil && bytes.Equal(have, content) {
		return nil
	}
	return fmt.Errorf("%s: %w; it was not touched, and the session is still in the trash", path, backend.ErrExist)
}

// Empty removes for good what has been in the trash since before that time. It gives what was removed, also if it fails.
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
		if err := item.remove(ctx, bin); err != nil {
			return removed, fmt.Errorf("%s in the trash: %w", item.ID, err)
		}
		removed = append(removed, item)
	}
	return removed, nil
}

// remove deletes an item. The content goes first: List ignores an origin without content.
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

// find gives the item with that id, or else the only one whose id begins with it.
func (t *Trash) find(ctx context.Context, id string) (Item, error) {
	list, err := t.List(ctx)
	if err != nil {
		return Item{}, err
	}
	var matches []Item
	for _, item := range list {
		if item.ID == id {
			return item, nil
		}
		if id != "" && place.HasPrefixFold(item.ID, id) {
			matches = append(matches, item)
		}
	}
	switch len(matches) {
	case 0:
		return Item{}, fmt.Errorf("%q: %w", id, ErrNotInTrash)
	case 1:
		return matches[0], nil
	}
	return Item{}, fmt.Errorf("%q matches %d sessions in the trash, such as %s and %s", id, len(matches), matches[0].ID, matches[1].ID)
}
