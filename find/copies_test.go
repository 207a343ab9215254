package find

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

// claudeLines returns a log of Claude Code: a message per minute. An answer has two lines, which both report that it used ten tokens.
func claudeLines(session string, minutes ...int) string {
	var b strings.Builder
	for _, n := range minutes {
		id := fmt.Sprintf("00000000-0000-4000-8000-%012d", n)
		tail := fmt.Sprintf(`"timestamp":"2026-03-02T10:%02d:00.000Z","cwd":"/p","sessionId":%q}`+"\n", n, session)
		if n%2 == 0 {
			fmt.Fprintf(&b, `{"parentUuid":null,"type":"user","message":{"role":"user","content":"prompt %d"},"uuid":%q,%s`, n, id, tail)
			continue
		}
		for _, half := range []string{id, "1" + id[1:]} {
			fmt.Fprintf(&b, `{"parentUuid":null,"type":"assistant","message":{"id":"msg_%d","role":"assistant","model":"m","content":[{"type":"text","text":"answer"}],`+
				`"usage":{"input_tokens":4,"output_tokens":6}},"uuid":%q,%s`, n, half, tail)
		}
	}
	return b.String()
}

// TestCopies: logs that begin with the same messages and do not name each other are forks. Shared messages count once, whichever log is
// removed, and however the logs grow.
func TestCopies(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	dir := d.At(".claude/projects/-p")
	path := func(id string) string { return filepath.Join(dir, id+".jsonl") }
	put := func(id string, minutes ...int) {
		d.Must(os.MkdirAll(dir, 0o700))
		d.Must(os.WriteFile(path(id), []byte(claudeLines(id, minutes...)), 0o600))
	}
	cache := t.TempDir()
	look := func(what string, messages int, want map[string]string) {
		t.Helper()
		rows, err := d.kept(cache).Catalogue(t.Context(), RefreshOptions{})
		d.Must(err)
		got, sum, tokens := map[string]string{}, 0, int64(0)
		for i := range rows {
			got[string(rows[i].ID)] = strings.TrimSuffix(filepath.Base(rows[i].Parent), ".jsonl")
			for _, s := range rows[i].Known.Spells.List() {
				if !s.Copied {
					sum, tokens = sum+s.Messages, tokens+s.Tokens.Total
				}
			}
		}
		for id, parent := range got {
			if parent == "." {
				got[id] = ""
			}
		}
		if diff := difftest.Diff(want, got); diff != "" {
			t.Errorf("%s: parents (-want +got):\n%s", what, diff)
		}
		if sum != messages || tokens != int64(messages/2*10) {
			t.Errorf("%s: %d messages and %d tokens of their own, want %d and %d", what, sum, tokens, messages, messages/2*10)
		}
	}
	put("s", 0, 1, 2, 3)
	look("one", 4, map[string]string{"s": ""})
	put("f", 0, 1, 2, 3, 4, 5)
	put("other", 20, 21)
	look("a fork", 8, map[string]string{"s": "", "f": "s", "other": ""})
	put("g", 0, 1, 2, 3, 4, 5, 6, 7)
	put("h", 0, 1, 8, 9)
	look("forks of forks", 12, map[string]string{"s": "", "f": "s", "g": "f", "h": "s", "other": ""})
	put("g", 0, 1, 2, 3, 4, 5, 6, 7, 10, 11)
	look("grown", 14, map[string]string{"s": "", "f": "s", "g": "f", "h": "s", "other": ""})
	put("s", 0, 1)
	look("the first is rewritten", 14, map[string]string{"s": "", "f": "s", "g": "f", "h": "s", "other": ""})
	d.Must(os.Remove(path("s")))
	look("without the first", 14, map[string]string{"f": "", "g": "f", "h": "f", "other": ""})
	d.Must(os.Remove(path("f")))
	d.Must(os.Remove(path("h")))
	look("one is left", 12, map[string]string{"g": "", "other": ""})
}

