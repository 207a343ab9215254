package backendtest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
)

// create: a name is taken once, and a refused Create changes nothing.
func create(t *testing.T, p *prober) {
	p.fill("a.jsonl", "one", "two")
	p.holds("a.jsonl", "one", "two")
	_, err := p.b.Create(p.ctx, "a.jsonl", []byte("three"))
	p.is(err, backend.ErrExist, "a.jsonl")
	p.holds("a.jsonl", "one", "two")
	// A log can neither be in a log nor replace a folder.
	if _, err := p.b.Create(p.ctx, "a.jsonl/b.jsonl", []byte("r")); err == nil {
		t.Error("a log was made below a log")
	}
	p.fill("f/b.jsonl", "r")
	if _, err := p.b.Create(p.ctx, "f", []byte("r")); err == nil {
		t.Error("a log was made in the place of a folder")
	}
	p.holds("f/b.jsonl", "r")
}

// createFrom: records may come in a sequence, and the backend keeps no reference to them. If one is an error, there is no log.
func createFrom(t *testing.T, p *prober) {
	failing := errors.New("no more")
	records := func(end error, list ...string) iter.Seq2[[]byte, error] {
		return func(yield func([]byte, error) bool) {
			room := make([]byte, 100)
			for _, r := range list {
				if !yield(room[:copy(room, r)], nil) {
					return
				}
			}
			if end != nil {
				yield(nil, end)
			}
		}
	}
	for name, b := range map[string]backend.Backend{"f/a.jsonl": p.b, "g/a.jsonl": plain{p.b}} {
		at, err := backend.CreateFrom(p.ctx, b, name, records(nil, "one", "two"))
		if err != nil {
			t.Fatal(err)
		}
		p.holds(name, "one", "two")
		p.append(at, "three")
		p.is(second(backend.CreateFrom(p.ctx, b, name, records(nil, "four"))), backend.ErrExist, name)
		p.holds(name, "one", "two", "three")
		p.is(second(backend.CreateFrom(p.ctx, b, "b.jsonl", records(failing, "one"))), failing, "")
		p.is(second(backend.CreateFrom(p.ctx, b, "b.jsonl", records(nil, "one", "two\nlines"))), backend.ErrRecord, "b.jsonl")
		p.is(second(p.b.Stat(p.ctx, "b.jsonl")), backend.ErrNotExist, "")
	}
	if _, err := backend.CreateFrom(p.ctx, p.b, "other.json", records(nil, "{}")); err != nil {
		t.Error(err)
	}
	p.holds("other.json", "{}")
}

// appendRecords: Append returns what Stat says, so that it is the token of the next append. The records are the last bytes
// of the log. Without records nothing changes.
func appendRecords(t *testing.T, p *prober) {
	at := p.fill("a.jsonl")
	var want []string
	for i := range 50 {
		more := slices.Repeat([]string{fmt.Sprintf(`{"n":%d}`, i)}, i%4)
		before := at
		at = p.append(at, more...)
		want = append(want, more...)
		if !at.Same(p.stat("a.jsonl")) {
			t.Fatalf("Append returned %+v, Stat says %+v", at, p.stat("a.jsonl"))
		}
		// The old token still reads the old records, and the new one reads on from its end.
		p.equal(p.read(before, 0), want[:len(want)-len(more)])
		p.equal(p.read(at, before.Size), more)
	}
	p.equal(p.read(at, 0), want)
}

// appendToOddEnds: no two records ever share a line, and a torn record is moved, not lost.
func appendToOddEnds(t *testing.T, p *prober) {
	for i, tc := range []struct {
		content string
		want    []string
		torn    string
	}{
		{"", []string{"new"}, ""},
		{"{}\n", []string{"{}", "new"}, ""},
		{"{}\n{\"whole\":1}", []string{"{}", `{"whole":1}`, "new"}, ""},
		{`{"alone":1}`, []string{`{"alone":1}`, "new"}, ""},
		{"{}\n{\"to", []string{"{}", "new"}, `{"to`},
		{`{"to`, []string{"new"}, `{"to`},
		{"{}\n\x00\x00\x00", []string{"{}", "new"}, "\x00\x00\x00"},
		{"{}\r\n", []string{"{}", "new"}, ""},
		{"garbage\n", []string{"garbage", "new"}, ""},
	} {
		name := fmt.Sprintf("%d.jsonl", i)
		at := p.append(p.put(name, tc.content), "new")
		if !at.Same(p.stat(name)) {
			t.Errorf("%q: Append returned %+v, Stat says %+v", tc.content, at, p.stat(name))
		}
		p.equal(p.read(at, 0), tc.want)
		var kept []string
		for _, side := range p.list(name + ".torn-") {
			all, err := backend.ReadAll(p.ctx, p.b, side)
			if err != nil {
				t.Fatal(err)
			}
			kept = append(kept, string(all))
		}
		if strings.Join(kept, "") != tc.torn {
			t.Errorf("%q: kept %q, want %q", tc.content, kept, tc.torn)
		}
		p.append(at, "newer")
		p.holds(name, append(tc.want, "newer")...)
	}
}

