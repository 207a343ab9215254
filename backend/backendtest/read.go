package backendtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/backend"
)

// readRecords: the records that were written are read back, any number of times. Stat and Create agree.
func readRecords(t *testing.T, p *prober) {
	want := []string{`{"a":1}`, "", "  spaces  ", "\u2028 is text", "last"}
	at := p.fill("a/b/log.jsonl", want...)
	if !at.Same(p.stat("a/b/log.jsonl")) {
		t.Errorf("%+v is not what Stat says: %+v", at, p.stat("a/b/log.jsonl"))
	}
	if size := int64(len(strings.Join(want, "\n")) + 1); at.Size != size {
		t.Errorf("size is %d, want %d", at.Size, size)
	}
	p.equal(p.read(at, 0), want)
	p.equal(p.read(at, 0), want)
	empty := p.fill("empty.jsonl")
	p.equal(p.read(empty, 0), nil)
}

// readFromOffset: reading can start at every End, including the last. Offsets outside the log are refused.
func readFromOffset(t *testing.T, p *prober) {
	want := []string{"one", "two", "three", ""}
	at := p.fill("log.jsonl", want...)
	var offset int64
	for i := range want {
		p.equal(p.read(at, offset), want[i:])
		offset += int64(len(want[i])) + 1
	}
	p.equal(p.read(at, at.Size), nil)
	for _, bad := range []int64{-1, at.Size + 1} {
		if _, err := readAll(p.ctx, p.b, at, bad); err == nil {
			t.Errorf("offset %d was accepted", bad)
		}
	}
}

// readWhole: a whole log is one record, including its newlines. An empty one is one empty record.
func readWhole(t *testing.T, p *prober) {
	for name, content := range map[string]string{"state.json": "{\n\r\n}\n", "deep/er/empty.txt": "", "bytes": "\x00\xff"} {
		if backend.Lines(p.b, name) {
			continue
		}
		at := p.fill(name, content)
		if at.Size != int64(len(content)) {
			t.Errorf("%s: size %d", name, at.Size)
		}
		p.equal(p.read(at, 0), []string{content})
	}
}

// readOddBytes: only '\n' ends a record, one '\r' before it is dropped, and all other bytes are kept.
func readOddBytes(t *testing.T, p *prober) {
	for i, tc := range []struct {
		content string
		want    []string
	}{
		{"a\r\nb\r\r\nc\n", []string{"a", "b\r", "c"}},
		{"\n\n", []string{"", ""}},
		{"a\nb", []string{"a", "b…"}},
		{"a", []string{"a…"}},
		{"a\n\x00\x00", []string{"a", "\x00\x00…"}},
		{"\ufeffa\nb\r", []string{"\ufeffa", "b\r…"}},
	} {
		p.equal(p.read(p.put(fmt.Sprintf("%d.jsonl", i), tc.content), 0), tc.want)
	}
}

// readStops: a caller may stop early, and a cancelled context ends the reading with its cause.
func readStops(t *testing.T, p *prober) {
	at := p.fill("log.jsonl", slices.Repeat([]string{"record"}, 1000)...)
	n := 0
	for _, err := range p.b.Read(p.ctx, at, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 10 {
			break
		}
	}
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(p.ctx)
	defer cancel(nil)
	n = 0
	var last error
	for _, err := range p.b.Read(ctx, at, 0) {
		if last != nil {
			t.Fatal("the reading went on after an error")
		}
		last = err
		if n++; n == 10 {
			cancel(cause)
		}
	}
	if !errors.Is(last, cause) || n > 12 {
		t.Errorf("%d steps, then %v", n, last)
	}
	p.is(second(p.b.Stat(ctx, "log.jsonl")), cause, "")
}

func second[T any](_ T, err error) error { return err }

