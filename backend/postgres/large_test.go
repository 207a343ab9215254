package postgres

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/pgtest"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

// numbered yields records that contain their numbers.
func numbered(n int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var record []byte
		for i := range n {
			record = fmt.Appendf(record[:0], `{"n":%d}`, i)
			if !yield(record, nil) {
				return
			}
		}
	}
}

// counted checks that a log has the numbered records from a number on.
func counted(t *testing.T, b *Backend, at backend.Log, offset int64, from, to int) {
	t.Helper()
	i := from
	var want []byte
	for r, err := range b.Read(t.Context(), at, offset) {
		if want = fmt.Appendf(want[:0], `{"n":%d}`, i); err != nil || !bytes.Equal(r.Data, want) {
			t.Fatalf("record %d is %.80q, %v", i, r.Data, err)
		}
		i++
	}
	if i != to {
		t.Errorf("%d records, want %d", i, to)
	}
}

// A log of very many records is created, appended to, copied and cut like a small one.
func TestSoakMany(t *testing.T) {
	t.Parallel()
	n := soaktest.Size(5_000, 1_000_000)
	b := opened(t, pgtest.Shared(t).URL(""), "many")
	at, err := backend.CreateFrom(t.Context(), b, "a.jsonl", numbered(n))
	if err != nil {
		t.Fatal(err)
	}
	counted(t, b, at, 0, 0, n)
	last := fmt.Appendf(nil, `{"n":%d}`, n)
	end := at.Size
	if at, err = b.Append(t.Context(), at, last); err != nil {
		t.Fatal(err)
	}
	counted(t, b, at, end, n, n+1)
	head, tail := make([]byte, 7), make([]byte, len(last)+1)
	if i, j, err := b.Ends(t.Context(), at, head, tail); err != nil || string(head[:i]) != `{"n":0}` || string(tail[:j]) != string(last)+"\n" {
		t.Errorf("its ends are %q and %q, %v", head, tail, err)
	}
	// An exact copy, by parts that end anywhere.
	r, err := b.Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	half := at.Size/2 + 1
	copied, err := b.Overwrite(t.Context(), backend.Log{Name: "copy.jsonl"}, "", section(r, 0, half))
	if err == nil {
		copied, err = b.Extend(t.Context(), copied, "", section(r, half, at.Size-3)) // torn
	}
	if err != nil {
		t.Fatal(err)
	}
	if copied, err = b.Append(t.Context(), copied, last); err != nil {
		t.Fatal(err)
	}
	counted(t, b, copied, 0, 0, n+1)
	if replaced, err := b.Overwrite(t.Context(), copied, "", section(r, 0, at.Size)); err != nil || replaced.Size != at.Size {
		t.Errorf("%+v, %v; want no error, replaced.Size == %v", replaced, err, at.Size)
	}
}

// A record that is much larger than a message to the server is split into pieces, whether it is appended, read or copied.
func TestSoakHuge(t *testing.T) {
	t.Parallel()
	size := soaktest.Size(5<<20, 100<<20)
	b := opened(t, pgtest.Shared(t).URL(""), "huge")
	record := bytes.Repeat([]byte("0123456789abcde "), size/16)
	at, err := b.Create(t.Context(), "a.jsonl", []byte("first"))
	if err == nil {
		at, err = b.Append(t.Context(), at, record)
	}
	if err == nil {
		at, err = b.Append(t.Context(), at, []byte("last"))
	}
	if err != nil {
		t.Fatal(err)
	}
	if at.Size != int64(size)+12 {
		t.Fatalf("%d bytes", at.Size)
	}
	whole := func(at backend.Log) {
		t.Helper()
		n := 0
		for r, err := range b.Read(t.Context(), at, 0) {
			if err != nil || n == 1 && !bytes.Equal(r.Data, record) || n != 1 && len(r.Data) > 5 {
				t.Fatalf("%s: record %d has %d bytes, %v", at.Name, n, len(r.Data), err)
			}
			n++
		}
		if n != 3 {
			t.Errorf("%s: %d records", at.Name, n)
		}
	}
	whole(at)
	r, err := b.Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	copied, err := b.Overwrite(t.Context(), backend.Log{Name: "copy.jsonl"}, "", section(r, 0, at.Size/2))
	if err == nil {
		copied, err = b.Extend(t.Context(), copied, "", section(r, at.Size/2, at.Size))
	}
	if err != nil {
		t.Fatal(err)
	}
	whole(copied)
}

// section reads a part of a log.
func section(r io.ReaderAt, from, to int64) io.Reader { return io.NewSectionReader(r, from, to-from) }
