package pi_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/dialect/pi"
	"github.com/treeline-dev/treeline/session"
)

const header = `{"type":"session","version":3,"id":"5e55","timestamp":"2026-02-16T10:20:00.000Z","cwd":"/garden"}` + "\n"

func user(id, parent, content string) string {
	return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%q,"message":{"role":"user","content":%s}}`+"\n", id, parent, content)
}

func decode(t *testing.T, d *pi.Dialect, log string) *session.Tree {
	t.Helper()
	tree, err := dialecttest.Decode(d, "log", []byte(log))
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func messages(t *testing.T, tree *session.Tree, opt session.ContextOptions) [][]byte {
	t.Helper()
	c, err := session.BuildContext(tree, tree.LeafID(), opt)
	if err != nil {
		t.Fatal(err)
	}
	var list [][]byte
	for m, err := range c.Messages() {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, m.JSON)
	}
	return list
}

func TestHugeLine(t *testing.T) {
	content := `"` + strings.Repeat(`all work and no play \n`, 1<<19) + `"`
	tree := decode(t, pi.Omp, header+user("a", "", content)+user("b", "a", `"end"`))
	list := messages(t, tree, session.ContextOptions{})
	if len(list) != 2 || !bytes.Contains(list[0], []byte(content)) || len(tree.Problems()) != 0 {
		t.Errorf("%d messages, problems %v", len(list), tree.Problems())
	}
}

// TestDeep nests values deeper than any stack: in an entry, which is kept, and in a line that never ends.
func TestDeep(t *testing.T) {
	const depth = 1 << 17
	deep := strings.Repeat(`[`, depth) + strings.Repeat(`]`, depth)
	objects := strings.Repeat(`{"a":`, depth) + `1` + strings.Repeat(`}`, depth)
	image := strings.Repeat(`[`, depth) + `{"image_url":"blob:sha256:x"}` + strings.Repeat(`]`, depth)
	log := header + user("a", "", deep) + user("b", "a", objects) + deep[:depth] + "\n" + objects[:depth] + "\n" + user("c", "b", image) +
		`{"type":"branch_summary","id":"d","parentId":"c","timestamp":` + deep + `,"summary":` + deep + `}`
	resolve := func(m []byte) ([]byte, error) {
		return pi.Omp.ResolveBlobs(m, func(string) ([]byte, error) { return []byte("x"), nil })
	}
	for _, d := range []*pi.Dialect{pi.Pi, pi.Omp} {
		tree := decode(t, d, log)
		for _, opt := range []session.ContextOptions{{}, {LLM: true}, {DropFailed: true, StripDangling: true}, {Resolve: resolve}} {
			if list := messages(t, tree, opt); len(list) != 4 {
				t.Errorf("%s: %d messages", d.Name(), len(list))
			}
		}
		if n := len(tree.Problems()); n != 2 {
			t.Errorf("%s: %d problems", d.Name(), n)
		}
		for e := range tree.Entries() {
			if _, err := e.Parts(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestHostileLine searches for records after damage in lines that are made to be slow.
func TestHostileLine(t *testing.T) {
	const n = 1 << 18
	for name, line := range map[string]string{
		"nested":   strings.Repeat(`{"type":`, n/8),
		"closed":   strings.Repeat(`{"type":`, n/16) + "1" + strings.Repeat("}", n/16) + "x",
		"strings":  strings.Repeat(`{"type":"`, n/9),
		"blocks":   `{"type":"message","id":"x","message":{"content":[` + strings.Repeat(`{"type":"text","text":"x"},`, n/27),
		"records":  strings.Repeat(`{"type":"custom","id":"x","parentId":null}!`, n/43),
		"braces":   strings.Repeat("{", n),
		"quotes":   strings.Repeat(`{"`, n/2),
		"nothing":  strings.Repeat(" ", n) + "x",
		"NULs":     strings.Repeat("\x00x", n/2),
		"numbers":  strings.Repeat("1 ", n/2),
		"brackets": strings.Repeat("[] ", n/3),
	} {
		t.Run(name, func(t *testing.T) {
			tree := decode(t, pi.Omp, header+user("a", "", `"one"`)+line+"\n"+user("b", "a", `"two"`))
			if b, ok := tree.Lookup("b"); !ok || b.Parent != "a" || len(tree.Problems()) == 0 {
				t.Errorf("the entry after it is %+v, %d problems", b, len(tree.Problems()))
			}
		})
	}
}

// TestRecordBehindManyBlocks: the record after a torn one is found, however many blocks the torn one has.
func TestRecordBehindManyBlocks(t *testing.T) {
	torn := `{"type":"message","id":"x","parentId":"a","message":{"role":"assistant","content":[` +
		strings.Repeat(`{"type":"toolCall","id":"call","name":"read","arguments":{}},`, 1000) + `{"type":"text","text":"cut of`
	tree := decode(t, pi.Omp, header+user("a", "", `"one"`)+torn+user("b", "a", `"two"`))
	if tree.Len() != 2 || tree.LeafID() != "b" || len(tree.Problems()) != 1 {
		t.Errorf("%d entries, leaf %q, problems %v", tree.Len(), tree.LeafID(), tree.Problems())
	}
}
