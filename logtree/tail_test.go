package logtree_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/file"
	"github.com/treeline-dev/treeline/backend/memory"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/logtree"
)

const (
	name   = "a.jsonl"
	header = `{"title":"one"}` + "\n"
)

func line(n int) string { return fmt.Sprintf(`{"entry":%d}`+"\n", n) }

// writer changes a log like a program that does not use backends.
type writer struct {
	*testing.T
	b    backend.Backend
	path string // of the file, "" in memory
	put  func(text string)
	add  func(text string) // nil: the log can only be written as a whole
}

func files(t *testing.T) writer {
	dir := t.TempDir()
	path := filepath.Join(dir, name)
	b, err := file.New(dir, file.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	w := writer{T: t, b: b, path: path}
	w.put = func(text string) {
		w.must(os.WriteFile(path+".new", []byte(text), 0o600))
		w.must(os.Rename(path+".new", path))
	}
	w.add = func(text string) {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		w.must(err)
		_, err = f.WriteString(text)
		w.must(errors.Join(err, f.Close()))
	}
	return w
}

func inMemory(t *testing.T) writer {
	b := memory.New()
	return writer{T: t, b: b, put: func(text string) { b.Put(name, []byte(text)) }}
}

func (w writer) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// remove removes the log.
func (w writer) remove() {
	w.Helper()
	if m, ok := w.b.(*memory.Backend); ok {
		at, err := m.Stat(w.Context(), name)
		w.must(err)
		w.must(m.Remove(w.Context(), at))
		return
	}
	w.must(os.Remove(w.path))
}

// tail reads the log to its end.
func (w writer) tail(wait bool) *logtree.Tail {
	w.Helper()
	t := &logtree.Tail{Backend: w.b, At: backend.Log{Name: name}, Wait: wait}
	w.Cleanup(t.Close)
	at, err := w.b.Stat(w.Context(), name)
	w.must(err)
	w.read(t, at)
	t.SetHead(w.Context(), int64(len(header)))
	return t
}

// read returns the new records: the line number and the text of each, followed by "…" if it is torn.
func (w writer) read(t *logtree.Tail, now backend.Log) (list []string) {
	w.Helper()
	for r, err := range t.Records(w.Context(), now) {
		w.must(err)
		text := fmt.Sprintf("%d %s", r.Line, r.Data)
		if r.Torn {
			text += "…"
		}
		list = append(list, text)
	}
	return list
}

// want compares what became of the log, and reads the new records if it has grown.
func (w writer) want(t *logtree.Tail, want logtree.Change, records ...string) {
	w.Helper()
	now, got, err := t.Look(w.Context())
	w.must(err)
	if got != want {
		w.Fatalf("change %d, want %d", got, want)
	}
	if got == logtree.Grown || got == logtree.Mended {
		if diff := difftest.Diff(records, w.read(t, now)); diff != "" {
			w.Fatalf("records:\n%s", diff)
		}
	}
}

func TestTailSaysWhatBecameOfALog(t *testing.T) {
	t.Parallel()
	whole := header + line(1) + line(2) + line(3)
	for _, tc := range []struct {
		name, now string
		want      logtree.Change
	}{
		{"longer", whole + line(4), logtree.Replaced},
		{"shorter", header + line(1), logtree.Truncated},
		{"empty", "", logtree.Truncated},
		{"shorter, with other entries", header + line(7) + line(8), logtree.Replaced},
		{"shorter, with another header", `{"title":"two"}` + "\n" + line(1), logtree.Replaced},
		{"another", header + line(4) + line(5) + line(6), logtree.Replaced},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, w := range []writer{files(t), inMemory(t)} {
				w.put(whole)
				tail := w.tail(true)
				w.want(tail, logtree.Same)
				w.put(tc.now)
				w.want(tail, tc.want)
				w.remove()
				w.want(tail, logtree.Removed)
			}
		})
	}
}

