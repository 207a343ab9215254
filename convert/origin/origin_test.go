package origin

import (
	"fmt"
	"testing"

	"github.com/treeline-dev/treeline/convert/pile"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/all"
)

// An origin that claims records of the passage before it does not count, even if its hash is right. Otherwise origins that
// each claim all records before them take quadratic time.
func TestOriginsDoNotOverlap(t *testing.T) {
	pi, ok := dialect.AsComposer(all.Dialects()[0])
	if !ok {
		t.Fatal("no composer")
	}
	header := []byte(`{"type":"session","version":3,"id":"019cab00-0000-7000-8000-00000000000a","timestamp":"2026-03-02T14:00:00.000Z","cwd":"/p"}`)
	var records [][]byte
	for i := range 3 {
		records = append(records, fmt.Appendf(nil, `{"type":"custom","id":"e000000%d","parentId":null,"timestamp":"2026-03-02T14:00:00.000Z","customType":"x"}`, i))
	}
	o := Origin{Dialect: "wave", Records: []Record{{Record: "{}"}}}
	found := func(list [][]byte) (n []bool) {
		var log pile.Sheet
		for _, r := range append([][]byte{header}, list...) {
			log.Add(r)
		}
		tree, err := log.Read(pi.Dialect, "", dialect.NewSession{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := Find(tree, pi, "wave", &pile.Pile{})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range got {
			n = append(n, f != nil)
		}
		return n
	}
	if got := fmt.Sprint(found(o.Sealed(pi, records))); got != "[true true true]" {
		t.Errorf("one origin of all records: %s", got)
	}
	first := o.Sealed(pi, records[:1])
	over := o.Sealed(pi, records) // it was made without the first
	if got := fmt.Sprint(found([][]byte{first[0], over[1], over[2]})); got != "[true false false]" {
		t.Errorf("an origin over another: %s", got)
	}
}
