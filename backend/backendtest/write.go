package backendtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/treeline-dev/treeline/backend"
)

// create: a name is taken once, and a refused Create leaves what is there alone.
func create(t *testing.T, p *prober) {
	p.fill("a.jsonl", "one", "two")
	p.holds("a.jsonl", "one", "two")
	_, err := p.b.Create(p.ctx, "a.jsonl", []byte("three"))
	p.is(err, backend.ErrExist, "a.jsonl")
	p.holds("a.jsonl", "one", "two")
	// A log cannot be in a log, nor where a folder is.
	if _, err := p.b.Create(p.ctx, "a.jsonl/b.jsonl", []byte("r")); err == nil {
		t.Error("a log was made below a log")
	}
	p.fill("f/b.jsonl", "r")
	if _, err := p.b.Create(p.ctx, "f", []byte("r")); err == nil {
		t.Error("a log was made in the place of a folder")
	}
	p.holds("f/b.jsonl", "r")
}

// appendRecords: what Append returns is what Stat says, so that it can be the token of the next one; records are the last
// bytes of the log; without records nothing changes.
func appendRecords(t *testing.T, p *prober) {
	at := p.fill("a.jsonl")
	var want []string
	for i := range 50 {
		more := slices.Repeat([]string{fmt.Sprintf(`{"n":%d}`, i)}, i%4)
		before := at
		at = p.append(at, more...)
		want = append(want, more...)
		if at != p.stat("a.jsonl") {
			t.Fatalf("Append returned %+v, Stat says %+v", at, p.stat("a.jsonl"))
		}
		// Who saw the log before still reads what was there, and from there on what is new.
		p.equal(p.read(before, 0), want[:len(want)-len(more)])
		p.equal(p.read(at, before.Size), more)
	}
	p.equal(p.read(at, 0), want)
}

// appendToOddEnds: no two records ever share a line, and what is torn is kept elsewhere, not lost.
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
		if at != p.stat(name) {
			t.Errorf("%q: Append returned %+v, Stat says %+v", tc.content, at, p.stat(name))
		}
		p.equal(p.read(at, 0), tc.want)
		var kept []string
		for side, err := range p.b.List(p.ctx, name+".torn-") {
			if err != nil {
				t.Fatal(err)
			}
			kept = append(kept, p.read(side, 0)...)
		}
		if strings.Join(kept, "") != tc.torn {
			t.Errorf("%q: kept %q, want %q", tc.content, kept, tc.torn)
		}
		p.append(at, "newer")
		p.holds(name, append(tc.want, "newer")...)
	}
}

// conflict: a token is good once. An old one is refused by every mutation, and nothing is written.
func conflict(t *testing.T, p *prober) {
	old := p.fill("a.jsonl", "one")
	now := p.append(old, "two")
	p.is(second(p.b.Append(p.ctx, old, []byte("x"))), backend.ErrConflict, "a.jsonl")
	p.is(second(p.b.Append(p.ctx, old)), backend.ErrConflict, "a.jsonl")
	p.is(second(p.b.Replace(p.ctx, old, []byte("x"))), backend.ErrConflict, "a.jsonl")
	p.is(p.b.Remove(p.ctx, old), backend.ErrConflict, "a.jsonl")
	p.holds("a.jsonl", "one", "two")
	if now != p.stat("a.jsonl") {
		t.Error("a refused mutation changed the log")
	}
	p.append(now, "three")
	p.holds("a.jsonl", "one", "two", "three")
	// What never was, or is no more, is not made by a mutation.
	for _, at := range []backend.Log{{Name: "no.jsonl"}, {Name: "no.jsonl", Generation: now.Generation, Size: now.Size}} {
		p.is(second(p.b.Append(p.ctx, at, []byte("x"))), backend.ErrConflict, "no.jsonl")
		p.is(second(p.b.Replace(p.ctx, at, []byte("x"))), backend.ErrConflict, "no.jsonl")
		p.is(p.b.Remove(p.ctx, at), backend.ErrConflict, "no.jsonl")
		p.is(second(p.b.Stat(p.ctx, "no.jsonl")), backend.ErrNotExist, "no.jsonl")
	}
}

// conflictWithOthers: what a program that knows nothing of us did is noticed before we write.
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
		p.is(second(p.b.Append(p.ctx, at, []byte("x"))), backend.ErrConflict, name)
		p.is(second(p.b.Replace(p.ctx, at, []byte("x"))), backend.ErrConflict, name)
		p.is(p.b.Remove(p.ctx, at), backend.ErrConflict, name)
		p.holds(name, slices.Collect(strings.SplitSeq(strings.TrimSuffix(content, "\n"), "\n"))[:strings.Count(content, "\n")]...)
	}
}

