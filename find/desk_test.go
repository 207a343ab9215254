package find

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/file"
	"github.com/treeline-dev/treeline/backend/rows/codelia"
	"github.com/treeline-dev/treeline/find/past"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/internal/world"
)

func TestMain(m *testing.M) { os.Exit(soaktest.Main(m)) }

// desk is a world with finders on it.
type desk struct {
	*world.World
	now time.Time // the time of the finders; files have times of their own
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	return &desk{World: world.New(t), now: time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)}
}

// finder returns a Finder with an index, nil for one in memory. wrap changes its backends.
func (d *desk) finder(x *index.Index, wrap ...func(backend.Backend) backend.Backend) *Finder {
	d.Helper()
	if x == nil {
		x = index.Open(index.Options{})
	}
	files := file.Driver(file.Options{FS: d.FS})
	open := files.Open
	files.Open = func(root string, opt backend.OpenOptions) (backend.Backend, error) {
		b, err := open(root, opt)
		for _, w := range wrap {
			b = w(b)
		}
		return b, err
	}
	d.Drivers = []backend.Driver{codelia.Driver(), files}
	m := d.Machine()
	d.Cleanup(func() { m.Close() })
	return New(m, x, func() time.Time { return d.now })
}

// kept returns a Finder with the index in a folder.
func (d *desk) kept(dir string) *Finder {
	d.Helper()
	return d.finder(index.Open(index.Options{Dir: dir, Notice: func(text string) { d.Error(text) }}))
}

func (d *desk) path(name string) string { return d.At(filepath.Join(".omp/agent/sessions", name)) }

// write writes a session. Its time grows with each write, so that no two have the same.
func (d *desk) write(name, content string) {
	d.Helper()
	d.touch(d.Put(filepath.ToSlash(filepath.Join(".omp/agent/sessions", name)), content))
}

func (d *desk) touch(path string) {
	d.Helper()
	d.now = d.now.Add(time.Second + time.Millisecond)
	changed := d.now.Add(-500 * time.Millisecond)
	d.Must(os.Chtimes(path, changed, changed))
}

// search searches and fails the test on an error.
func (d *desk) search(f *Finder, text string, opt Options) *Result {
	d.Helper()
	res, err := f.Search(d.Context(), text, opt)
	if err != nil {
		d.Fatalf("%q: %v", text, err)
	}
	return res
}

// look returns what a finder knows of all sessions, signatures included.
func (d *desk) look(f *Finder) []string {
	d.Helper()
	rows, err := f.Catalogue(d.Context(), RefreshOptions{Problem: func(err error) { d.Error(err) }})
	d.Must(err)
	var list []string
	for i := range rows {
		r := &rows[i]
		line := fmt.Sprintf("%s %d %+v %v %s", r.Log.Name, r.Log.Size, *r.Known, r.Err, r.Short)
		l, ok := f.ix.Catalogue().PlaceOf(r.Source.Key(), r.Log.Name)
		if !ok {
			d.Fatalf("%s is not in the catalogue", r.Log.Name)
		}
		list = append(list, line+d.chunks(f.ix, l))
	}
	return list
}

// chunks describes the signatures of a log. The signature of a short one depends on the logs that share it.
func (d *desk) chunks(x *index.Index, l index.Place) (text string) {
	d.Helper()
	short := l.Logs.Brief(l.At).Size <= index.ShortLog
	if x.EachChunk([]index.Place{l}, func(_ int, c *index.Kept) {
		sum := past.Hash(c.Sig)
		if short {
			sum = 0
		}
		text += fmt.Sprintf("\n  %d-%d %x %v", c.From, c.To, sum, c.Sound())
	}) != nil {
		d.Fatalf("%s: its signatures are lost", l.Logs.At(l.At).Name)
	}
	return text
}

const header = `{"type":"session","version":3,"id":"%s","timestamp":"2026-05-01T10:00:00.000Z","cwd":"/p"%s}` + "\n"

// needle is the record of a message.
const needle = `{"type":"message","id":"00000001","parentId":null,"timestamp":"2026-05-01T10:00:01.000Z","message":{"role":"user","content":"needle"}}` + "\n"

// watched is a backend that reports each record that is read.
type watched struct {
	backend.Backend
	told func(at backend.Log, offset int64, r backend.Record, err error)
}

// watching wraps a backend in watched.
func watching(told func(at backend.Log, offset int64, r backend.Record, err error)) func(backend.Backend) backend.Backend {
	return func(b backend.Backend) backend.Backend { return &watched{b, told} }
}

func (w *watched) Read(ctx context.Context, at backend.Log, offset int64) iter.Seq2[backend.Record, error] {
	return func(yield func(backend.Record, error) bool) {
		for r, err := range w.Backend.Read(ctx, at, offset) {
			if w.told(at, offset, r, err); !yield(r, err) {
				return
			}
		}
	}
}

func (w *watched) Open(ctx context.Context, at backend.Log) (backend.Reader, error) {
	return backend.OpenLog(ctx, w.Backend, at)
}