// readChanged: a log that another program changed yields ErrChanged and no records.
func readChanged(t *testing.T, p *prober) {
	const name = "log.jsonl"
	old := "first\n" + strings.Repeat("x", 100) + "\n"
	for _, tc := range []struct{ what, content string }{
		{"shorter", "first\n"},
		{"empty", ""},
		{"other", "other\n" + strings.Repeat("y", 100) + "\n"},
		{"longer", strings.Repeat("z", 500) + "\n"},
	} {
		at := p.put(name, old)
		p.put(name, tc.content)
		for _, offset := range []int64{0, 6, at.Size} {
			if got, err := readAll(p.ctx, p.b, at, offset); !errors.Is(err, backend.ErrChanged) || len(got) > 0 {
				t.Errorf("%s, from %d: %q, %v; want ErrChanged", tc.what, offset, got, err)
			}
		}
	}
}

// readAtRandom: an Opener's reader holds the log as it was, whatever happens to its name.
func readAtRandom(t *testing.T, p *prober) {
	o, ok := p.b.(backend.Opener)
	if !ok {
		return
	}
	at := p.fill("log.jsonl", "one", "two", "three")
	r, err := o.Open(p.ctx, at)
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(io.NewSectionReader(r, 0, at.Size))
	if err != nil || string(all) != "one\ntwo\nthree\n" {
		t.Fatalf(`%q, %v; want no error, string(all) == "one\ntwo\nthree\n"`, all, err)
	}
	buf := make([]byte, 3)
	if n, err := r.ReadAt(buf, 4); n != 3 || err != nil || string(buf) != "two" {
		t.Errorf(`%d, %v, %q; want n == 3, no error, string(buf) == "two"`, n, err, buf)
	}
	if n, err := r.ReadAt(buf, at.Size-1); n != 1 || !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %d, %v", n, err)
	}
	if n, err := r.ReadAt(buf, at.Size); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %d, %v", n, err)
	}
	if !p.place.ReadOnly {
		// Later appends are not seen, and a replaced or removed log stays readable.
		p.remove(p.replace(p.append(at, "four"), "other"))
		if n, err := r.ReadAt(make([]byte, 100), 8); n != 6 || !errors.Is(err, io.EOF) {
			t.Errorf("after removal: %d, %v", n, err)
		}
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	p.is(second(o.Open(p.ctx, backend.Log{Name: "no.jsonl"})), backend.ErrNotExist, "no.jsonl")
}

// hugeRecord: a line of 4 MB between two small ones.
func hugeRecord(t *testing.T, p *prober) {
	const size = 4 << 20
	huge := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	var at backend.Log
	if p.place.ReadOnly {
		at = p.fill("log.jsonl", "a", string(huge), "z")
	} else {
		at = p.append(p.fill("log.jsonl", "a"), string(huge), "z")
	}
	var sizes []int
	for r, err := range p.b.Read(p.ctx, at, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Data) > 1 && !bytes.Equal(r.Data, huge) {
			t.Error("the huge record is not what was written")
		}
		sizes = append(sizes, len(r.Data))
	}
	if !slices.Equal(sizes, []int{1, size, 1}) {
		t.Errorf("records of %v bytes", sizes)
	}
}

// listOrder: all logs and nothing else, in byte order of their names, for prefixes that end anywhere. A listed log can be
// read.
func listOrder(t *testing.T, p *prober) {
	// The order is that of whole names, not that of a walk through folders: '-' and '.' sort before '/', '0' after it.
	names := []string{
		"a-b/x.jsonl", "a.jsonl", "a/b-c.jsonl", "a/b/c.jsonl", "a/b/d.txt", "a/b0.jsonl", "a0.jsonl", "b/.hidden", "é.jsonl",
	}
	for _, i := range []int{3, 7, 0, 8, 5, 1, 6, 2, 4} {
		p.fill(names[i], "r")
	}
	for _, tc := range []struct {
		prefix string
		want   []string
	}{
		{"", names},
		{"a", names[:7]},
		{"a/", names[2:6]},
		{"a/b", names[2:6]},
		{"a/b/", names[3:5]},
		{"a/b/d.txt", names[4:5]},
		{"no", nil},
		{"no/such/", nil},
		{"a.jsonl/", nil},
		{"../", nil},
		{"/", nil},
	} {
		var got []string
		for _, at := range p.list(tc.prefix) {
			got = append(got, at.Name)
			want := p.stat(at.Name)
			if at.Size != want.Size || !at.Time.Equal(want.Time) || at.Generation == "" {
				t.Errorf("listed as %+v, Stat says %+v", at, want)
			}
			p.equal(p.read(at, 0), []string{"r"})
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("prefix %q: %q, want %q", tc.prefix, got, tc.want)
		}
	}
	for range p.b.List(p.ctx, "") {
		break
	}
	ctx, cancel := context.WithCancel(p.ctx)
	cancel()
	for _, err := range p.b.List(ctx, "") {
		p.is(err, context.Canceled, "")
	}
}