func TestTailGrows(t *testing.T) {
	t.Parallel()
	b := memory.New()
	w := inMemory(t)
	w.b = b
	at, err := b.Create(t.Context(), name, []byte(strings.TrimSpace(header)))
	w.must(err)
	tail := follow(t.Context(), b, at, int64(len(header)))
	tail.Line = 1
	_, err = b.Append(t.Context(), at, []byte(`{"entry":1}`), []byte(`{"entry":2}`))
	w.must(err)
	w.want(&tail, logtree.Grown, `2 {"entry":1}`, `3 {"entry":2}`)
	w.want(&tail, logtree.Same)
	if stands, err := tail.Stands(t.Context()); !stands || err != nil {
		t.Errorf("stands %v, error %v", stands, err)
	}
}

func TestTailTornRecord(t *testing.T) {
	t.Parallel()
	w := files(t)
	w.put(header + line(1)[:5])
	tail := w.tail(true)
	w.want(tail, logtree.Same)
	w.add(line(1)[5:8])
	w.want(tail, logtree.Grown)
	w.add(line(1)[8:] + line(2)[:3])
	w.want(tail, logtree.Grown, `2 {"entry":1}`)
	w.add(line(2)[3:])
	w.want(tail, logtree.Grown, `3 {"entry":2}`)

	impatient := w.tail(false)
	w.add(line(3)[:5])
	w.want(impatient, logtree.Grown, `4 {"ent…`)
	if !impatient.Unterminated {
		t.Error("the last line is not unterminated")
	}
}

// An append of another program moves a torn record aside first.
func TestTailTornRecordMovedAside(t *testing.T) {
	t.Parallel()
	for _, w := range []writer{files(t), inMemory(t)} {
		w.put(header + line(1) + `{"ent`)
		tail := w.tail(true)
		w.put(header + line(1))
		w.want(tail, logtree.Mended)
		w.put(header + line(1) + `{"ent`)
		tail = w.tail(true)
		w.put(header + line(1) + line(2))
		w.want(tail, logtree.Mended, `3 {"entry":2}`)
		w.want(tail, logtree.Same)
	}
}

func TestTailUnterminatedLine(t *testing.T) {
	t.Parallel()
	w := files(t)
	w.put(header + strings.TrimSpace(line(1)))
	tail := w.tail(true)
	w.add("\n" + line(2))
	w.want(tail, logtree.Grown, `3 {"entry":2}`)
	w.add(strings.TrimSpace(line(3)))
	w.want(tail, logtree.Grown, `4 {"entry":3}…`)
	w.add(line(4)) // glued to the torn record
	w.want(tail, logtree.Grown, `4 {"entry":4}`)
	w.add("\r\n")
	w.want(tail, logtree.Grown, `5 `)
}

func TestTailEditedHeader(t *testing.T) {
	t.Parallel()
	w := files(t)
	w.put(header + strings.Repeat(line(1), 9)) // so long that the generation, which covers the end of the log, does not cover the header
	tail := w.tail(true)
	info, err := os.Stat(w.path)
	w.must(err)
	f, err := os.OpenFile(w.path, os.O_WRONLY, 0)
	w.must(err)
	_, err = f.WriteAt([]byte(`{"title":"two"}`), 0)
	w.must(errors.Join(err, f.Close()))
	// The edit is noticed even if the clock of the file system did not advance.
	w.must(os.Chtimes(w.path, info.ModTime(), info.ModTime()))
	w.want(tail, logtree.Edited)
	w.add(line(2))
	w.want(tail, logtree.Edited)
}

// counting counts how often records are read.
type counting struct {
	*file.Backend
	reads int
}

func (c *counting) Read(ctx context.Context, at backend.Log, offset int64) iter.Seq2[backend.Record, error] {
	if offset < at.Size {
		c.reads++
	}
	return c.Backend.Read(ctx, at, offset)
}

