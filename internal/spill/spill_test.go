package spill

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"testing"
)

// What was written is read back, in memory and in a file, also while more is written. The file leaves no trace.
func TestBytes(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dice := rand.New(rand.NewPCG(1, 2))
	var b Bytes
	var want []byte
	for len(want) < inMemory+3*pieceSize {
		p := make([]byte, dice.IntN(pieceSize/2))
		for i := range p {
			p[i] = byte(dice.Uint32())
		}
		if n, err := b.Write(p); n != len(p) || err != nil {
			t.Fatal(n, err)
		}
		want = append(want, p...)
		from := dice.IntN(len(want) + 1)
		got := make([]byte, dice.IntN(min(len(want)-from, 1000)+1))
		if n, err := b.ReadAt(got, int64(from)); n != len(got) || err != nil || !bytes.Equal(got, want[from:from+n]) {
			t.Fatalf("%d bytes at %d of %d: %d, %v", len(got), from, len(want), n, err)
		}
	}
	if b.file == nil {
		t.Error("it is still in memory")
	}
	got, err := io.ReadAll(io.NewSectionReader(&b, 0, b.Size()))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes of %d, %v", len(got), len(want), err)
	}
	if n, err := b.ReadAt(make([]byte, 2), b.Size()-1); n != 1 || !errors.Is(err, io.EOF) {
		t.Errorf("beyond the end: %d, %v", n, err)
	}
	if n, err := b.ReadAt(make([]byte, 2), -1); n != 0 || err == nil {
		t.Errorf("before the beginning: %d, %v", n, err)
	}
	if err := b.Flush(); err != nil {
		t.Fatal(err)
	}
	if data, unmap, err := b.Map(5000, 7000); err == nil {
		if !bytes.Equal(data, want[5000:12000]) {
			t.Error("other bytes are mapped")
		}
		if err := unmap(); err != nil {
			t.Error(err)
		}
	} else if !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
	if err := errors.Join(b.Close(), b.Close()); err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	if err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

func TestSmall(t *testing.T) {
	t.Parallel()
	var b Bytes
	if _, err := b.Write([]byte("pond")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.Map(0, 4); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("mapped memory: %v", err)
	}
	got := make([]byte, 3)
	if _, err := b.ReadAt(got, 1); err != nil || string(got) != "ond" {
		t.Errorf(`%q, %v; want no error, string(got) == "ond"`, got, err)
	}
}

// Bytes moved by Shed take no memory, and are read back with what is written later.
func TestShed(t *testing.T) {
	t.Parallel()
	var b Bytes
	for _, text := range []string{"pond", " and frog"} {
		if _, err := b.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := b.Shed(); err != nil || b.buf != nil {
			t.Errorf("%d bytes in memory, %v", cap(b.buf), err)
		}
	}
	got := make([]byte, b.Size())
	if _, err := b.ReadAt(got, 0); err != nil || string(got) != "pond and frog" {
		t.Errorf(`%q, %v; want no error, string(got) == "pond and frog"`, got, err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}
