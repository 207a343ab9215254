package gen_test

import (
	"bytes"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/claude"
	"github.com/treeline-dev/treeline/dialect/codelia"
	"github.com/treeline-dev/treeline/dialect/codex"
	"github.com/treeline-dev/treeline/dialect/operator"
	"github.com/treeline-dev/treeline/dialect/wave"
	"github.com/treeline-dev/treeline/internal/gen"
	"github.com/treeline-dev/treeline/session"
)

// TestOther: a conversation in the format of another agent is decoded by its dialect, without problems.
func TestOther(t *testing.T) {
	log := gen.Session(gen.Options{Seed: 3, Bytes: 200_000, Branches: 2, CompactEvery: 20, Images: 1, ImageBytes: 1000})
	for _, test := range []struct {
		d    dialect.Dialect
		make func([]byte) []byte
	}{{operator.Operator, gen.Operator}, {wave.Wave, gen.Wave}, {codelia.Codelia, gen.Run}, {codelia.State, gen.State},
		{claude.Claude, gen.Claude}, {codex.Codex, gen.Codex}} {
		t.Run(test.d.Name(), func(t *testing.T) {
			other := test.make(log)
			b := session.NewBuilder("log", nil)
			dec := test.d.NewDecoder(b)
			line, at := 1, int64(0)
			for data := range bytes.Lines(other) {
				r := dialect.Record{Data: bytes.TrimSuffix(data, []byte("\n")), Offset: at, Line: line}
				if line == 1 && !test.d.Detect([]dialect.Record{r}) {
					t.Errorf("not recognised: %s", r.Data)
				}
				dec.Decode(r)
				line, at = line+1, at+int64(len(data))
			}
			if err := dec.Finish(); err != nil {
				t.Fatal(err)
			}
			tree := b.Finish()
			if p := tree.Problems(); len(p) > 0 {
				t.Errorf("%d problems: %v", len(p), p[0])
			}
			if tree.Len() < 50 || len(other) < len(log)/2 {
				t.Errorf("%d entries, %d bytes of %d", tree.Len(), len(other), len(log))
			}
		})
	}
}
