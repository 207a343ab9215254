package file

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"github.com/treeline-dev/treeline/backend"
)

// A new log is encoded piece by piece. The pieces are the bytes that Encode makes, wherever they are cut.
func TestPieces(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var records [][]byte
		for range dice.IntN(6) {
			records = append(records, bytes.Repeat([]byte{'x'}, dice.IntN(2*tailSize)))
		}
		want, err := backend.Encode(nil, "a.jsonl", true, records...)
		if err != nil {
			t.Fatal(err)
		}
		e := &ending{Reader: piecesOf(records)}
		if err := iotest.TestReader(e, want); err != nil {
			t.Error(err)
		}
		if !bytes.Equal(e.tail, tailOf(want)) {
			t.Errorf("the tail of %d bytes has %d, want %d", len(want), len(e.tail), len(tailOf(want)))
		}
	}
	if n, err := io.Copy(io.Discard, piecesOf(nil)); n != 0 || err != nil {
		t.Errorf("nothing gives %d bytes, %v", n, err)
	}
	if _, err := io.Copy(io.Discard, piecesOf([][]byte{[]byte("a\nb")})); !errors.Is(err, backend.ErrRecord) {
		t.Errorf("two lines: %v", err)
	}
}

func piecesOf(records [][]byte) *pieces {
	return &pieces{name: "a.jsonl", next: func() ([]byte, error, bool) {
		if len(records) == 0 {
			return nil, nil, false
		}
		r := records[0]
		records = records[1:]
		return r, nil, true
	}}
}
