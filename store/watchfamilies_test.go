package store_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/file"
	"github.com/treeline-dev/treeline/backend/rows"
	"github.com/treeline-dev/treeline/backend/rows/codelia"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/all"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// What other agents than pi and omp write is told as well.
func TestWatchFamilies(t *testing.T) {
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
			bothWays(t, func(t *testing.T, start func(*house, store.WatchOptions) *viewer) {
				h := newHouse(t)
				h.put(tc.path, tc.head+"\n"+tc.line(1)+"\n")
				v := start(h, store.WatchOptions{})
				if c := v.next(); c.Sessions != 1 {
					t.Fatalf("%d sessions are watched", c.Sessions)
				}
				h.add(tc.path, tc.line(2)+"\n"+tc.line(3)+"\n")
				v.says("number 2", "number 3")
				// Entries without an id are known by their bytes.
				h.swap(tc.path, strings.Join([]string{tc.head, tc.line(1), tc.line(3), tc.line(2), tc.line(4)}, "\n")+"\n")
				if c := v.next(); c.Kind != store.ChangeReplaced {
					t.Fatalf("told %s", describe(c))
				}
				v.says("number 4")
			})
		})
	}
}

// says wants entries of these texts to be told next.
func (v *viewer) says(texts ...string) {
	v.Helper()
	for _, want := range texts {
		c := v.next()
		if c.Kind != store.ChangeEntry {
			v.Fatalf("told %s, want %q", describe(c), want)
		}
		parts, err := c.Parts()
		if err != nil || len(parts) != 1 || parts[0].(session.Text).Text != want {
			v.Fatalf("told %v (%v), want %q", parts, err, want)
		}
	}
}

// A state of codelia is saved as a whole, with the messages from before. The logs of runs beside it are no sessions, but one
// that is named is followed.
func TestWatchStates(t *testing.T) {
	h := newHouse(t)
	h.Store = store.New(store.Options{
		Dialects: all.Dialects(),
		Env: dialect.Env{Home: h.home, TempDir: h.home, WorkDir: h.home, Zone: time.UTC,
			Getenv: func(string) string { return "" }, Realpath: func(p string) (string, error) { return p, nil }},
		OpenDir: func(dir string) (backend.Backend, error) { return file.New(dir, file.Options{ReadOnly: true}) },
		Drivers: []backend.Driver{codelia.Driver()},
	})
	const id = "c0de0001-0000-4000-8000-000000000000"
	states := codelia.NewDatabase(h.at(".codelia/sessions"), codelia.Options{})
	state := rows.Session{ID: id, Header: []byte(`{"session_id":"` + id + `","workspace_root":"/work"}`)}
	save := func(texts ...string) {
		t.Helper()
		state.Messages = nil
		for _, text := range texts {
			state.Messages = append(state.Messages, fmt.Appendf(nil, `{"role":"user","content":%q}`, text))
		}
		h.must(states.Save(t.Context(), state))
		now, err := states.Load(t.Context(), id)
		h.must(err)
		state.Version = now.Version
	}
	h.must(os.MkdirAll(h.at(".codelia/sessions"), 0o700))
	save("one")
	row, err := h.Find(t.Context(), id)
	h.must(err)
	v := view(h, store.WatchOptions{Path: row.Path}, true)
	v.want("start 1")
	save("one", "alone")
	v.says("alone")
	v = view(h, store.WatchOptions{}, true)
	v.want("start 1")
	save("one", "alone", "two")
	v.says("two")
	run := ".codelia/sessions/2026/02/03/8f1d7b7a-0000-4000-8000-000000000000.jsonl"
	h.put(run, `{"type":"header","schema_version":1,"run_id":"8f1d7b7a-0000-4000-8000-000000000000","session_id":"c0de0001","started_at":"2026-02-03T12:34:56.789Z"}`+"\n")
	save("short", "two") // as after a compaction
	if c := v.next(); c.Kind != store.ChangeReplaced && c.Kind != store.ChangeTruncated {
		t.Fatalf("told %s", describe(c))
	}
	v.says("short")
	h.must(states.Remove(t.Context(), id, state.Version))
	if c := v.next(); c.Kind != store.ChangeRemoved {
		t.Fatalf("told %s", describe(c))
	}

	v = view(h, store.WatchOptions{Path: h.at(run)}, true)
	v.want("start 1")
	h.add(run, `{"type":"run.start","run_id":"8f1d7b7a-0000-4000-8000-000000000000","seq":1,"ts":"2026-02-03T12:34:57.000Z","input":{"type":"text","text":"list files"}}`+"\n")
	v.says("list files")
}
