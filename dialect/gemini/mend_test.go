package gemini_test

import (
	"os"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/dialect/gemini"
	"github.com/treeline-dev/treeline/session"
)

// A conversation that the program cleared and did not write again is back after a repair, and a second repair has nothing to do.
func TestMends(t *testing.T) {
	log, err := os.ReadFile("testdata/gemini/killed-while-resuming.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	mends := func(log []byte) ([]dialect.Mend, string) {
		tree, err := dialecttest.Decode(gemini.Gemini, "log", log)
		if err != nil {
			t.Fatal(err)
		}
		c, err := session.BuildContext(tree, tree.LeafID(), session.ContextOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var seen []string
		for m, err := range c.Messages() {
			if err != nil {
				t.Fatal(err)
			}
			seen = append(seen, dialect.TextOf(gemini.Gemini.MessageParts(m.JSON)))
		}
		return tree.Codec().EntryCodec.(dialect.Mender).Mends(tree), strings.Join(seen, ", ")
	}
	list, seen := mends(log)
	if len(list) != 1 || len(list[0].Append) != 1 || seen != "" {
		t.Fatalf("%+v, the model sees %q", list, seen)
	}
	list, seen = mends(append(append(log, list[0].Append[0]...), '\n'))
	if len(list) != 0 || seen != "one, 1" {
		t.Errorf("%+v, the model sees %q", list, seen)
	}
}