// TestCopiesAnew: after logs with common messages have grown, were rewritten and were removed, the index equals a new one.
func TestCopiesAnew(t *testing.T) {
	t.Parallel()
	c := soaktest.Begin(t)
	r := rand.New(rand.NewPCG(c.Seed(5), 6))
	for range c.Rounds(soaktest.Part(40, 8), 40) {
		d := newDesk(t)
		f := d.finder(nil)
		logs, next := map[string][]int{"s": {0, 1}}, 2
		long := strings.Repeat("answer ", 1+r.IntN(2)*6000) // one line, or most of a chunk
		for range 15 {
			ids := slices.Sorted(maps.Keys(logs))
			id := ids[r.IntN(len(ids))]
			switch kind := r.IntN(8); {
			case kind == 0 && len(logs) > 1:
				delete(logs, id)
				d.Must(os.RemoveAll(d.At(".claude/projects/-p/" + id + ".jsonl")))
				id = ""
			case kind == 1 && len(logs) < 5: // a fork, of all or a part, which may grow to all of it
				from := logs[id]
				id = fmt.Sprint("f", next)
				logs[id] = slices.Clone(from[:2+r.IntN(len(from)-1)])
			case kind == 2: // rewritten
				logs[id] = logs[id][:2+r.IntN(len(logs[id])-1)]
			case kind == 3: // more messages are copied
				for _, other := range ids {
					if n := len(logs[id]); len(logs[other]) > n && slices.Equal(logs[other][:n], logs[id]) {
						logs[id] = slices.Clone(logs[other])
						break
					}
				}
			case kind == 4: // a repeated message
				logs[id] = append(logs[id], logs[id][len(logs[id])-1])
			default:
				logs[id] = append(logs[id], next, next+1)
				next += 2
			}
			if id != "" {
				d.touch(d.Put(".claude/projects/-p/"+id+".jsonl", strings.ReplaceAll(claudeLines(id, logs[id]...), "answer", long)))
			}
			got, err := f.Catalogue(t.Context(), RefreshOptions{})
			d.Must(err)
			want, err := d.finder(nil).Catalogue(t.Context(), RefreshOptions{})
			d.Must(err)
			if diff := difftest.Diff(want, got, difftest.EmptyIsNil, difftest.Without("Row.Source", "Row.Dialect")); diff != "" {
				t.Fatalf("%v (-anew +known):\n%s", logs, diff)
			}
		}
	}
}

// stepping calls step before each read.
type stepping struct {
	backend.Backend
	step func()
}

func (b stepping) Stat(ctx context.Context, name string) (backend.Log, error) {
	b.step()
	return b.Backend.Stat(ctx, name)
}

func (b stepping) Read(ctx context.Context, at backend.Log, offset int64) iter.Seq2[backend.Record, error] {
	b.step()
	return b.Backend.Read(ctx, at, offset)
}

// TestCopiesInterrupted: wherever a refresh is interrupted, the next one, by another process, finds all copies.
func TestCopiesInterrupted(t *testing.T) {
	t.Parallel()
	for n, over := 0, false; !over; n++ {
		d := newDesk(t)
		cache := t.TempDir()
		put := func(id string, minutes ...int) {
			d.touch(d.Put(".claude/projects/-p/"+id+".jsonl", claudeLines(id, minutes...)))
		}
		put("a", 0, 1, 2, 3)
		put("b", 0, 1, 2, 3, 4, 5)
		put("c", 10, 11)
		_, err := d.kept(cache).Catalogue(t.Context(), RefreshOptions{})
		d.Must(err)
		put("d", 0, 1, 2, 3, 6, 7)
		put("e", 10, 11, 12, 13)
		d.Must(os.Remove(d.At(".claude/projects/-p/a.jsonl")))
		ctx, cancel := context.WithCancel(t.Context())
		left := n
		var mu sync.Mutex
		step := func() {
			mu.Lock()
			defer mu.Unlock()
			if left--; left < 0 {
				cancel()
			}
		}
		_, err = d.finder(index.Open(index.Options{Dir: cache}), func(b backend.Backend) backend.Backend { return stepping{b, step} }).Catalogue(ctx, RefreshOptions{})
		if over = left >= 0; err != nil && (over || !errors.Is(err, context.Canceled)) {
			t.Fatalf("step %d: %v", n, err)
		}
		got, err := d.kept(cache).Catalogue(t.Context(), RefreshOptions{})
		d.Must(err)
		want, err := d.finder(nil).Catalogue(t.Context(), RefreshOptions{})
		d.Must(err)
		if diff := difftest.Diff(want, got, difftest.EmptyIsNil, difftest.Without("Row.Source", "Row.Dialect")); diff != "" {
			t.Fatalf("step %d (-anew +known):\n%s", n, diff)
		}
		cancel()
	}
}

