package blob

import (
	"context"
	"encoding/hex"
	"errors"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Item is a blob as a Lister shows it.
type Item struct {
	Ref  Ref
	Size int64
	// Time is when it was last written.
	Time time.Time

	names []string // of its files: agents give some blobs a second name with an ending
}

// Lister is a Store that says what it has, and lets go of it.
type Lister interface {
	// List yields the blobs in the order of their references. What is in the place and no blob is left out. It ends with
	// the first error; a place that does not exist has none.
	List(ctx context.Context) iter.Seq2[Item, error]
	// Remove removes a blob, unless it was written at before or later: whoever writes a blob is about to refer to it.
	Remove(ctx context.Context, i Item, before time.Time) (removed bool, err error)
}

var _ Lister = (*Dir)(nil)

// List implements Lister.
func (d *Dir) List(ctx context.Context) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		entries, err := d.fs.ReadDir(d.path)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(Item{}, err)
			return
		}
		names := make([]string, 0, len(entries))
		for _, e := range entries {
			if _, ok := refOf(e.Name()); ok && !e.IsDir() {
				names = append(names, e.Name())
			}
		}
		slices.Sort(names)
		for len(names) > 0 {
			if ctx.Err() != nil {
				yield(Item{}, context.Cause(ctx))
				return
			}
			n := 1
			for n < len(names) && names[n][:hexLen] == names[0][:hexLen] {
				n++
			}
			item, err := d.item(names[:n])
			names = names[n:]
			if errors.Is(err, fs.ErrNotExist) {
				continue // it went meanwhile
			}
			if !yield(item, err) || err != nil {
				return
			}
		}
	}
}

const hexLen = 2 * len(Ref{})

// refOf reads the name of a blob's file: the hash, and for a second name an ending.
func refOf(name string) (r Ref, ok bool) {
	if len(name) < hexLen || len(name) > hexLen && name[hexLen] != '.' || strings.ToLower(name[:hexLen]) != name[:hexLen] {
		return r, false
	}
	_, err := hex.Decode(r[:], []byte(name[:hexLen]))
	return r, err == nil
}

func (d *Dir) item(names []string) (Item, error) {
	r, _ := refOf(names[0])
	i := Item{Ref: r, names: names}
	for _, name := range names {
		info, err := d.fs.Stat(filepath.Join(d.path, name))
		if err != nil {
			return i, err
		}
		i.Size = max(i.Size, info.Size)
		if at := time.Unix(0, info.Nanos); at.After(i.Time) {
			i.Time = at
		}
	}
	return i, nil
}

// gonePrefix begins the name that a blob has while it is being removed. It is that of files in the making, so that one
// that a crash leaves behind is swept with them.
const gonePrefix = ".treeline-tmp-gone-"

// Remove implements Lister. The file is renamed before it is looked at for the last time: a writer that comes after the
// rename makes a new file, and one that came before it is seen.
func (d *Dir) Remove(_ context.Context, i Item, before time.Time) (bool, error) {
	for _, name := range i.names {
		path, away := filepath.Join(d.path, name), filepath.Join(d.path, gonePrefix+name)
		err := d.fs.Rename(path, away)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return false, err
		}
		info, err := d.fs.Stat(away)
		if err != nil || !time.Unix(0, info.Nanos).Before(before) {
			return false, errors.Join(err, d.fs.Rename(away, path))
		}
		if err := d.fs.Remove(away); err != nil {
			return false, err
		}
	}
	return true, nil
}