// conflict: a token is good once. Every mutation refuses an old one and writes nothing.
func conflict(t *testing.T, p *prober) {
	old := p.fill("a.jsonl", "one")
	now := p.append(old, "two")
	p.is(second(p.b.Append(p.ctx, old)), backend.ErrConflict, "a.jsonl")
	p.refuses(old, backend.ErrConflict, "a.jsonl")
	p.holds("a.jsonl", "one", "two")
	if !now.Same(p.stat("a.jsonl")) {
		t.Error("a refused mutation changed the log")
	}
	p.append(now, "three")
	p.holds("a.jsonl", "one", "two", "three")
	// A mutation never creates a log.
	for _, at := range []backend.Log{{Name: "no.jsonl"}, {Name: "no.jsonl", Generation: now.Generation, Size: now.Size}} {
		p.refuses(at, backend.ErrConflict, "no.jsonl")
		p.is(second(p.b.Stat(p.ctx, "no.jsonl")), backend.ErrNotExist, "no.jsonl")
	}
}

// conflictWithOthers: a change by another program is noticed before the write.
func conflictWithOthers(t *testing.T, p *prober) {
	const name = "a.jsonl"
	for _, content := range []string{
		"{\"id\":1}\n{\"id\":2}\n{\"id\":3}\n", // grown
		"{\"id\":1}\n",                         // cut
		"{\"id\":1}\n{\"id\":7}\n",             // same length
		"",
	} {
		at := p.append(p.put(name, "{\"id\":1}\n"), `{"id":2}`)
		p.put(name, content)
		p.refuses(at, backend.ErrConflict, name)
		p.holds(name, slices.Collect(strings.SplitSeq(strings.TrimSuffix(content, "\n"), "\n"))[:strings.Count(content, "\n")]...)
	}
}

// replace: atomic, always a new generation, and no token of the old log matches the new one.
func replace(t *testing.T, p *prober) {
	old := p.fill("a.jsonl", "one", "two")
	now := p.replace(old, "other")
	if !now.Same(p.stat("a.jsonl")) || now.Generation == old.Generation {
		t.Errorf("Replace returned %+v, Stat says %+v", now, p.stat("a.jsonl"))
	}
	p.is(second(readAll(p.ctx, p.b, old, 0)), backend.ErrChanged, "a.jsonl")
	p.refuses(old, backend.ErrConflict, "a.jsonl")
	p.append(now, "more")
	p.holds("a.jsonl", "other", "more")
	// A log replaced by the same bytes has a new generation too.
	at := p.stat("a.jsonl")
	same := p.replace(at, "other", "more")
	if same.Generation == at.Generation {
		t.Errorf("replaced by the same: generation is still %q", at.Generation)
	}
	if same = p.replace(same); same.Size != 0 {
		t.Errorf("replaced by nothing: %+v", same)
	}
	whole := p.fill("state.json", "{}")
	content := "{\n}"
	if backend.Lines(p.b, "state.json") {
		content = "[]"
	}
	p.replace(whole, content)
	p.holds("state.json", content)
}

// remove: the log is gone, and a later log of the same name and content is another one.
func remove(t *testing.T, p *prober) {
	at := p.append(p.fill("f/a.jsonl", "one"), "two")
	p.remove(at)
	p.is(second(p.b.Stat(p.ctx, "f/a.jsonl")), backend.ErrNotExist, "f/a.jsonl")
	p.is(second(readAll(p.ctx, p.b, at, 0)), backend.ErrNotExist, "f/a.jsonl")
	p.refuses(at, backend.ErrConflict, "f/a.jsonl")
	for _, at := range p.list("") {
		t.Errorf("still listed: %v", at)
	}
	// The name is free again, and the old token does not match the new log.
	p.fill("f/a.jsonl", "one", "two")
	p.refuses(at, backend.ErrConflict, "f/a.jsonl")
}

// badRecords: a batch with one bad record is refused as a whole.
func badRecords(t *testing.T, p *prober) {
	at := p.fill("a.jsonl", "r")
	whole := p.fill("state.json", "{}")
	bad, good := []byte("two\nlines"), []byte("x")
	refused := map[string]error{
		"newline in Create":  second(p.b.Create(p.ctx, "b.jsonl", good, bad)),
		"newline in Append":  second(p.b.Append(p.ctx, at, good, bad)),
		"newline in Replace": second(p.b.Replace(p.ctx, at, good, bad)),
	}
	if !backend.Lines(p.b, "state.json") {
		refused["append to a whole log"] = second(p.b.Append(p.ctx, whole, good))
		refused["no record in a whole log"] = second(p.b.Create(p.ctx, "b.json"))
		refused["two in a whole log"] = second(p.b.Replace(p.ctx, whole, good, good))
	}
	for what, err := range refused {
		if !errors.Is(err, backend.ErrRecord) {
			t.Errorf("%s: %v, want ErrRecord", what, err)
		}
	}
	p.holds("a.jsonl", "r")
	p.holds("state.json", "{}")
	p.is(second(p.b.Stat(p.ctx, "b.jsonl")), backend.ErrNotExist, "")
	p.is(second(p.b.Stat(p.ctx, "b.json")), backend.ErrNotExist, "")
}