// notThere: a name without a log is ErrNotExist, also if a folder has it or it is below a log.
func notThere(t *testing.T, p *prober) {
	p.fill("log.jsonl", "r")
	p.fill("folder/log.jsonl", "r")
	for _, name := range []string{"no.jsonl", "no/no.jsonl", "log.jsonl/no.jsonl", "folder"} {
		p.is(second(p.b.Stat(p.ctx, name)), backend.ErrNotExist, name)
		got, err := readAll(p.ctx, p.b, backend.Log{Name: name}, 0)
		p.is(err, backend.ErrNotExist, name)
		p.equal(got, nil)
	}
}

// invalid names must never be joined to a path.
var invalid = []string{"", ".", "..", "/", "/a.jsonl", "a//b.jsonl", "a/../b.jsonl", "../a.jsonl", "a/", "./a", "a\x00b", "\xff.jsonl"}

// badNames: every method refuses them before it does anything else.
func badNames(t *testing.T, p *prober) {
	for _, name := range invalid {
		p.is(second(p.b.Stat(p.ctx, name)), backend.ErrName, "")
		p.is(second(readAll(p.ctx, p.b, backend.Log{Name: name}, 0)), backend.ErrName, "")
		if !p.place.ReadOnly {
			p.is(second(p.b.Create(p.ctx, name, []byte("r"))), backend.ErrName, "")
			p.refuses(backend.Log{Name: name}, backend.ErrName, "")
		}
	}
}

// closeTwice: the second Close does nothing, and every method of a closed backend returns ErrClosed.
func closeTwice(t *testing.T, p *prober) {
	at := p.fill("log.jsonl", "r")
	for range 2 {
		if err := p.b.Close(); err != nil {
			t.Fatal(err)
		}
	}
	p.is(second(p.b.Stat(p.ctx, "log.jsonl")), backend.ErrClosed, "")
	p.is(second(readAll(p.ctx, p.b, at, 0)), backend.ErrClosed, "")
	for _, err := range p.b.List(p.ctx, "") {
		p.is(err, backend.ErrClosed, "")
	}
	if !p.place.ReadOnly {
		p.is(second(p.b.Create(p.ctx, "new.jsonl")), backend.ErrClosed, "")
		p.refuses(at, backend.ErrClosed, "")
	}
	if o, ok := p.b.(backend.Opener); ok {
		p.is(second(o.Open(p.ctx, at)), backend.ErrClosed, "")
	}
}

// readOnly: every mutation is refused, and the log is unchanged, including its time.
func readOnly(t *testing.T, p *prober) {
	if !p.place.ReadOnly {
		return
	}
	at := p.put("log.jsonl", "a\nb")
	p.is(second(p.b.Create(p.ctx, "new.jsonl", []byte("r"))), backend.ErrReadOnly, "")
	p.refuses(at, backend.ErrReadOnly, "")
	if m := p.mirror(); m != nil {
		p.is(second(m.Extend(p.ctx, at, "", strings.NewReader("x"))), backend.ErrReadOnly, "")
		p.is(second(m.Overwrite(p.ctx, at, "", strings.NewReader("x"))), backend.ErrReadOnly, "")
	}
	if !at.Same(p.stat("log.jsonl")) {
		t.Error("the log was changed")
	}
	p.equal(p.read(at, 0), []string{"a", "b…"})
}
