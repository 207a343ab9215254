package pi_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/dialect/pi"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// TestMigration rewrites logs of old versions, as opening a session for writing does, and reads them again:
// they are of today's version, and neither the tree nor any context has changed.
func TestMigration(t *testing.T) {
	files, err := filepath.Glob("testdata/*/version-[12]*.jsonl")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d fixtures, %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range []*pi.Dialect{pi.Pi, pi.Omp, pi.OmpDoc, pi.Omp18} {
			old := decode(t, d, string(data))
			head, _, err := d.EditHeader(old.Header(), nil, dialect.HeaderEdit{})
			if err != nil {
				t.Fatal(err)
			}
			for key, value := range rawjson.Fields(old.Header().Raw) {
				if key != "version" && !bytes.Equal(rawjson.Get(head, key), value) {
					t.Errorf("%s: the header's %s became %s", file, key, rawjson.Get(head, key))
				}
			}
			log := append(head, '\n')
			for e := range old.Entries() {
				record, err := d.Encode(e)
				if err != nil {
					t.Fatal(err)
				}
				log = append(append(log, record...), '\n')
			}
			now := decode(t, d, string(log))
			if now.Header().Version != 3 || len(now.Problems()) != 0 || now.Len() != old.Len() {
				t.Fatalf("%s: version %d, %d entries of %d, problems %v", file, now.Header().Version, now.Len(), old.Len(), now.Problems())
			}
			for e := range old.Entries() {
				sameEntry(t, file, old, now, e)
			}
		}
	}
}

func sameEntry(t *testing.T, file string, old, now *session.Tree, e session.Entry) {
	t.Helper()
	m := now.At(e.Index)
	if m.ID != e.ID || m.Parent != e.Parent || m.Kind != e.Kind || m.Migrated || m.NativeID != m.ID {
		t.Errorf("%s: %+v became %+v", file, e, m)
	}
	raw, err := m.Raw()
	if err != nil {
		t.Fatal(err)
	}
	if index := rawjson.Get(raw, "firstKeptEntryIndex"); index != nil && !rawjson.IsString(index) {
		t.Errorf("%s: the index stayed in %s", file, raw)
	}
	a, errA := session.BuildContext(old, e.ID, session.ContextOptions{})
	b, errB := session.BuildContext(now, e.ID, session.ContextOptions{})
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	if one, two := contextText(t, a), contextText(t, b); one != two {
		t.Errorf("%s: the context at %s has changed (-old +new):\n%s", file, e.ID, dialecttest.Diff(one, two))
	}
}

func contextText(t *testing.T, c *session.Context) string {
	t.Helper()
	var b bytes.Buffer
	for m, err := range c.Messages() {
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(m.JSON, '\n'))
	}
	b.Write(c.AppendState(nil))
	return b.String()
}

// TestMigratedRecord compares records before and after: new members follow the others, nothing else moves.
func TestMigratedRecord(t *testing.T) {
	tree := decode(t, pi.Pi, `{"type":"session","id":"5e55"}`+"\n"+
		`{"type":"message","timestamp":"x","message":{ "role" : "hookMessage" , "n":1.0}}`+"\n"+
		`{"parentId":"old","type":"compaction","id":"old","summary":"s","firstKeptEntryIndex":1,"tokensBefore":1e3}`+"\n")
	first, second := tree.At(0).ID, tree.At(1).ID
	for i, want := range []string{
		`{"type":"message","timestamp":"x","message":{ "role" : "custom" , "n":1.0},"id":"` + string(first) + `","parentId":null}`,
		`{"parentId":"` + string(first) + `","type":"compaction","id":"` + string(second) + `","summary":"s","tokensBefore":1e3,"firstKeptEntryId":"` + string(first) + `"}`,
	} {
		got, err := pi.Pi.Encode(tree.At(i))
		if err != nil || string(got) != want {
			t.Errorf("entry %d is written as\n%s, not\n%s (%v)", i, got, want, err)
		}
	}
}

// TestVersions: versions are compared as in JavaScript.
func TestVersions(t *testing.T) {
	for version, migrated := range map[string]bool{
		``: true, `"version":null,`: true, `"version":0,`: true, `"version":-1,`: true, `"version":true,`: true, `"version":1.9,`: true,
		`"version":2,`: false, `"version":2.5,`: false, `"version":"2",`: false, `"version":" 1 ",`: true, `"version":"",`: true,
		`"version":3,`: false, `"version":"3",`: false, `"version":"abc",`: false, `"version":99,`: false,
	} {
		tree := decode(t, pi.Pi, `{"type":"session",`+version+`"id":"5e55"}`+"\n"+`{"type":"custom","id":"a","parentId":null}`+"\n")
		if got := tree.At(0).ID != "a"; got != migrated {
			t.Errorf("%s: ids are made: %v", version, got)
		}
	}
}
