package jsonl

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

// collect copies all records of s.
func collect(s *Splitter) (recs []Record, err error) {
	for {
		r, err := s.Next()
		if errors.Is(err, io.EOF) {
			return recs, nil
		}
		if err != nil {
			return recs, err
		}
		r.Data = bytes.Clone(r.Data)
		recs = append(recs, r)
	}
}

// plain is the specification, written as simply as possible.
func plain(in []byte, offset int64) (recs []Record) {
	for len(in) > 0 {
		line, _, found := bytes.Cut(in, []byte("\n"))
		end := len(line)
		data := line
		if found {
			end++
			data = bytes.TrimSuffix(line, []byte("\r"))
		}
		recs = append(recs, Record{offset, bytes.Clone(data), offset + int64(end), !found})
		offset += int64(end)
		in = in[end:]
	}
	return recs
}

func same(t testing.TB, got, want []Record) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d records, want %d", len(got), len(want))
	}
	for i := range got {
		g, w := got[i], want[i]
		if g.Offset != w.Offset || g.End != w.End || g.Torn != w.Torn || !bytes.Equal(g.Data, w.Data) {
			t.Fatalf("record %d: offset %d end %d torn %v data %.40q; want %d %d %v %.40q",
				i, g.Offset, g.End, g.Torn, g.Data, w.Offset, w.End, w.Torn, w.Data)
		}
	}
}

func TestSplit(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     []string // torn ones end in "…"
	}{
		{"nothing", "", nil},
		{"one", "a\n", []string{"a"}},
		{"torn", "a\nb", []string{"a", "b…"}},
		{"crlf", "a\r\nb\r\r\n\r\n", []string{"a", "b\r", ""}},
		{"cr alone is text", "a\rb\nc\r", []string{"a\rb", "c\r…"}},
		{"empty lines", "\n\na\n\n", []string{"", "", "a", ""}},
		{"unicode line ends are text", "a\u2028b\u2029c\u0085d\n", []string{"a\u2028b\u2029c\u0085d"}},
		{"nul tail", "a\n\x00\x00\x00", []string{"a", "\x00\x00\x00…"}},
		{"byte order mark", "\ufeffa\n", []string{"\ufeffa"}},
		{"not utf-8", "\xff\xfe\n", []string{"\xff\xfe"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			recs, err := collect(NewSplitter(strings.NewReader(tc.in), 7))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range recs {
				if r.Torn {
					r.Data = append(r.Data, "…"...)
				}
				got = append(got, string(r.Data))
			}
			if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			same(t, recs[:0], nil)
			again, _ := collect(NewSplitter(strings.NewReader(tc.in), 7))
			same(t, again, plain([]byte(tc.in), 7))
		})
	}
}

// Lines around the sizes at which the buffer is filled, grows and shrinks, through several kinds of readers.
func TestBufferSizes(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var in []byte
	for _, n := range []int{
		0, 1, firstRead - 1, firstRead, 3, chunk - 1, chunk, chunk + 1, 5 * chunk, 0, 2, chunk / 2, 9, 3*chunk + 7, 1,
	} {
		for range n {
			in = append(in, byte('a'+rnd.IntN(26)))
		}
		in = append(in, '\n')
	}
	for i := range 3000 {
		in = append(in, strings.Repeat("x", rnd.IntN(400)+i%2)...)
		in = append(in, "\r\n"[i%2:]...)
	}
	in = append(in, "the end"...)
	want := plain(in, 0)
	s := new(Splitter)
	for name, r := range map[string]io.Reader{
		"whole": bytes.NewReader(in), "half": iotest.HalfReader(bytes.NewReader(in)),
		"error with data": iotest.DataErrReader(bytes.NewReader(in)),
	} {
		t.Run(name, func(t *testing.T) {
			s.Reset(r, 0)
			recs, err := collect(s)
			if err != nil {
				t.Fatal(err)
			}
			same(t, recs, want)
			if len(s.buf) != chunk || s.home != nil {
				t.Errorf("the buffer has %d bytes after the long lines", len(s.buf))
			}
		})
	}
	for _, from := range []int{0, 1, 5, len(want) - 1, len(want)} {
		off := int64(len(in))
		if from < len(want) {
			off = want[from].Offset
		}
		s.ResetAt(bytes.NewReader(in), off, int64(len(in)))
		recs, err := collect(s)
		if err != nil {
			t.Fatal(err)
		}
		same(t, recs, want[from:])
	}
}