// TestCopiesNamed: forks that name a session which is gone are related to each other once, and not read again for each list.
func TestCopiesNamed(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	fork := func(id string, minutes ...int) string {
		from := `"forkedFrom":{"sessionId":"s","messageUuid":"00000000-0000-4000-8000-000000000000"},"sessionId"`
		return strings.ReplaceAll(claudeLines(id, minutes...), `"sessionId"`, from)
	}
	d.Put(".claude/projects/-p/s.jsonl", claudeLines("s", 0, 1, 2, 3))
	d.Put(".claude/projects/-p/f.jsonl", fork("f", 0, 1, 2, 3, 4, 5))
	d.Put(".claude/projects/-p/g.jsonl", fork("g", 0, 1, 6, 7))
	var read atomic.Int64 // logs are read in parallel
	f := d.finder(nil, watching(func(backend.Log, int64, backend.Record, error) { read.Add(1) }))
	look := func(want map[string]string) {
		t.Helper()
		got := map[string]string{}
		for range 2 {
			rows, err := f.Catalogue(t.Context(), RefreshOptions{})
			d.Must(err)
			for i := range rows {
				got[string(rows[i].ID)] = strings.TrimSuffix(filepath.Base(rows[i].Parent), ".jsonl")
			}
		}
		if diff := difftest.Diff(want, got); diff != "" {
			t.Errorf("parents (-want +got):\n%s", diff)
		}
		read.Store(0)
		if _, err := f.Catalogue(t.Context(), RefreshOptions{}); err != nil || read.Load() > 0 {
			t.Errorf("%d records are read again (error %v), want none", read.Load(), err)
		}
	}
	d.now = d.now.Add(24 * time.Hour) // the files are no longer new
	look(map[string]string{"s": ".", "f": "s", "g": "s"})
	d.Must(os.Remove(d.At(".claude/projects/-p/s.jsonl")))
	look(map[string]string{"f": "s", "g": "s"})
	d.Put(".claude/projects/-p/g.jsonl", fork("g", 0, 1, 6, 7, 8, 9))
	look(map[string]string{"f": "s", "g": "s"})
	d.Must(os.Remove(d.At(".claude/projects/-p/f.jsonl")))
	look(map[string]string{"g": "s"})
}

// TestCopiesMeanwhile: a log that is removed while it is compared with its copies does not hide other sessions.
func TestCopiesMeanwhile(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.Put(".claude/projects/-p/s.jsonl", claudeLines("s", 0, 1, 2, 3))
	d.Put(".claude/projects/-p/f.jsonl", claudeLines("f", 0, 1, 2, 3, 4, 5))
	reads := 0
	f := d.finder(nil, func(b backend.Backend) backend.Backend { return &failing{b, "f.jsonl", &reads} })
	rows, err := f.Catalogue(t.Context(), RefreshOptions{})
	if err != nil || len(rows) != 2 || reads < 2 {
		t.Errorf("%d sessions after %d reads, %v; want 2 sessions", len(rows), reads, err)
	}
	if rows, err = f.Catalogue(t.Context(), RefreshOptions{}); err != nil || rows[0].Parent == rows[1].Parent {
		t.Errorf("they are not related: %v", err)
	}
}

// failing is a backend with a log that is gone when it is read for the second time.
type failing struct {
	backend.Backend
	name  string
	reads *int
}

func (f *failing) Read(ctx context.Context, at backend.Log, offset int64) iter.Seq2[backend.Record, error] {
	if strings.HasSuffix(at.Name, f.name) {
		if *f.reads++; *f.reads == 2 {
			return func(yield func(backend.Record, error) bool) { yield(backend.Record{}, backend.ErrNotExist) }
		}
	}
	return f.Backend.Read(ctx, at, offset)
}

func (f *failing) Open(ctx context.Context, at backend.Log) (backend.Reader, error) {
	return backend.OpenLog(ctx, f.Backend, at)
}
