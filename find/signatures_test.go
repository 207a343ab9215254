package find

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/query"
)

// TestMovedSignatures: during a search another process may move all signatures to another file. Logs that were listed before are then
// searched as a whole, are not reported as damaged, and stay in the catalogue.
func TestMovedSignatures(t *testing.T) {
	t.Parallel()
	m := newDesk(t)
	long := strings.Replace(needle, "needle", strings.Repeat("x ", index.ShortLog), 1) // so that each has a signature of its own
	for _, name := range []string{"a", "b", "c"} {
		m.write("a/"+name+".jsonl", fmt.Sprintf(header, name, "")+needle+strings.Replace(long, "00000001", "00000002", 1))
	}
	x := index.Open(index.Options{Dir: t.TempDir(), Garbage: 1, Notice: func(text string) { t.Error(text) }})
	defer x.Close()
	s := m.finder(x)
	m.look(s)
	q, err := query.Parse("needle", query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := &search{f: s}
	if err := f.list(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		if err := os.Remove(m.path("a/" + name + ".jsonl")); err != nil {
			t.Fatal(err)
		}
	}
	m.look(s) // the other process: most of the signatures are garbage now, and the others are moved
	hits, _, _, err := f.find(t.Context(), []*query.Query{q})
	if err != nil || len(hits) != 1 || hits[0].Session.ID != "c" {
		t.Errorf("%d hits: %v", len(hits), err)
	}
	if len(f.lost) > 0 {
		t.Errorf("logs would be read again: %+v", f.lost)
	}
}

// TestDamagedSignatures: damaged signatures hide no hit. They are reported, and made again.
func TestDamagedSignatures(t *testing.T) {
	t.Parallel()
	m, dir := newDesk(t), t.TempDir()
	for i := range 3 {
		m.write(fmt.Sprintf("a/%d.jsonl", i), fmt.Sprintf(header, fmt.Sprint("s", i), "")+
			needle)
	}
	var said []string
	search := func() {
		t.Helper()
		said = nil
		x := index.Open(index.Options{Dir: dir, Notice: func(text string) { said = append(said, text) }})
		defer x.Close()
		res, err := m.finder(x).Search(t.Context(), "needle", Options{})
		if err != nil || len(res.Hits) != 3 {
			t.Fatalf("%d hits, not 3: %v", len(res.Hits), err)
		}
	}
	search()
	path := filepath.Join(dir, "signatures-0")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[8] ^= 1 // in the directory of the first log, which is always checked
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if search(); len(said) != 1 || !strings.Contains(said[0], "damaged") {
		t.Errorf("of the damage was said %q", said)
	}
	// Another process that searches now still knows all sessions.
	if known := index.Open(index.Options{Dir: dir}).Catalogue(); len(known.Sources) != 1 || known.Sources[0].Logs.Len() != 3 {
		t.Errorf("not all sessions are known meanwhile: %+v", known.Sources)
	}
	if search(); len(said) != 0 {
		t.Errorf("it was not mended: %q", said)
	}
	search()
	x := index.Open(index.Options{Dir: dir})
	defer x.Close()
	m.look(m.finder(x)) // fails if signatures are lost
}

// changing is a backend that changes a log before the first large piece from its beginning is read.
type changing struct {
	backend.Backend
	change *func() // nil once it is done
}

func (c *changing) Open(ctx context.Context, at backend.Log) (backend.Reader, error) {
	r, err := c.Backend.(backend.Opener).Open(ctx, at)
	if err != nil {
		return nil, err
	}
	return &changingReader{r, c}, nil
}

type changingReader struct {
	backend.Reader
	c *changing
}

func (r *changingReader) ReadAt(p []byte, off int64) (int, error) {
	if change := *r.c.change; change != nil && off == 0 && len(p) > 8<<10 {
		*r.c.change = nil
		change()
	}
	return r.Reader.ReadAt(p, off)
}

// TestSearchChangedMeanwhile: a log that is replaced during a search is searched as it is then.
func TestSearchChangedMeanwhile(t *testing.T) {
	t.Parallel()
	m := newDesk(t)
	session := func(entries int, parent func(i int) string) string {
		var b strings.Builder
		fmt.Fprintf(&b, header, "s", `,"title":"needle"`)
		for i := range entries {
			fmt.Fprintf(&b, `{"type":"message","id":"%08x","parentId":%s,"timestamp":"2026-05-01T10:00:01.000Z","message":{"role":"user","content":"needle %d %s"}}`+"\n",
				i+1, parent(i), i, strings.Repeat("word ", 200))
		}
		return b.String()
	}
	row := func(i int) string {
		if i == 0 {
			return "null"
		}
		return fmt.Sprintf("%q", fmt.Sprintf("%08x", i))
	}
	const before, after = 150, 200
	m.write("a/a.jsonl", session(before, row))
	var change func()
	s := m.finder(nil, func(b backend.Backend) backend.Backend { return &changing{b, &change} })
	m.look(s)
	change = func() { m.write("a/a.jsonl", session(after, func(int) string { return "null" })) }
	res, err := s.Search(t.Context(), "needle", Options{Problem: func(err error) { t.Error(err) }})
	if err != nil || change != nil {
		t.Fatalf("%v, and the log was changed: %v", err, change == nil)
	}
	active := 0
	for _, h := range res.Hits {
		if h.OnPath && h.Entry != "" {
			active++
		}
	}
	if len(res.Hits) != after+1 || active != 1 {
		t.Errorf("%d hits, %d of them active; want %d and 1", len(res.Hits), active, after+1)
	}
}

// shorter is a backend in which the next log that is opened turns out to be cut off in the middle of its last record.
type shorter struct {
	backend.Backend
	cut *bool // false once it is done
}

func (s *shorter) Open(ctx context.Context, at backend.Log) (backend.Reader, error) {
	r, err := s.Backend.(backend.Opener).Open(ctx, at)
	if err != nil || !*s.cut {
		return r, err
	}
	defer r.Close()
	*s.cut = false
	text := make([]byte, at.Size-10)
	_, err = r.ReadAt(text, 0)
	return backend.NewReader(text), err
}

// TestSearchShorter: a log that becomes shorter during a search is searched as it is then, with and without signatures.
func TestSearchShorter(t *testing.T) {
	t.Parallel()
	for _, known := range []bool{true, false} {
		m := newDesk(t)
		m.write("a/a.jsonl", fmt.Sprintf(header, "s", "")+needle)
		cut := false
		s := m.finder(nil, func(b backend.Backend) backend.Backend { return &shorter{b, &cut} })
		m.look(s)
		q, err := query.Parse("needle", query.Options{})
		m.Must(err)
		f := &search{f: s}
		m.Must(f.list(t.Context()))
		if f.row(&f.all[0]); !known {
			f.all[0].at = -1
		}
		cut = true
		hits, _, _, err := f.find(t.Context(), []*query.Query{q})
		if err != nil || len(hits) != 1 {
			t.Errorf("with signatures %v: %d hits, %v; want 1", known, len(hits), err)
		}
	}
}

// TestSearchReplacedByOtherProject: a log that becomes one of another project during a search is not searched for a caller to whom that
// project does not exist.
func TestSearchReplacedByOtherProject(t *testing.T) {
	t.Parallel()
	for _, other := range []string{"/p", "/vault"} {
		m := newDesk(t)
		m.write("a/a.jsonl", fmt.Sprintf(header, "s", "")+needle)
		s := m.finder(nil)
		m.look(s)
		replaced := false
		res := m.search(s, "needle", Options{Project: func(cwd string) bool {
			if !replaced {
				replaced = true
				m.Must(os.Remove(m.path("a/a.jsonl")))
				m.write("a/a.jsonl", strings.Replace(fmt.Sprintf(header, "longer", ""), `"/p"`, fmt.Sprintf("%q", other), 1)+needle)
			}
			return cwd == "/p"
		}})
		if want := map[string]int{"/p": 1}[other]; len(res.Hits) != want {
			t.Errorf("replaced by a log of %s: %d hits, want %d", other, len(res.Hits), want)
		}
	}
}

// TestReadLong: a log with an impossible size is read up to its end, and no memory is allocated for the rest.
func TestReadLong(t *testing.T) {
	t.Parallel()
	if data, err := new(matcher).read(backend.NewReader([]byte("short")), 0, 1<<60); !errors.Is(err, backend.ErrChanged) {
		t.Errorf("%q, %v; want the error backend.ErrChanged", data, err)
	}
}