func TestErrors(t *testing.T) {
	broken := errors.New("broken")
	s := NewSplitter(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)), 0)
	recs, err := collect(s)
	if !errors.Is(err, broken) || len(recs) != 1 {
		t.Errorf("%d records, %v; want the whole line, then the error, and no torn record", len(recs), err)
	}
	if _, err := s.Next(); !errors.Is(err, broken) {
		t.Errorf("the error does not stay: %v", err)
	}
	s.ResetAt(strings.NewReader("a\nb"), 0, 10)
	if recs, err = collect(s); !errors.Is(err, io.ErrUnexpectedEOF) || len(recs) != 1 {
		t.Errorf("truncated: %d records, %v", len(recs), err)
	}
	if _, err := new(Splitter).Next(); !errors.Is(err, io.EOF) {
		t.Errorf("zero value: %v", err)
	}
	s.Reset(idle{}, 0)
	if _, err := s.Next(); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a reader that never gives anything: %v", err)
	}
}

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

func FuzzSplitLikePlain(f *testing.F) {
	f.Add([]byte("{\"a\":1}\r\n\n\x00\u2028x"), uint8(3))
	f.Fuzz(func(t *testing.T, in []byte, size uint8) {
		recs, err := collect(NewSplitter(&dribble{in, int(size) + 1}, 0))
		if err != nil {
			t.Fatal(err)
		}
		same(t, recs, plain(in, 0))
	})
}

// dribble is a reader that returns at most n bytes at a time.
type dribble struct {
	in []byte
	n  int
}

func (d *dribble) Read(p []byte) (int, error) {
	if len(d.in) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), d.n)], d.in)
	d.in = d.in[n:]
	return n, nil
}

func TestNoAllocations(t *testing.T) {
	in := bytes.Repeat([]byte(strings.Repeat("x", 99)+"\n"), 50_000)
	s, r := new(Splitter), bytes.NewReader(in)
	s.Reset(r, 0)
	if n := testing.AllocsPerRun(3, func() {
		s.ResetAt(r, 0, int64(len(in)))
		for {
			if _, err := s.Next(); err != nil {
				return
			}
		}
	}); n > 0 {
		t.Errorf("%v allocations for 50,000 records", n)
	}
}

// BenchmarkNewlines splits a 128 MB file in the page cache, compared with reading it and with searching memory.
func BenchmarkNewlines(b *testing.B) {
	const size = 128 << 20
	rnd := rand.New(rand.NewPCG(3, 4))
	in := make([]byte, 0, size)
	for len(in) < size-4096 {
		in = append(in, strings.Repeat("x", 400+rnd.IntN(2600))...)
		in = append(in, '\n')
	}
	path := filepath.Join(b.TempDir(), "log.jsonl")
	if err := os.WriteFile(path, in, 0o600); err != nil {
		b.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	b.Run("file", func(b *testing.B) {
		b.SetBytes(int64(len(in)))
		s := new(Splitter)
		for b.Loop() {
			s.ResetAt(f, 0, int64(len(in)))
			for {
				if _, err := s.Next(); err != nil {
					break
				}
			}
		}
	})
	b.Run("limit=read", func(b *testing.B) {
		b.SetBytes(int64(len(in)))
		buf := make([]byte, chunk)
		for b.Loop() {
			for off := int64(0); off < int64(len(in)); off += chunk {
				_, _ = f.ReadAt(buf, off)
			}
		}
	})
	b.Run("limit=search", func(b *testing.B) {
		b.SetBytes(int64(len(in)))
		for b.Loop() {
			for rest := in; ; {
				i := bytes.IndexByte(rest, '\n')
				if i < 0 {
					break
				}
				rest = rest[i+1:]
			}
		}
	})
}

// TestLongLineBuffer: with random access a very long line gets a buffer of its own length, terminated or not. After that the normal buffer
// is used again.
func TestLongLineBuffer(t *testing.T) {
	long := strings.Repeat("x", 11*chunk+7)
	for name, log := range map[string]string{
		"in the middle": "short\n" + long + "\nshort\n",
		"torn":          "short\n" + long,
		"twice":         long + "\n" + long + long + "\n",
	} {
		var s Splitter
		s.ResetAt(strings.NewReader(log), 0, int64(len(log)))
		var got []string
		for {
			r, err := s.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got = append(got, string(r.Data))
			if n := len(r.Data); n > chunk && len(s.buf) > n+2*chunk {
				t.Errorf("%s: a buffer of %d bytes for a line of %d", name, len(s.buf), n)
			}
		}
		if want := strings.Split(strings.TrimSuffix(log, "\n"), "\n"); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s: %d lines, and not those that were written", name, len(got))
		}
	}
}

