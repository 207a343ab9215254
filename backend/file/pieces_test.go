package file

import (
	"bytes"
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
		if err := iotest.TestReader(&pieces{records: records}, want); err != nil {
			t.Error(err)
		}
		if got := lastOf(records); !bytes.Equal(got, tailOf(want)) {
			t.Errorf("the tail of %d bytes has %d, want %d", len(want), len(got), len(tailOf(want)))
		}
	}
	if n, err := io.Copy(io.Discard, &pieces{}); n != 0 || err != nil {
		t.Errorf("nothing gives %d bytes, %v", n, err)
	}
}