// replace: all at once, a new generation always, and nothing of the old log can be mistaken for the new one.
func replace(t *testing.T, p *prober) {
	old := p.fill("a.jsonl", "one", "two")
	now, err := p.b.Replace(p.ctx, old, []byte("other"))
	if err != nil {
		t.Fatal(err)
	}
	if now != p.stat("a.jsonl") || now.Generation == old.Generation {
		t.Errorf("Replace returned %+v, Stat says %+v", now, p.stat("a.jsonl"))
	}
	p.is(second(readAll(p.ctx, p.b, old, 0)), backend.ErrChanged, "a.jsonl")
	p.is(second(p.b.Append(p.ctx, old, []byte("x"))), backend.ErrConflict, "a.jsonl")
	p.append(now, "more")
	p.holds("a.jsonl", "other", "more")
	// Replaced by the same bytes it is another log all the same: whoever looks at offsets must look again.
	at := p.stat("a.jsonl")
	same, err := p.b.Replace(p.ctx, at, []byte("other"), []byte("more"))
	if err != nil || same.Generation == at.Generation {
		t.Errorf("replaced by the same: %v, generations %q and %q", err, at.Generation, same.Generation)
	}
	if same, err = p.b.Replace(p.ctx, same); err != nil || same.Size != 0 {
		t.Errorf("replaced by nothing: %+v, %v", same, err)
	}
	whole := p.fill("state.json", "{}")
	if _, err = p.b.Replace(p.ctx, whole, []byte("{\n}")); err != nil {
		t.Fatal(err)
	}
	p.holds("state.json", "{\n}")
}

// remove: gone from everywhere, and a log of the same name and content that comes later is another one.
func remove(t *testing.T, p *prober) {
	at := p.append(p.fill("f/a.jsonl", "one"), "two")
	if err := p.b.Remove(p.ctx, at); err != nil {
		t.Fatal(err)
	}
	p.is(second(p.b.Stat(p.ctx, "f/a.jsonl")), backend.ErrNotExist, "f/a.jsonl")
	p.is(second(readAll(p.ctx, p.b, at, 0)), backend.ErrNotExist, "f/a.jsonl")
	p.is(second(p.b.Append(p.ctx, at, []byte("x"))), backend.ErrConflict, "f/a.jsonl")
	p.is(p.b.Remove(p.ctx, at), backend.ErrConflict, "f/a.jsonl")
	for at, err := range p.b.List(p.ctx, "") {
		t.Errorf("still listed: %v, %v", at, err)
	}
	// The name is free again, and the new log is not the old one.
	p.fill("f/a.jsonl", "one", "two")
	p.is(second(p.b.Append(p.ctx, at, []byte("x"))), backend.ErrConflict, "f/a.jsonl")
}

// badRecords: what cannot be kept is refused as a whole: of a batch with one bad record none is written.
func badRecords(t *testing.T, p *prober) {
	at := p.fill("a.jsonl", "r")
	whole := p.fill("state.json", "{}")
	bad, good := []byte("two\nlines"), []byte("x")
	for what, err := range map[string]error{
		"newline in Create":          second(p.b.Create(p.ctx, "b.jsonl", good, bad)),
		"newline in Append":          second(p.b.Append(p.ctx, at, good, bad)),
		"newline in Replace":         second(p.b.Replace(p.ctx, at, good, bad)),
		"append to what is not text": second(p.b.Append(p.ctx, whole, good)),
		"no record in a whole log":   second(p.b.Create(p.ctx, "b.json")),
		"two in a whole log":         second(p.b.Replace(p.ctx, whole, good, good)),
	} {
		if !errors.Is(err, backend.ErrRecord) {
			t.Errorf("%s: %v, want ErrRecord", what, err)
		}
	}
	p.holds("a.jsonl", "r")
	p.holds("state.json", "{}")
	p.is(second(p.b.Stat(p.ctx, "b.jsonl")), backend.ErrNotExist, "")
	p.is(second(p.b.Stat(p.ctx, "b.json")), backend.ErrNotExist, "")
}

// reopen: everything is there after Close, and tokens are still good: a caller may keep them for long.
func reopen(t *testing.T, p *prober) {
	at := p.append(p.fill("a/b.jsonl", "one"), "two")
	p.fill("state.json", "{}")
	p.again()
	if at != p.stat("a/b.jsonl") {
		t.Errorf("was %+v, is %+v", at, p.stat("a/b.jsonl"))
	}
	// A Log seen before still is a token.
	at = p.append(at, "three")
	p.again()
	p.equal(p.read(at, 0), []string{"one", "two", "three"})
	p.holds("state.json", "{}")
	if err := p.b.Remove(p.ctx, at); err != nil {
		t.Fatal(err)
	}
	p.again()
	p.is(second(p.b.Stat(p.ctx, "a/b.jsonl")), backend.ErrNotExist, "")
}

// cancelled: who has changed his mind before it began has changed nothing.
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
	if at != p.stat("a.jsonl") {
		t.Error("a cancelled mutation changed the log")
	}
}

// readWhileWriting: a reader sees the log as it was when it was looked at, or hears that it changed; nothing between.
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
			if now, err = p.b.Replace(p.ctx, now, []byte("replaced")); err != nil {
				t.Fatal(err)
			}
		case 50:
			if err := p.b.Remove(p.ctx, now); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n < 40 || n > 500 {
		t.Errorf("%d records", n)
	}
}

// race: of those who saw the same log exactly one appends; the others look again. Nothing is lost or written twice.
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
