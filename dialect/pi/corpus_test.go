package pi_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/dialect/pi"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// corpus is the pattern of the folders with sessions NAME.jsonl and what a program made of them,
// NAME.context.PROGRAM.json.
func corpus(t *testing.T) string { return dialecttest.Corpus(t, "pi") + "*" }

// TestCorpusContexts compares contexts with those that the programs built.
func TestCorpusContexts(t *testing.T) {
	dir := corpus(t)
	compared := 0
	for _, p := range []struct {
		d       *pi.Dialect
		program string
		members []string
	}{
		{pi.Pi, "pi", []string{"messages", "thinkingLevel", "model"}},
		{pi.Omp, "omp13", []string{"messages", "thinkingLevel", "serviceTier", "models", "injectedTtsrRules", "selectedMCPToolNames", "hasPersistedMCPToolSelection", "mode", "modeData"}},
	} {
		answers, err := filepath.Glob(filepath.Join(dir, "*.context."+p.program+".json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range answers {
			name := strings.TrimSuffix(file, ".context."+p.program+".json")
			answer := read(t, file)
			// Our context is better where records are glued (both are kept), and where the program failed.
			if filepath.Base(name) == "22-two-values-one-line" || len(bytes.TrimSpace(answer)) == 0 {
				continue
			}
			t.Run(p.program+"/"+filepath.Base(name), func(t *testing.T) {
				tree := decode(t, p.d, string(read(t, name+".jsonl")))
				c, err := session.BuildContext(tree, tree.LeafID(), session.ContextOptions{})
				if err != nil {
					t.Fatal(err)
				}
				got, want := parse(t, contextJSON(t, c)), parse(t, answer)
				for _, member := range p.members {
					if !reflect.DeepEqual(got[member], want[member]) {
						t.Errorf("%s is %.500v, not %.500v", member, got[member], want[member])
					}
				}
			})
			compared++
		}
	}
	if compared < 20 {
		t.Errorf("only %d answers were found in %s", compared, dir)
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func parse(t *testing.T, b []byte) (object map[string]any) {
	t.Helper()
	if err := json.Unmarshal(b, &object); err != nil {
		t.Fatal(err)
	}
	return object
}

func contextJSON(t *testing.T, c *session.Context) []byte {
	t.Helper()
	b := []byte(`{"messages":[`)
	for m, err := range c.Messages() {
		if err != nil {
			t.Fatal(err)
		}
		if b[len(b)-1] != '[' {
			b = append(b, ',')
		}
		b = append(b, m.JSON...)
	}
	return append(c.AppendState(append(b, "],"...)), '}')
}

// TestCorpusBytes reads and writes every entry of every session: an unchanged entry keeps its bytes. A record of
// an old version keeps all members except those that the migration changes.
func TestCorpusBytes(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(corpus(t), "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d sessions, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data := read(t, file)
			tree, err := dialecttest.Decode(pi.Omp, file, data)
			if err != nil {
				t.Fatal(err)
			}
			for e := range tree.Entries() {
				want := data[e.Span.Offset:e.Span.End()]
				raw, err := e.Raw()
				if err != nil || !bytes.Equal(raw, want) {
					t.Fatalf("line %d is read as %.200q (%v)", e.Line, raw, err)
				}
				record, err := pi.Omp.Encode(e)
				if err != nil || !e.Migrated && !bytes.Equal(record, want) {
					t.Fatalf("line %d is written as %.200q (%v)", e.Line, record, err)
				}
				for key, value := range rawjson.Fields(want) {
					if e.Migrated && e.Kind == session.KindModelChange && rawjson.Get(record, "model") != nil {
						continue // omp has had one member for a model since version 3
					}
					switch key {
					case "id", "parentId", "firstKeptEntryIndex", "firstKeptEntryId", "message":
					default:
						if now := rawjson.Get(record, key); !bytes.Equal(now, value) {
							t.Fatalf("line %d: %s became %.200q", e.Line, key, now)
						}
					}
				}
			}
		})
	}
}
