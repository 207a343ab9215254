package backendtest

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/treeline-dev/treeline/backend"
)

// mirror returns the backend as a Mirror; nil if it is none.
func (p *prober) mirror() backend.Mirror {
	m, _ := p.b.(backend.Mirror)
	return m
}

// exact fails the test unless the log holds these bytes now.
func (p *prober) exact(name, want string) backend.Log {
	p.Helper()
	at := p.stat(name)
	got, err := backend.ReadAll(p.ctx, p.b, at)
	if err != nil {
		p.Fatal(err)
	}
	if string(got) != want || at.Size != int64(len(want)) {
		p.Fatalf("%s is %.200q and has size %d, want %.200q", name, got, at.Size, want)
	}
	return at
}

// marks returns what Marks yields, one line for each log.
func (p *prober) marks(m backend.Mirror, prefix string) (list []string) {
	p.Helper()
	for l, err := range m.Marks(p.ctx, prefix) {
		if err != nil {
			p.Fatal(err)
		}
		line := fmt.Sprintf("%s %d %q", l.Name, l.Size, l.Mark)
		if !l.Removed.IsZero() {
			line += " removed"
		}
		list = append(list, line)
	}
	return list
}

// keepsMarks reports whether the backend keeps marks, which the contract leaves open.
func (p *prober) keepsMarks(m backend.Mirror) bool {
	p.Helper()
	const name = "probe/probe.jsonl"
	at, err := m.Overwrite(p.ctx, backend.Log{Name: name}, "x", strings.NewReader(""))
	if err != nil {
		p.Fatal(err)
	}
	kept := slices.Contains(p.marks(m, name), name+` 0 "x"`)
	p.remove(at)
	return kept
}

// pieces are contents that meet in every way: inside of a line, of a character, of a line end, with empty lines and zeros.
var pieces = []string{"", "{\"a\":1}\n{\"b", "\":2}", "\n", "\n\r", "\n\xe2\x82", "\xac\r\n\x00\xff", "torn"}

