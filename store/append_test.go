package store_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// Every kind of entry of the family is written as the programs write it, members in their order.
func TestAppendKinds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		dialect, name, want string
		append              func(*store.Session, context.Context) (store.Appended, error)
	}{
		{"omp", "message", `"message":{"role":"user","content":"hi"}`, func(s *store.Session, ctx context.Context) (store.Appended, error) {
			return s.AppendMessage(ctx, []byte(`{ "role": "user", "content": "hi" }`))
		}},
		{"omp", "thinking_level_change", `"thinkingLevel":"high"`, func(s *store.Session, ctx context.Context) (store.Appended, error) {
			return s.AppendThinkingLevelChange(ctx, "high")
		}},
		{"omp", "model_change", `"model":"anthropic/opus","role":"smol"`, func(s *store.Session, ctx context.Context) (store.Appended, error) {
			return s.AppendModelChange(ctx, "smol", "anthropic", "opus")
		}},
		{"pi", "model_change", `"provider":"anthropic","modelId":"opus"`, func(s *store.Session, ctx context.Context) (store.Appended, error) {
			return s.AppendModelChange(ctx, "", "anthropic", "opus")
		}},
		{"omp", "compaction", `"summary":"S","shortSummary":"s","firstKeptEntryId":"FIRST","tokensBefore":7,"details":{"a":1},"preserveData":{"b":2},"fromExtension":true`,
			func(s *store.Session, ctx context.Context) (store.Appended, error) {
				return s.Compact(ctx, session.Compaction{Summary: "S", ShortSummary: "s", FirstKept: s.Leaf(), TokensBefore: 7,
					Details: session.Raw(`{"a":1}`), PreserveData: session.Raw(`{"b":2}`), FromExtension: new(true)})
			}},
		{"pi", "compaction", `"summary":"S","firstKeptEntryId":"FIRST","tokensBefore":0,"fromHook":true`, func(s *store.Session, ctx context.Context) (store.Appended, error) {
			return s.Compact(ctx, session.Compaction{Summary: "S", FirstKept: s.Leaf(), FromExtension: new(true)})
		}},
		{"omp", "compaction", `"summary":"S","firstKeptEntryId":"FIRST","tokensBefore":0,"fromExtension":false`, func(s *store.Session, ctx context.Context) (store.Appended, error) {
			return s.Compact(ctx, session.Compaction{Summary: "S", FirstKept: s.Leaf(), FromExtension: new(false)})
		}},
		{"omp", "compaction", `"summary":"S","firstKeptEntryId":"FIRST","tokensBefore":0`, func(s *store.Session, ctx context.Context) (store.Appended, error) {
			return s.Compact(ctx, session.Compaction{Summary: "S", FirstKept: s.Leaf()})
		}},
		{"pi", "branch_summary", `"fromId":"root","summary":"S","fromHook":false`, func(s *store.Session, ctx context.Context) (store.Appended, error) {
			return s.Append(ctx, session.BranchSummary{From: "root", Summary: "S", FromExtension: new(false)})
		}},
		{"omp", "service_tier_change", `"serviceTier":"flex"`, func(s *store.Session, ctx context.Context) (store.Appended, error) {
			return s.Append(ctx, session.TierChange{Tier: session.Raw(`"flex"`)})
		}},
		{"omp", "service_tier_change", `"serviceTier":null`, func(s *store.Session, ctx context.Context) (store.Appended, error) {
			return s.Append(ctx, session.TierChange{})
		}},
		{"omp", "mcp_tool_selection", `"selectedToolNames":["a"]`, func(s *store.Session, ctx context.Context) (store.Appended, error) {
			return s.Append(ctx, session.ToolSelection{Tools: []string{"a"}})
		}},
		{"omp", "custom", `"customType":"x","data":{"n":1.50}`, func(s *store.Session, ctx context.Context) (store.Appended, error) {
			return s.AppendCustom(ctx, "x", []byte(`{"n": 1.50}`))
		}},
		{"omp", "custom", `"customType":"x"`, func(s *store.Session, ctx context.Context) (store.Appended, error) {
			return s.AppendCustom(ctx, "x", nil)
		}},
		{"pi", "custom_message", `"customType":"x","content":"c","display":true,"details":[1]`, func(s *store.Session, ctx context.Context) (store.Appended, error) {
			return s.AppendCustomMessage(ctx, session.CustomMessage{Type: "x", Content: session.Raw(`"c"`), Display: true, Details: session.Raw(`[1]`)})
		}},
		{"pi", "session_info", `"name":"a b"`, func(s *store.Session, ctx context.Context) (store.Appended, error) {
			return s.AppendSessionInfo(ctx, " a\nb ")
		}},
		{"omp", "mode_change", `"mode":"plan","data":{}`, func(s *store.Session, ctx context.Context) (store.Appended, error) {
			return s.AppendModeChange(ctx, "plan", []byte(`{}`))
		}},
		{"omp", "ttsr_injection", `"injectedRules":["a","b"]`, func(s *store.Session, ctx context.Context) (store.Appended, error) {
			return s.AppendTTSRInjection(ctx, []string{"a", "b"})
		}},
		{"omp", "session_init", `"systemPrompt":"p","task":"t","tools":["x"],"outputSchema":{"a":1}`, func(s *store.Session, ctx context.Context) (store.Appended, error) {
			return s.AppendSessionInit(ctx, session.SessionInit{SystemPrompt: "p", Task: "t", Tools: []string{"x"}, OutputSchema: session.Raw(`{"a":1}`)})
		}},
		{"pi", "context_edit", `"targetId":"x","replacement":null`, func(s *store.Session, ctx context.Context) (store.Appended, error) {
			return s.Append(ctx, session.ContextEdit{Target: "x"})
		}},
		{"pi", "usage", `"kind":"k","usage":{"input":1}`, func(s *store.Session, ctx context.Context) (store.Appended, error) {
			return s.AppendRecord(ctx, []byte(`{"type":"usage","id":"gone","parentId":null,"timestamp":"x","kind":"k","usage":{"input":1}}`))
		}},
	} {
		t.Run(test.dialect+"/"+test.name, func(t *testing.T) {
			d := newDesk(t)
			s := d.Begin(test.dialect, store.CreateOptions{Write: store.WriteOptions{Defer: dialect.DeferNever}})
			first := d.User(s, "first")
			got, err := test.append(s, t.Context())
			d.Must(err)
			if !got.Durable || got.Foreign != 0 || got.Outcome != "" || s.Leaf() != got.ID {
				t.Errorf("%+v, leaf %s", got, s.Leaf())
			}
			lines := d.ReadLines(s.Path())
			want := `{"type":"` + test.name + `","id":"` + string(got.ID) + `","parentId":"` + string(first) + `","timestamp":"2026-02-16T10:00:03.000Z",` + strings.ReplaceAll(test.want, "FIRST", string(first)) + `}`
			if last := lines[len(lines)-1]; last != want {
				t.Errorf("got  %s\nwant %s", last, want)
			}
			d.MemoryEqualsDisk(s)
		})
	}
}

