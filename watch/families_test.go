package watch_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/rows/codelia"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/watch"
)

// Sessions of agents other than pi and omp.
func TestFamilies(t *testing.T) {
	for _, tc := range []struct {
		name, path, head string
		line             func(n int) string
	}{
		{"operator", ".operator/sessions/0198a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a2b.jsonl",
			`{"type":"session","version":3,"id":"0198a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a2b","timestamp":1755000000.25,"cwd":"/pond"}`,
			func(n int) string {
				return fmt.Sprintf(`{"id":"aaaa%04d","timestamp":1755000001.25,"type":"message","message":{"contents":[{"type":"text","content":"number %d"}],"id":"x","timestamp":1755000000.75,"role":"user"}}`, n, n)
			}},
		{"wave", ".wave/projects/-garden-shed/1f116a5a-5b5c-6d40-8c3d-0242ac120002.jsonl",
			`{"type":"metadata","workdir":"/garden/shed","createdAt":"2026-03-01T08:00:00.000Z"}`,
			func(n int) string {
				return fmt.Sprintf(`{"timestamp":"2026-03-01T08:00:01.000Z","role":"user","blocks":[{"type":"text","content":"number %d"}]}`, n)
			}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bothWays(t, func(t *testing.T, start func(*home, watch.Options) *viewer) {
				h := newHome(t)
				h.Old(tc.path, tc.head+"\n"+tc.line(1)+"\n")
				v := start(h, watch.Options{})
				if c := v.next(); c.Sessions != 1 {
					t.Fatalf("%d sessions are watched", c.Sessions)
				}
				h.add(tc.path, tc.line(2)+"\n"+tc.line(3)+"\n")
				v.says("number 2", "number 3")
				// Entries without an id are identified by their bytes.
				h.swap(tc.path, strings.Join([]string{tc.head, tc.line(1), tc.line(3), tc.line(2), tc.line(4)}, "\n")+"\n")
				if c := v.next(); c.Kind != watch.KindReplaced {
					t.Fatalf("told %s", describe(c))
				}
				v.says("number 4")
			})
		})
	}
}

// says expects entries with these texts next.
func (v *viewer) says(texts ...string) {
	v.Helper()
	for _, want := range texts {
		c := v.next()
		if c.Kind != watch.KindEntry {
			v.Fatalf("told %s, want %q", describe(c), want)
		}
		parts, err := c.Parts()
		if err != nil || len(parts) != 1 || parts[0].(session.Text).Text != want {
			v.Fatalf("told %v (%v), want %q", parts, err, want)
		}
	}
}

// A state of codelia is saved as a whole, with its older messages. The logs of runs beside it are not sessions, but one that Path names is
// followed.
func TestStates(t *testing.T) {
	t.Parallel()
	h := newHome(t, func(w *world.World) { w.Databases = []backend.Driver{codelia.Driver()} })
	h.Must(os.MkdirAll(h.At(".codelia/sessions"), 0o700))
	states, err := h.m.OpenWriting(h.At(".codelia/sessions/messages"), "")
	h.Must(err)
	const id = "c0de0001-0000-4000-8000-000000000000"
	head := []byte(`{"schema_version":1,"session_id":"` + id + `","updated_at":"2026-02-03T12:34:56.789Z","workspace_root":"/work"}`)
	said := func(text string) []byte { return fmt.Appendf(nil, `{"role":"user","content":%q}`, text) }
	at, err := states.Create(t.Context(), id+".jsonl", head, said("one"))
	h.Must(err)
	v := view(h, watch.Options{Path: h.At(".codelia/sessions/messages/" + id + ".jsonl")}, true)
	v.want("start 1")
	at, err = states.Append(t.Context(), at, said("alone"))
	h.Must(err)
	v.says("alone")
	v = view(h, watch.Options{}, true)
	v.want("start 1")
	at, err = states.Append(t.Context(), at, said("two"))
	h.Must(err)
	v.says("two")
	run := ".codelia/sessions/2026/02/03/8f1d7b7a-0000-4000-8000-000000000000.jsonl"
	h.Old(run, `{"type":"header","schema_version":1,"run_id":"8f1d7b7a-0000-4000-8000-000000000000","session_id":"c0de0001","started_at":"2026-02-03T12:34:56.789Z"}`+"\n")
	at, err = states.Replace(t.Context(), at, head, said("short"), said("two")) // shorter, as after a compaction
	h.Must(err)
	if c := v.next(); c.Kind != watch.KindReplaced {
		t.Fatalf("told %s", describe(c))
	}
	v.says("short")
	h.Must(states.Remove(t.Context(), at))
	if c := v.next(); c.Kind != watch.KindRemoved {
		t.Fatalf("told %s", describe(c))
	}

	v = view(h, watch.Options{Path: h.At(run)}, true)
	v.want("start 1")
	h.add(run, `{"type":"run.start","run_id":"8f1d7b7a-0000-4000-8000-000000000000","seq":1,"ts":"2026-02-03T12:34:57.000Z","input":{"type":"text","text":"list files"}}`+"\n")
	v.says("list files")
}