// extend: bytes follow bytes, and nothing is mended.
func extend(t *testing.T, p *prober) {
	m := p.mirror()
	if m == nil {
		return
	}
	at, err := m.Overwrite(p.ctx, backend.Log{Name: "f/a.jsonl"}, "m", strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	content := ""
	for i, piece := range pieces {
		before := at
		// A reader may give its bytes one at a time.
		if at, err = m.Extend(p.ctx, at, "m", iotest.OneByteReader(strings.NewReader(piece))); err != nil {
			t.Fatalf("piece %d: %v", i, err)
		}
		content += piece
		if now := p.exact("f/a.jsonl", content); !now.Same(at) {
			t.Errorf("piece %d: Extend returned %+v, Stat says %+v", i, at, now)
		}
		if old, err := backend.ReadAll(p.ctx, p.b, before); err != nil || string(old) != strings.TrimSuffix(content, piece) {
			t.Errorf("piece %d: what was there before is %q, %v", i, old, err)
		}
		if before.Generation != at.Generation && before.Size > 0 && piece == "" {
			t.Errorf("piece %d: a log that did not change has another generation", i)
		}
	}
	// Records are split where the newlines are, wherever the pieces met.
	want := []string{`{"a":1}`, `{"b":2}`, "", "", "€", "\x00\xfftorn…"}
	p.equal(p.read(at, 0), want)
	p.again()
	if now := p.exact("f/a.jsonl", content); !now.Same(at) {
		t.Errorf("was %+v, is %+v", at, now)
	}
	// An append adds records again.
	now := p.append(p.fill("b.jsonl", "one"), "two")
	if now, err = p.mirror().Extend(p.ctx, now, "", strings.NewReader("three\n")); err != nil {
		t.Fatal(err)
	}
	p.append(now, "four")
	p.exact("b.jsonl", "one\ntwo\nthree\nfour\n")
	large := strings.Repeat(strings.Repeat("x", 1000)+"\n", 3000)
	if _, err = p.mirror().Extend(p.ctx, p.stat("b.jsonl"), "", strings.NewReader(large)); err != nil {
		t.Fatal(err)
	}
	p.exact("b.jsonl", "one\ntwo\nthree\nfour\n"+large)
}

// overwrite: new content replaces the old, or makes a new log.
func overwrite(t *testing.T, p *prober) {
	m := p.mirror()
	if m == nil {
		return
	}
	for i, content := range append(slices.Clone(pieces), strings.Join(pieces, ""), strings.Repeat(strings.Repeat("y", 5000)+"\n", 1000)) {
		for _, name := range []string{"f/a.jsonl", "f/state.json"} {
			at := backend.Log{Name: name}
			if i > 0 {
				at = p.stat(name)
			}
			now, err := m.Overwrite(p.ctx, at, "m", strings.NewReader(content))
			if err != nil {
				t.Fatalf("content %d: %v", i, err)
			}
			if is := p.exact(name, content); !now.Same(is) || now.Generation == at.Generation {
				t.Errorf("content %d: %+v became %+v, Stat says %+v", i, at, now, is)
			}
			if i > 0 {
				p.is(second(readAll(p.ctx, p.b, at, 0)), backend.ErrChanged, name)
			}
		}
	}
	p.again()
	p.exact("f/a.jsonl", strings.Repeat(strings.Repeat("y", 5000)+"\n", 1000))
	// Neither a log below a log, nor one in the place of a folder.
	for _, name := range []string{"f", "f/a.jsonl/b.jsonl"} {
		if _, err := p.mirror().Overwrite(p.ctx, backend.Log{Name: name}, "", strings.NewReader("x\n")); err == nil {
			t.Errorf("%s was made", name)
		}
	}
}

// mirrorRefuses: a refused Extend or Overwrite changes nothing.
func mirrorRefuses(t *testing.T, p *prober) {
	m := p.mirror()
	if m == nil {
		return
	}
	content := func() io.Reader { return strings.NewReader("x\n") }
	if p.place.ReadOnly {
		if p.place.Put == nil {
			return
		}
		at := p.put("a.jsonl", "one\n")
		p.is(second(m.Extend(p.ctx, at, "", content())), backend.ErrReadOnly, "a.jsonl")
		p.is(second(m.Overwrite(p.ctx, at, "", content())), backend.ErrReadOnly, "a.jsonl")
		p.is(second(m.Overwrite(p.ctx, backend.Log{Name: "b.jsonl"}, "", content())), backend.ErrReadOnly, "b.jsonl")
		return
	}
	old := p.fill("a.jsonl", "one")
	now := p.append(old, "two")
	whole := p.fill("state.json", "{}")
	failing := errors.New("no more")
	broken := func() io.Reader {
		return io.MultiReader(strings.NewReader(strings.Repeat("z", 100_000)), iotest.ErrReader(failing))
	}
	for _, at := range []backend.Log{old, {Name: "no.jsonl", Generation: now.Generation, Size: now.Size}} {
		p.is(second(m.Extend(p.ctx, at, "", content())), backend.ErrConflict, at.Name)
		p.is(second(m.Extend(p.ctx, at, "", strings.NewReader(""))), backend.ErrConflict, at.Name)
		p.is(second(m.Overwrite(p.ctx, at, "", content())), backend.ErrConflict, at.Name)
	}
	p.is(second(m.Extend(p.ctx, backend.Log{Name: "no.jsonl"}, "", content())), backend.ErrConflict, "no.jsonl")
	p.is(second(m.Overwrite(p.ctx, backend.Log{Name: "a.jsonl"}, "", content())), backend.ErrExist, "a.jsonl")
	if !backend.Lines(p.b, "state.json") {
		p.is(second(m.Extend(p.ctx, whole, "", content())), backend.ErrRecord, "state.json")
	}
	p.is(second(m.Extend(p.ctx, now, "", broken())), failing, "")
	p.is(second(m.Overwrite(p.ctx, now, "", broken())), failing, "")
	p.is(second(m.Overwrite(p.ctx, backend.Log{Name: "no.jsonl"}, "", broken())), failing, "")
	for _, name := range []string{"", "../a.jsonl", "/a.jsonl", "a//b.jsonl"} {
		p.is(second(m.Overwrite(p.ctx, backend.Log{Name: name}, "", content())), backend.ErrName, "")
	}
	if at := p.exact("a.jsonl", "one\ntwo\n"); !at.Same(now) {
		t.Error("a refused mutation changed the log")
	}
	p.holds("state.json", "{}")
	p.is(second(p.b.Stat(p.ctx, "no.jsonl")), backend.ErrNotExist, "no.jsonl")
	if err := p.b.Close(); err != nil {
		t.Fatal(err)
	}
	p.is(second(m.Extend(p.ctx, now, "", content())), backend.ErrClosed, "")
	p.is(second(m.Overwrite(p.ctx, now, "", content())), backend.ErrClosed, "")
	for _, err := range m.Marks(p.ctx, "") {
		p.is(err, backend.ErrClosed, "")
	}
}

// mirrorGrows: a copy that grows by pieces of any length has the records of its original.
func mirrorGrows(t *testing.T, p *prober) {
	m := p.mirror()
	if m == nil {
		return
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	var original strings.Builder
	for original.Len() < 3<<20 {
		original.WriteString(strings.Repeat("x", rnd.IntN(1<<uint(rnd.IntN(21)))) + "\n")
	}
	all := original.String()
	at, err := m.Overwrite(p.ctx, backend.Log{Name: "grow.jsonl"}, "", strings.NewReader(""))
	for n := 0; n < len(all) && err == nil; n = int(at.Size) {
		more := min(1+rnd.IntN(1<<uint(1+rnd.IntN(22))), len(all)-n)
		at, err = m.Extend(p.ctx, at, "", strings.NewReader(all[n:n+more]))
	}
	if err != nil {
		t.Fatal(err)
	}
	p.exact("grow.jsonl", all)
	n := 0
	for r, err := range p.b.Read(p.ctx, at, 0) {
		if err != nil || string(r.Data)+"\n" != all[r.Offset:r.End] {
			t.Fatalf("record %d at %d has %d bytes, %v", n, r.Offset, len(r.Data), err)
		}
		n++
	}
	if want := strings.Count(all, "\n"); n != want {
		t.Errorf("%d records, want %d", n, want)
	}
}

// marks: the last mark stays whatever else happens to the log, also when it is removed.
func marks(t *testing.T, p *prober) {
	m := p.mirror()
	if m == nil {
		return
	}
	kept := p.keepsMarks(m)
	put := func(name, mark string) backend.Log {
		at, err := m.Overwrite(p.ctx, backend.Log{Name: name}, mark, strings.NewReader("one\n"))
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	a, b, c := put("m/a.jsonl", "first"), put("m/b.jsonl", `{"v":1,"é":"\u0000"}`), put("m/c.jsonl", "gone")
	p.fill("m/d.jsonl", "made")
	a, err := m.Extend(p.ctx, a, "second", strings.NewReader("two\n"))
	if err != nil {
		t.Fatal(err)
	}
	p.append(a, "three")
	p.replace(b, "other")
	p.remove(c)
	want := []string{`m/a.jsonl 14 "second"`, `m/b.jsonl 6 "{\"v\":1,\"é\":\"\\u0000\"}"`, `m/c.jsonl 4 "gone" removed`, `m/d.jsonl 5 ""`}
	if !kept {
		want = []string{`m/a.jsonl 14 ""`, `m/b.jsonl 6 ""`, `m/d.jsonl 5 ""`}
	}
	p.equal(p.marks(m, "m/"), want)
	p.again()
	m = p.mirror()
	p.equal(p.marks(m, "m/"), want)
	p.equal(p.marks(m, "m/b"), want[1:2])
	if !kept {
		return
	}
	for l, err := range m.Marks(p.ctx, "m/") {
		if err != nil {
			t.Fatal(err)
		}
		if !l.Removed.IsZero() {
			continue
		}
		// The token is good, and a mark can be stored without a byte.
		if now, err := m.Extend(p.ctx, l.Log, "noted", strings.NewReader("")); err != nil || now.Size != l.Size || now.Generation != l.Generation {
			t.Errorf("%s: %+v, %v; want no error, now.Size == %v, now.Generation == %v", l.Name, now, err, l.Size, l.Generation)
		}
	}
	put("m/c.jsonl", "again")
	p.equal(p.marks(m, "m/"), []string{`m/a.jsonl 14 "noted"`, `m/b.jsonl 6 "noted"`, `m/c.jsonl 4 "again"`, `m/d.jsonl 5 "noted"`})
}

// folders: a folder is listed once, if a log is below it.
func folders(t *testing.T, p *prober) {
	p.fill("top.jsonl", "r")
	for _, name := range []string{"b/x/1.jsonl", "b/x/2.jsonl", "b/y.jsonl", "a.b/1.jsonl", "a/z/1.jsonl"} {
		p.fill(name, "r")
	}
	for folder, want := range map[string][]string{"": {"a", "a.b", "b"}, "b": {"x"}, "b/x": nil, "a": {"z"}, "no": nil} {
		for _, b := range []backend.Backend{p.b, plain{p.b}} {
			got, err := backend.Folders(p.ctx, b, folder)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%T: folders of %q are %q, %v; want %q", b, folder, got, err, want)
			}
		}
	}
}
