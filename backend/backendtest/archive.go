package backendtest

import (
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/treeline-dev/treeline/backend"
)

// mirrored is a Mirror with the calls that must not fail.
type mirrored struct {
	*prober
	m backend.Mirror
}

// mirror gives the Mirror of a backend that has one.
func mirror(p *prober) (mirrored, bool) {
	m, ok := p.b.(backend.Mirror)
	return mirrored{p, m}, ok
}

func (p mirrored) extend(at backend.Log, mark, content string) backend.Log {
	p.Helper()
	now, err := p.m.Extend(p.ctx, at, mark, strings.NewReader(content))
	if err != nil {
		p.Fatal(err)
	}
	return now
}

func (p mirrored) overwrite(at backend.Log, mark, content string) backend.Log {
	p.Helper()
	now, err := p.m.Overwrite(p.ctx, at, mark, strings.NewReader(content))
	if err != nil {
		p.Fatal(err)
	}
	return now
}

// copied checks the exact bytes of a log, that Stat says what the mutation said, and its mark.
func (p mirrored) copied(now backend.Log, content, mark string) {
	p.Helper()
	at := p.stat(now.Name)
	if !at.Same(now) || at.Size != int64(len(content)) {
		p.Errorf("%+v was returned for %d bytes, Stat says %+v", now, len(content), at)
	}
	if all, err := backend.ReadAll(p.ctx, p.b, at); err != nil || string(all) != content {
		p.Errorf("%s is %.80q, %v; want %.80q", at.Name, all, err, content)
	}
	if m := p.marked(at.Name); m.Mark != mark || !m.Removed.IsZero() || !m.Log.Same(at) {
		p.Errorf("%s is marked %+v, want %q", at.Name, m, mark)
	}
}

// marked is what Marks says of a log.
func (p mirrored) marked(name string) (found backend.Marked) {
	p.Helper()
	for m, err := range p.m.Marks(p.ctx, name) {
		if err != nil {
			p.Fatal(err)
		}
		if m.Name == name {
			found = m
		}
	}
	return found
}

// mirrors: copies are exact, whatever their last line is, and compare and swap.
func mirrors(t *testing.T, p *prober) {
	m, ok := mirror(p)
	if !ok {
		return
	}
	for _, name := range []string{"a/log.jsonl", "a/state.json"} {
		begin := m.overwrite(backend.Log{Name: name}, "one", "first\r\nsec")
		m.copied(begin, "first\r\nsec", "one")
		p.is(second(m.m.Overwrite(p.ctx, backend.Log{Name: name}, "x", strings.NewReader("x"))), backend.ErrExist, name)
		at := m.extend(begin, "two", "ond")
		m.copied(at, "first\r\nsecond", "two")
		at = m.extend(at, "three", "")
		m.copied(at, "first\r\nsecond", "three")
		p.is(second(m.m.Extend(p.ctx, begin, "x", strings.NewReader("x"))), backend.ErrConflict, name)
		at = m.extend(at, "four", "\n\nthird\nfo")
		const all = "first\r\nsecond\n\nthird\nfo"
		m.copied(at, all, "four")
		broken := io.MultiReader(strings.NewReader("part\n"), iotest.ErrReader(errBroken))
		if _, err := m.m.Extend(p.ctx, at, "x", broken); !errors.Is(err, errBroken) {
			t.Errorf("a reader that fails: %v", err)
		}
		broken = io.MultiReader(strings.NewReader("part\n"), iotest.ErrReader(errBroken))
		if _, err := m.m.Overwrite(p.ctx, at, "x", broken); !errors.Is(err, errBroken) {
			t.Errorf("a reader that fails: %v", err)
		}
		m.copied(at, all, "four")
		next := m.overwrite(at, "five", "other")
		m.copied(next, "other", "five")
		if next.Generation == at.Generation {
			t.Errorf("%s was overwritten and has the same generation", name)
		}
		p.is(second(m.m.Extend(p.ctx, at, "x", strings.NewReader("x"))), backend.ErrConflict, name)
		p.is(second(m.m.Overwrite(p.ctx, at, "x", strings.NewReader("x"))), backend.ErrConflict, name)
		m.copied(next, "other", "five")
	}
	p.is(second(m.m.Overwrite(p.ctx, backend.Log{Name: "/no"}, "", strings.NewReader(""))), backend.ErrName, "/no")
	p.is(second(m.m.Extend(p.ctx, backend.Log{Name: "no.jsonl", Generation: "1"}, "", strings.NewReader(""))), backend.ErrConflict, "no.jsonl")
	p.is(second(m.m.Overwrite(p.ctx, backend.Log{Name: "a/log.jsonl/b"}, "", strings.NewReader(""))), backend.ErrName, "a/log.jsonl/b")
}

