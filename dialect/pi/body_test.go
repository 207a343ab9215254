package pi_test

import (
	"bytes"
	"testing"

	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/dialect/pi"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/gen"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// The parts of an entry are those of its message: Parts takes a record, MessageParts a message that need not be in a record.
func TestPartsOfRecordAndMessage(t *testing.T) {
	log := gen.Session(gen.Options{Seed: 3, Bytes: 200_000, Branches: 4})
	tree, err := dialecttest.Decode(pi.Omp, "gen", bytes.Clone(log))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for e := range tree.Entries() {
		if e.Kind != session.KindMessage {
			continue
		}
		raw := log[e.Span.Offset:][:e.Span.Length]
		parts, err := pi.Omp.Parts(e, raw)
		if err != nil {
			t.Fatal(err)
		}
		found += len(parts)
		if diff := difftest.Diff(parts, pi.Omp.MessageParts(rawjson.Get(raw, "message"))); diff != "" {
			t.Errorf("%s: -of the record +of the message\n%s", e.ID, diff)
		}
	}
	if found < 100 {
		t.Errorf("only %d parts: the test is too weak", found)
	}
}