// A line that is too long is an error with its place, after the lines before it, and no memory is allocated for it.
func TestLongest(t *testing.T) {
	const most = 8 * chunk
	for _, tc := range []struct {
		name string
		line int64 // length with its line end
		torn bool
		ok   bool
	}{
		{"longest", most, false, true},
		{"longest, torn", most - 1, true, true},
		{"too long", most + 1, false, false},
		{"too long, torn", most, true, false},
		{"much too long", 1 << 50, true, false},
	} {
		log := &zeros{head: "short\n", size: 6 + tc.line, torn: tc.torn}
		for kind, reset := range map[string]func(s *Splitter){
			"stream":        func(s *Splitter) { s.Reset(io.NewSectionReader(log, 0, log.size), 0) },
			"random access": func(s *Splitter) { s.ResetAt(log, 0, log.size) },
		} {
			s := &Splitter{Most: most}
			reset(s)
			recs, err := collect(s)
			if tc.ok {
				if err != nil || len(recs) != 2 || recs[1].End != log.size || recs[1].Torn != tc.torn {
					t.Errorf("%s, %s: %d records, %v", tc.name, kind, len(recs), err)
				}
				continue
			}
			var long *LongError
			if !errors.As(err, &long) || long.Offset != 6 || len(recs) != 1 {
				t.Errorf("%s, %s: %d records, %v; want the first line and a LongError at 6", tc.name, kind, len(recs), err)
			}
			if _, again := s.Next(); !errors.Is(again, err) {
				t.Errorf("%s, %s: the error does not stay: %v", tc.name, kind, again)
			}
			if len(s.buf) > most {
				t.Errorf("%s, %s: a buffer of %d bytes", tc.name, kind, len(s.buf))
			}
			s.Reset(strings.NewReader("next\n"), 0)
			if recs, err := collect(s); err != nil || len(recs) != 1 {
				t.Errorf("%s, %s: the next log: %d records, %v", tc.name, kind, len(recs), err)
			}
		}
	}
}

// zeros is a log of so many bytes: head, then NUL bytes, and a line end unless it is torn.
type zeros struct {
	head string
	size int64
	torn bool
}

func (z *zeros) ReadAt(p []byte, off int64) (n int, err error) {
	if left := z.size - off; int64(len(p)) > left {
		p, err = p[:left], io.EOF
	}
	clear(p)
	if off < int64(len(z.head)) {
		copy(p, z.head[off:])
	}
	if !z.torn && len(p) > 0 && off+int64(len(p)) == z.size {
		p[len(p)-1] = '\n'
	}
	return len(p), err
}

// A reader that fails with an error that wraps io.EOF, as a lost connection does, has not reached the end of the log.
func TestWrappedEOF(t *testing.T) {
	lost := fmt.Errorf("lost: %w", io.EOF)
	for _, log := range []string{"", "one\n", "one\ntw"} {
		var last error
		for r, err := range NewSplitter(io.MultiReader(strings.NewReader(log), iotest.ErrReader(lost)), 0).All(t.Context()) {
			if last = err; err == nil && r.Torn {
				t.Errorf("%q: the record %q", log, r.Data)
			}
		}
		if !errors.Is(last, lost) {
			t.Errorf("%q ends with %v", log, last)
		}
	}
}
