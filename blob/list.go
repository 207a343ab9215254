package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/internal/durable"
)

// Item is a blob as a Lister shows it.
type Item struct {
	Ref  Ref
	Size int64
	// Time is when it was last written.
	Time time.Time

	// Names are the names of its files: agents give some blobs a second name with an extension.
	Names []string
}

// Lister is a Store whose blobs can be listed and removed.
type Lister interface {
	// List yields the blobs in the order of their references, and ends at the first error. A place that does not exist
	// has no blobs.
	List(ctx context.Context) iter.Seq2[Item, error]
	// Remove removes a blob if it was last written earlier than before. A newer one may be about to be referenced.
	Remove(ctx context.Context, i Item, before time.Time) (removed bool, err error)
	// Content returns the bytes of a blob, even if their hash is wrong.
	Content(ctx context.Context, i Item) ([]byte, error)
	// Restore makes the files of a blob that was removed. One that is there stays.
	Restore(ctx context.Context, i Item, content []byte) error
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
				continue // removed meanwhile
			}
			if !yield(item, err) || err != nil {
				return
			}
		}
	}
}

const hexLen = 2 * len(Ref{})

// refOf parses the name of a blob's file: the hash, and possibly an extension.
func refOf(name string) (Ref, bool) {
	digits, _, _ := strings.Cut(name, ".")
	return parseHex(digits)
}

func (d *Dir) item(names []string) (Item, error) {
	r, _ := refOf(names[0])
	i := Item{Ref: r, Names: names}
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

// gonePrefix is the prefix of a blob's name while the blob is being removed. It makes a temporary name, so that a file left by a crash is
// swept.
const gonePrefix = ".treeline-tmp-gone-"

// Remove implements Lister. It renames each file and then checks its time: a Put after the rename makes a new file, and one before it shows
// in the time. If one of the files stays, all get their names back: a reference needs the name without an extension.
func (d *Dir) Remove(_ context.Context, i Item, before time.Time) (removed bool, err error) {
	path := func(name string) string { return filepath.Join(d.path, name) }
	var away []string
	removed = true
	for _, name := range i.Names {
		if err = d.fs.Rename(path(name), path(gonePrefix+name)); errors.Is(err, fs.ErrNotExist) {
			err = nil
			continue
		}
		var info durable.Info
		if err == nil {
			away = append(away, name)
			info, err = d.fs.Stat(path(gonePrefix + name))
		}
		if removed = err == nil && time.Unix(0, info.Nanos).Before(before); !removed {
			break
		}
	}
	for _, name := range away {
		if removed {
			err = errors.Join(err, d.fs.Remove(path(gonePrefix+name)))
		} else {
			err = errors.Join(err, d.fs.Rename(path(gonePrefix+name), path(name)))
		}
	}
	return removed, err
}

// Content implements Lister. Of several files it returns the first with the right hash, or else the first.
func (d *Dir) Content(_ context.Context, i Item) (content []byte, err error) {
	for n, name := range i.Names {
		b, readErr := d.read(name)
		if readErr == nil && Sum(b) == i.Ref {
			return b, nil
		}
		if n == 0 {
			content, err = b, readErr
		}
	}
	return content, err
}

func (d *Dir) read(name string) ([]byte, error) {
	f, err := d.fs.Open(filepath.Join(d.path, name), os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.NewSectionReader(f, 0, info.Size))
}

// Restore implements Lister. A name that does not belong to the blob is an error: it may come from a file.
func (d *Dir) Restore(_ context.Context, i Item, content []byte) error {
	if err := durable.MkdirAll(d.fs, d.path, 0o700); err != nil {
		return err
	}
	for _, name := range i.Names {
		if r, ok := refOf(name); !ok || r != i.Ref || filepath.Base(name) != name {
			return fmt.Errorf("%q is not a name of %s", name, i.Ref)
		}
		if _, err := durable.Create(d.fs, filepath.Join(d.path, name), 0o600, bytes.NewReader(content)); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}