// A very long record that arrives in many pieces is read once it has ended, not with each piece.
func TestTailLongLine(t *testing.T) {
	t.Parallel()
	w := files(t)
	b := &counting{Backend: w.b.(*file.Backend)}
	w.put(header)
	tail := w.tail(true)
	tail.Backend = b
	long := `{"entry":"` + strings.Repeat("long ", 1<<19) + `"}`
	pieces := 0
	for rest := long; rest != ""; pieces++ {
		n := min(len(rest), 200_000)
		w.add(rest[:n])
		rest = rest[n:]
		w.want(tail, logtree.Grown)
	}
	if b.reads == 0 || b.reads > pieces/2 {
		t.Errorf("%d reads of %d pieces", b.reads, pieces)
	}
	w.add("\n" + line(2))
	w.want(tail, logtree.Grown, "2 "+long, `3 {"entry":2}`)
}

// What was written to a log before it lost its name is read from the held log.
func TestTailRest(t *testing.T) {
	t.Parallel()
	w := files(t)
	w.put(header + line(1))
	tail := w.tail(true)
	if c, _ := tail.Rest(); c != logtree.Removed {
		t.Fatalf("nothing is held: %d", c)
	}
	if !tail.Hold(t.Context(), tail.At) {
		t.Fatal("a file cannot be held")
	}
	rest := func(want logtree.Change, records ...string) {
		t.Helper()
		c, list := tail.Rest()
		if c != want {
			t.Fatalf("rest %d, want %d", c, want)
		}
		if c == logtree.Replaced {
			tail.Rewind()
		}
		var got []string
		for r := range list {
			got = append(got, fmt.Sprintf("%d %s", r.Line, r.Data))
		}
		if diff := difftest.Diff(records, got); diff != "" {
			t.Fatalf("records:\n%s", diff)
		}
	}
	w.add(line(2) + line(3)[:5])
	w.must(os.Rename(w.path, w.path+".old"))
	w.put(`{"title":"two"}` + "\n")
	w.want(tail, logtree.Replaced)
	rest(logtree.Grown, `3 {"entry":2}`)
	w.must(os.WriteFile(w.path+".old", []byte(header+line(4)), 0o600)) // the same file, rewritten
	rest(logtree.Replaced, `1 {"title":"one"}`, `2 {"entry":4}`)
	tail.Close()
	if c, _ := tail.Rest(); c != logtree.Removed {
		t.Fatalf("nothing is held any more: %d", c)
	}
}

func TestTailOfADocument(t *testing.T) {
	t.Parallel()
	b := memory.New()
	b.Put("a.json", []byte("{\n}"))
	at, err := b.Stat(t.Context(), "a.json")
	if err != nil {
		t.Fatal(err)
	}
	tail := follow(t.Context(), b, at, 0)
	w := writer{T: t, b: b}
	w.want(&tail, logtree.Same)
	b.Put("a.json", []byte("{\n\n}"))
	w.want(&tail, logtree.Replaced)
	now, err := b.Stat(t.Context(), "a.json")
	w.must(err)
	if diff := difftest.Diff([]string{"1 {\n\n}"}, w.read(&tail, now)); diff != "" {
		t.Error(diff)
	}
	w.want(&tail, logtree.Same)
}

func TestTailReportsErrors(t *testing.T) {
	t.Parallel()
	b := memory.New()
	b.Put(name, []byte(header))
	at, err := b.Stat(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	tail := follow(t.Context(), b, at, int64(len(header)))
	b.Close()
	if _, _, err := tail.Look(t.Context()); !errors.Is(err, backend.ErrClosed) {
		t.Errorf("look: %v", err)
	}
	if _, err := tail.Compare(t.Context(), at); !errors.Is(err, backend.ErrClosed) {
		t.Errorf("compare: %v", err)
	}
	tail.Rewind()
	for _, err := range tail.Records(t.Context(), at) {
		if !errors.Is(err, backend.ErrClosed) {
			t.Errorf("records: %v", err)
		}
	}
}

// follow returns the Tail of a log that was read up to its end. The first head bytes are its header.
func follow(ctx context.Context, b backend.Backend, at backend.Log, head int64) logtree.Tail {
	t := logtree.Tail{Backend: b, At: at, Pos: at.Size}
	t.SetHead(ctx, head)
	return t
}
