package backendtest

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/backend"
)

// plain hides the optional interfaces of a backend, so that the functions of package backend fall back.
type plain struct{ backend.Backend }

// lines: a log is written and read as Lines says of its name.
func lines(t *testing.T, p *prober) {
	for _, name := range []string{"a.jsonl", "a.json", "a.jsonl.zst", "notes", "rows/1"} {
		if !backend.Lines(p.b, name) {
			p.equal(p.read(p.fill(name, "one"), 0), []string{"one"})
			continue
		}
		if backend.Compressed(p.b, name) { // can only be read
			if !p.place.ReadOnly {
				p.is(second(p.b.Create(p.ctx, name)), backend.ErrCompressed, name)
			}
			continue
		}
		at := p.fill(name, "one", "two")
		p.equal(p.read(at, 0), []string{"one", "two"})
		if !p.place.ReadOnly {
			p.append(at, "three")
			p.holds(name, "one", "two", "three")
		}
	}
}

// exactBytes: ReadAll and OpenLog give all bytes of a log, with the optional interfaces and without.
func exactBytes(t *testing.T, p *prober) {
	for _, content := range []string{"", "\n", "\r\n", "a\r\nb\r\r\nc\n", "a\nb", "a\n\r", "a\r\n\x00\xff"} {
		for _, name := range []string{"log.jsonl", "state.json"} {
			at := p.put(name, content)
			for _, b := range []backend.Backend{p.b, plain{p.b}} {
				all, err := backend.ReadAll(p.ctx, b, at)
				if err != nil || string(all) != content {
					t.Errorf("%T: %s is %q, %v; want %q", b, name, all, err, content)
				}
				r, err := backend.OpenLog(p.ctx, b, at)
				if err != nil {
					t.Fatal(err)
				}
				all, err = io.ReadAll(io.NewSectionReader(r, 0, at.Size+1))
				if err = errors.Join(err, r.Close()); err != nil || string(all) != content {
					t.Errorf("%T: %s opened is %q, %v; want %q", b, name, all, err, content)
				}
			}
		}
	}
	old := p.put("log.jsonl", "a\nb\n")
	p.put("log.jsonl", "x\n")
	for _, b := range []backend.Backend{p.b, plain{p.b}} {
		p.is(second(backend.ReadAll(p.ctx, b, old)), backend.ErrChanged, "log.jsonl")
		p.is(second(backend.OpenLog(p.ctx, b, old)), backend.ErrChanged, "log.jsonl")
		p.is(second(backend.ReadAll(p.ctx, b, backend.Log{Name: "no.jsonl"})), backend.ErrNotExist, "no.jsonl")
	}
	if err := backend.Sync(p.ctx, plain{p.b}, old); err != nil {
		t.Errorf("a backend without Sync: %v", err)
	}
}

// openNow: a log is opened as it is now, and its records are read without opening it again.
func openNow(t *testing.T, p *prober) {
	want := []string{"one", "two"}
	p.fill("log.jsonl", want...)
	for _, b := range []backend.Backend{p.b, plain{p.b}} {
		at, r, err := backend.OpenNow(p.ctx, b, "log.jsonl")
		if err != nil {
			t.Fatal(err)
		}
		if !at.Same(p.stat("log.jsonl")) {
			t.Errorf("%T: opened as %+v, Stat says %+v", b, at, p.stat("log.jsonl"))
		}
		for i, offset := range []int64{0, 4, at.Size} {
			var got []string
			for rec, err := range backend.Records(p.ctx, b, at, r, offset) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, string(rec.Data))
			}
			p.equal(got, want[i:])
		}
		for _, err := range backend.Records(p.ctx, b, at, r, at.Size+1) {
			if err == nil {
				t.Errorf("%T: an offset after the end was accepted", b)
			}
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		_, _, err = backend.OpenNow(p.ctx, b, "no.jsonl")
		p.is(err, backend.ErrNotExist, "no.jsonl")
	}
}

// ends: head and tail never overlap, and together are the log if they have room for it.
func ends(t *testing.T, p *prober) {
	const content = "0123\n5678\n"
	at := p.put("log.jsonl", content)
	for _, room := range [][2]int{{0, 0}, {4, 0}, {0, 4}, {4, 4}, {6, 6}, {10, 3}, {20, 20}} {
		wantHead := content[:min(room[0], len(content))]
		wantTail := content[max(len(wantHead), len(content)-room[1]):]
		for _, b := range []backend.Backend{p.b, plain{p.b}} {
			head, tail := make([]byte, room[0]), make([]byte, room[1])
			n, m, err := backend.Ends(p.ctx, b, at, head, tail)
			if err != nil || string(head[:n]) != wantHead || string(tail[:m]) != wantTail {
				t.Errorf("%T, room %v: %q and %q, %v; want %q and %q", b, room, head[:n], tail[:m], err, wantHead, wantTail)
			}
		}
	}
	p.put("log.jsonl", "0\n")
	for _, b := range []backend.Backend{p.b, plain{p.b}} {
		_, _, err := backend.Ends(p.ctx, b, at, make([]byte, 4), make([]byte, 4))
		p.is(err, backend.ErrChanged, "log.jsonl")
		_, _, err = backend.Ends(p.ctx, b, backend.Log{Name: "no.jsonl"}, nil, nil)
		p.is(err, backend.ErrNotExist, "no.jsonl")
	}
}

// glimpse: Names yields the names of List, and Glimpse returns what List and Ends return.
func glimpse(t *testing.T, p *prober) {
	g, ok := p.b.(backend.Glimpser)
	if !ok {
		return
	}
	p.put("a/short.jsonl", "0123\n")
	p.put("long.jsonl", strings.Repeat("x", 20)+"\n")
	listed, n := p.list(""), 0
	for name, err := range g.Names(p.ctx, "") {
		if err != nil || n >= len(listed) || name.Name != listed[n].Name {
			t.Fatalf("name %d is %q, %v", n, name.Name, err)
		}
		at, head, end, err := g.Glimpse(p.ctx, name.Name, make([]byte, 10), 4)
		if err != nil || at != listed[n] {
			t.Errorf("%+v, %v; listed as %+v", at, err, listed[n])
		}
		if got := string(head) + "|" + string(end); at.Size == 5 && got != "0123\n|" || at.Size > 5 && got != "xxxxxx|xxx\n" {
			t.Errorf("%s begins and ends with %q", at.Name, got)
		}
		n++
	}
	at, _, _, err := g.Glimpse(p.ctx, "no.jsonl", make([]byte, 10), 4)
	p.is(err, backend.ErrNotExist, "no.jsonl")
	if at != (backend.Log{Name: "no.jsonl"}) {
		t.Errorf("a log that does not exist is %+v", at)
	}
}