var errBroken = errors.New("the reader broke")

// marks: other mutations leave a mark as it is, and a removed log is remembered.
func marks(t *testing.T, p *prober) {
	m, ok := mirror(p)
	if !ok {
		return
	}
	at := m.overwrite(backend.Log{Name: "b/log.jsonl"}, "noted", "{}\n{}")
	plain := p.fill("a.jsonl", "one")
	m.copied(plain, "one\n", "")
	at = p.append(at, "{}") // mends the end first
	m.copied(at, "{}\n{}\n{}\n", "noted")
	at, err := p.b.Replace(p.ctx, at, []byte("new"))
	if err != nil {
		t.Fatal(err)
	}
	m.copied(at, "new\n", "noted")
	if err := p.b.Remove(p.ctx, at); err != nil {
		t.Fatal(err)
	}
	p.is(second(m.m.Extend(p.ctx, at, "x", strings.NewReader("x"))), backend.ErrConflict, at.Name)
	if gone := m.marked(at.Name); gone.Removed.IsZero() || gone.Mark != "noted" {
		t.Errorf("the removed log is remembered as %+v", gone)
	}
	var names []string
	for m, err := range m.m.Marks(p.ctx, "") {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, m.Name)
	}
	p.equal(names, []string{"a.jsonl", "b/log.jsonl"})
	for l := range p.b.List(p.ctx, "b/") {
		t.Errorf("%s was removed and is listed", l.Name)
	}
	back := m.overwrite(backend.Log{Name: "b/log.jsonl"}, "back", "again\n")
	m.copied(back, "again\n", "back")
	if back.Generation == at.Generation {
		t.Error("a log of the same name has the same generation")
	}
}

// mirrorsGrow: a copy that grows by pieces of any length is the original at each step.
func mirrorsGrow(t *testing.T, p *prober) {
	m, ok := mirror(p)
	if !ok {
		return
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	var original strings.Builder
	for original.Len() < 6<<20 {
		original.WriteString(strings.Repeat("x", rnd.IntN(1<<uint(rnd.IntN(21)))) + "\n")
	}
	all := original.String()
	at := m.overwrite(backend.Log{Name: "grow.jsonl"}, "", "")
	for n := 0; n < len(all); {
		more := min(1+rnd.IntN(1<<uint(1+rnd.IntN(23))), len(all)-n)
		at = m.extend(at, "", all[n:n+more])
		n += more
		if at.Size != int64(n) {
			t.Fatalf("%d bytes of %d", at.Size, n)
		}
	}
	m.copied(at, all, "")
	n := 0
	for r, err := range p.b.Read(p.ctx, at, 0) {
		if err != nil || string(r.Data)+"\n" != all[r.Offset:r.End] {
			t.Fatalf("record %d at %d has %d bytes, %v", n, r.Offset, len(r.Data), err)
		}
		n++
	}
	if n != strings.Count(all, "\n") {
		t.Errorf("%d records", n)
	}
}

// folders: a backend that lists folders finds those that its logs are in, in byte order.
func folders(t *testing.T, p *prober) {
	f, ok := p.b.(backend.Foldered)
	if !ok {
		return
	}
	for _, name := range []string{"a!/x.jsonl", "a/1.jsonl", "a/b/2.jsonl", "a/b/3.jsonl", "a/c/d/4.jsonl", "a0/5.jsonl", "top.jsonl", "ü/6.jsonl"} {
		p.fill(name)
	}
	for folder, want := range map[string][]string{"": {"a", "a!", "a0", "ü"}, "a": {"b", "c"}, "a/b": nil, "a/c": {"d"}, "no": nil, "top.jsonl": nil} {
		got, err := f.Folders(p.ctx, folder)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("folders of %q: %q, %v; want %q", folder, got, err, want)
		}
		got, err = backend.Folders(p.ctx, plain{p.b}, folder)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("folders of %q from the list: %q, %v; want %q", folder, got, err, want)
		}
	}
	p.is(second(f.Folders(p.ctx, "../a")), backend.ErrName, "../a")
}