// reopen: all logs are there after Close, and tokens are still good.
func reopen(t *testing.T, p *prober) {
	at := p.append(p.fill("a/b.jsonl", "one"), "two")
	p.fill("state.json", "{}")
	p.again()
	if !at.Same(p.stat("a/b.jsonl")) {
		t.Errorf("was %+v, is %+v", at, p.stat("a/b.jsonl"))
	}
	at = p.append(at, "three")
	p.again()
	p.equal(p.read(at, 0), []string{"one", "two", "three"})
	p.holds("state.json", "{}")
	p.remove(at)
	p.again()
	p.is(second(p.b.Stat(p.ctx, "a/b.jsonl")), backend.ErrNotExist, "")
}

// cancelled: a mutation that is cancelled before it begins changes nothing.
func cancelled(t *testing.T, p *prober) {
	at := p.fill("a.jsonl", "one")
	cause := errors.New("never mind")
	ctx, cancel := context.WithCancelCause(p.ctx)
	cancel(cause)
	p.is(second(p.b.Create(ctx, "b.jsonl")), cause, "")
	p.is(second(p.b.Append(ctx, at, []byte("x"))), cause, "")
	p.is(second(p.b.Replace(ctx, at, []byte("x"))), cause, "")
	p.is(p.b.Remove(ctx, at), cause, "")
	p.holds("a.jsonl", "one")
	if !at.Same(p.stat("a.jsonl")) {
		t.Error("a cancelled mutation changed the log")
	}
}

// cancelledAppend: an append that returns the cause of its context has written nothing, and writes nothing later. Contexts are
// cancelled at many moments, before, during and after the append.
func cancelledAppend(t *testing.T, p *prober) {
	at := p.fill("a.jsonl", "one")
	cause := errors.New("never mind")
	for i := range 100 {
		ctx, cancel := context.WithCancelCause(p.ctx)
		timer := time.AfterFunc(time.Duration(i)*20*time.Microsecond, func() { cancel(cause) })
		now, err := p.b.Append(ctx, at, []byte("cancelled"))
		timer.Stop()
		cancel(nil)
		if err != nil {
			p.is(err, cause, "")
			now, err = p.b.Append(p.ctx, at, []byte("next"))
		}
		if err != nil {
			t.Fatalf("append %d: %v", i, err)
		}
		at = now
	}
}

// readWhileWriting: a reader sees the log as its token shows it, or ErrChanged.
func readWhileWriting(t *testing.T, p *prober) {
	record := strings.Repeat("r", 1000)
	at := p.fill("a.jsonl", slices.Repeat([]string{record}, 500)...)
	now, n := at, 0
	for r, err := range p.b.Read(p.ctx, at, 0) {
		if errors.Is(err, backend.ErrChanged) {
			break
		}
		if err != nil || string(r.Data) != record {
			t.Fatalf("record %d: %.40q, %v", n, r.Data, err)
		}
		n++
		switch n {
		case 10, 20, 30:
			now = p.append(now, "appended")
		case 40:
			now = p.replace(now, "replaced")
		case 50:
			p.remove(now)
		}
	}
	if n < 40 || n > 500 {
		t.Errorf("%d records", n)
	}
}

// race: of several writers with the same token exactly one appends. Nothing is lost or written twice.
func race(t *testing.T, p *prober) {
	const writers, each = 4, 25
	p.fill("a.jsonl")
	other := p.open()
	defer other.Close()
	var group sync.WaitGroup
	for w := range writers {
		b := p.b
		if w%2 == 1 {
			b = other // as another process would
		}
		group.Go(func() {
			for i := 0; i < each; {
				at, err := b.Stat(p.ctx, "a.jsonl")
				if err == nil {
					_, err = b.Append(p.ctx, at, fmt.Appendf(nil, "%d %d", w, i))
				}
				switch {
				case err == nil:
					i++
				case !errors.Is(err, backend.ErrConflict):
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	var next [writers]int
	for _, r := range p.read(p.stat("a.jsonl"), 0) {
		var w, i int
		if _, err := fmt.Sscan(r, &w, &i); err != nil || next[w] != i {
			t.Fatalf("record %q, expected number %d of writer %d (%v)", r, next[w], w, err)
		}
		next[w]++
	}
	if next != [writers]int{each, each, each, each} {
		t.Errorf("records per writer: %v", next)
	}
}