// What is no entry is refused, and nothing changes.
func TestAppendRefuses(t *testing.T) {
	d := newDesk(t)
	s := d.Begin("omp", store.CreateOptions{Write: store.WriteOptions{Defer: dialect.DeferNever}})
	first := d.User(s, "first")
	before := d.ReadLines(s.Path())
	for name, append := range map[string]func() (store.Appended, error){
		"a message that is a number": func() (store.Appended, error) { return s.AppendMessage(t.Context(), []byte(`7`)) },
		"a message that is cut off":  func() (store.Appended, error) { return s.AppendMessage(t.Context(), []byte(`{"role":"user"`)) },
		"two messages":               func() (store.Appended, error) { return s.AppendMessage(t.Context(), []byte(`{} {}`)) },
		"data that are not JSON":     func() (store.Appended, error) { return s.AppendCustom(t.Context(), "x", []byte(`{`)) },
		"a label on nothing":         func() (store.Appended, error) { return s.Label(t.Context(), "nobody", "x") },
		"a branch from nothing": func() (store.Appended, error) {
			return s.Branch(t.Context(), "nobody", store.BranchOptions{Durable: true})
		},
		"a header": func() (store.Appended, error) {
			return s.AppendRecord(t.Context(), []byte(`{"type":"session","id":"x"}`))
		},
		"a summary of nothing": func() (store.Appended, error) {
			return s.BranchWithSummary(t.Context(), "nobody", session.BranchSummary{Summary: "x"})
		},
		"a leaf, which the format does not have": func() (store.Appended, error) { return s.Append(t.Context(), session.Leaf{Target: first}) },
	} {
		if _, err := append(); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if _, err := s.Label(t.Context(), "nobody", "x"); !errors.Is(err, session.ErrUnknownEntry) || err.Error() != "entry nobody not found" {
		t.Errorf("a label on nothing: %v", err)
	}
	d.Same(d.ReadLines(s.Path()), before)
	if s.Leaf() != first {
		t.Errorf("the leaf is %s", s.Leaf())
	}
	if second := d.User(s, "second"); second == "" { // no error was latched
		t.Error("no id")
	}
	d.MemoryEqualsDisk(s)
}

// A record is made at the call: later changes of the caller's bytes do not matter.
func TestAppendEncodesAtTheCall(t *testing.T) {
	d := newDesk(t)
	for _, habit := range []dialect.Defer{dialect.DeferNever, dialect.DeferAssistant} {
		s := d.Begin("omp", store.CreateOptions{Write: store.WriteOptions{Defer: habit}})
		m := world.Message("user", "before")
		_, err := s.AppendMessage(t.Context(), m)
		d.Must(err)
		data := []byte(`{"k":"before"}`)
		_, err = s.AppendCustom(t.Context(), "x", data)
		d.Must(err)
		copy(m[bytes.Index(m, []byte("before")):], "AFTER!")
		copy(data[bytes.Index(data, []byte("before")):], "AFTER!")
		d.Answer(s, "done")
		d.Same(d.Texts(s), []string{"before", "done"})
		if all := strings.Join(d.ReadLines(s.Path()), "\n"); strings.Contains(all, "AFTER!") {
			t.Errorf("leaked: %s", all)
		}
	}
}

// repeating gives the same four bytes n times, then counts.
type repeating struct {
	n int
	world.Counter
}

func (r *repeating) Read(p []byte) (int, error) {
	if r.n--; r.n >= 0 {
		return copy(p, "\xde\xad\xbe\xef"), nil
	}
	return r.Counter.Read(p)
}

// Ids are eight hex digits that no entry has yet.
func TestEntryIDs(t *testing.T) {
	d := newDesk(t)
	random := &repeating{}
	s := d.Begin("omp", store.CreateOptions{ID: "s", Write: store.WriteOptions{Defer: dialect.DeferNever, Random: random}})
	random.n = 60 // the first entry takes the first of them, the second tries 59 more
	first, second := d.User(s, "one"), d.User(s, "two")
	if first != "deadbeef" || second != "00000001" {
		t.Errorf("ids %s and %s", first, second)
	}
	random.n = 101
	if _, err := s.AppendMessage(t.Context(), world.Message("user", "x")); err == nil || !strings.Contains(err.Error(), "no free entry id") {
		t.Errorf("with an id that is always taken: %v", err)
	}
	random.n = 0
	if third := d.User(s, "three"); third != "00000002" {
		t.Errorf("third id %s", third)
	}
	d.MemoryEqualsDisk(s)
}

// Session ids are those of the dialect; an id from the caller is checked before it is part of a path.
func TestSessionIDs(t *testing.T) {
	d := newDesk(t)
	for name, pattern := range map[string]string{
		"pi":      `^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`,
		"omp":     `^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`,
		"omp-doc": `^[0-9a-f]{16}$`,
	} {
		s := d.Begin(name, store.CreateOptions{})
		if !regexp.MustCompile(pattern).MatchString(string(s.ID())) || !strings.HasSuffix(s.Path(), "_"+string(s.ID())+".jsonl") {
			t.Errorf("%s: id %s, file %s", name, s.ID(), s.Path())
		}
		if s := d.Begin(name, store.CreateOptions{ID: "my-id.1"}); s.ID() != "my-id.1" {
			t.Errorf("%s: id %s", name, s.ID())
		}
		for _, id := range []session.ID{"../x", "a/b", `a\b`, ".x", "x.", "-", "a b", "ä", "x\x00", session.ID(strings.Repeat("x", 200))} {
			if _, err := d.Create(t.Context(), d.fill(store.CreateOptions{ID: id, Dialect: d.Format(name)})); err == nil {
				t.Errorf("%s: id %q is taken", name, id)
			}
		}
	}
}

// A context that was made before the session went on reads what it read before.
func TestContextStaysWhatItWas(t *testing.T) {
	for name, do := range map[string]func(d *desk, s *store.Session) error{
		"append":  func(d *desk, s *store.Session) error { d.User(s, "more"); return nil },
		"rename":  func(d *desk, s *store.Session) error { return s.Rename(d.Context(), strings.Repeat("long ", 50)) },
		"fork":    func(d *desk, s *store.Session) error { return s.Fork(d.Context()) },
		"move":    func(d *desk, s *store.Session) error { return s.Move(d.Context(), "/a/longer/path/than/before") },
		"rewrite": func(d *desk, s *store.Session) error { return s.RewriteEntries(d.Context(), nil) },
		"new":     func(d *desk, s *store.Session) error { return s.NewSession(d.Context(), "", "") },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			s := d.Begin("omp", store.CreateOptions{})
			d.User(s, "question")
			d.Answer(s, "answer")
			c, err := s.Context(t.Context(), s.Leaf(), store.ContextOptions{})
			d.Must(err)
			d.Must(do(d, s))
			var got []string
			for m, err := range c.Messages() {
				d.Must(err)
				var v struct{ Content string }
				d.Must(json.Unmarshal(m.JSON, &v))
				got = append(got, v.Content)
			}
			d.Same(got, []string{"question", "answer"})
		})
	}
}

// A session in memory does all that one on disk does, and leaves nothing.
func TestInMemory(t *testing.T) {
	d := newDesk(t)
	s := d.Closing(d.InMemory(t.Context(), d.fill(store.CreateOptions{Title: "T"})))
	one := d.User(s, "one")
	d.Answer(s, strings.Repeat("x", 600_000)) // nothing is cut: there is no place for the rest
	_, err := s.Branch(t.Context(), one, store.BranchOptions{Durable: true})
	d.Must(err)
	d.Must(s.Rename(t.Context(), "name"))
	d.Must(s.Move(t.Context(), "/elsewhere"))
	d.Must(s.Fork(t.Context()))
	d.Answer(s, "two")
	d.Must(s.BranchedSession(t.Context(), s.Leaf()))
	d.Same(d.Texts(s), []string{"one", "two"})
	if h := s.Header(); h.Title != "name" || h.CWD != "/elsewhere" || s.Path() != "" {
		t.Errorf(`%+v; want h.Title == "name", h.CWD == "/elsewhere", s.Path() == ""`, h)
	}
	d.Must(s.NewSession(t.Context(), "other", ""))
	if s.ID() != "other" || s.Tree().Len() != 0 {
		t.Errorf("session %s with %d entries", s.ID(), s.Tree().Len())
	}
	d.Must(s.Delete(t.Context()))
	if _, err := s.AppendMessage(t.Context(), world.Message("user", "x")); !errors.Is(err, store.ErrClosed) {
		t.Error(err)
	}
	if files, _ := os.ReadDir(d.Home); len(files) > 0 {
		t.Errorf("left: %v", files)
	}
}

// An append that was cancelled before it began writes nothing.
func TestAppendCancelled(t *testing.T) {
	d := newDesk(t)
	s := d.Begin("pi", store.CreateOptions{Write: store.WriteOptions{Defer: dialect.DeferNever}})
	d.User(s, "one")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.AppendMessage(ctx, world.Message("user", "two")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := s.Rename(ctx, "x"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	d.User(s, "three")
	d.Same(d.Seen(s.Path()), []string{"one", "three"})
	d.MemoryEqualsDisk(s)
	if slices.Contains(d.Told(), store.EventForeign) {
		t.Error("foreign")
	}
}
