package codelia_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/companion/codelia"
	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

func raws(lines string) []session.Raw {
	var list []session.Raw
	for line := range strings.Lines(lines) {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, session.Raw(line))
		}
	}
	return list
}

func text(list []session.Raw) string {
	var b strings.Builder
	for _, m := range list {
		b.Write(m)
		b.WriteByte('\n')
	}
	return b.String()
}

// Calls without answers and answers without calls go, and nothing else.
func TestHealed(t *testing.T) {
	got := text(codelia.Healed(raws(`
		{"role":"system","content":"You are."}
		{"role":"user","content":"go"}
		{"role":"tool","tool_call_id":"c1","content":"before its call"}
		{"role":"assistant","content":"I look.","tool_calls":[{"id":"c1"},{"id":"c2"}]}
		{"role":"tool","tool_call_id":"c1","content":"one"}
		{"role":"tool","tool_call_id":"c9","content":"nobody asked"}
		{"role":"system","content":"<system-reminder type=\"session.resume.diff\">\nold</system-reminder>"}
		{"role":"system","content":"stays"}
		{"role":"assistant","content":"says something","tool_calls":[{"id":"c3"}]}
		{"role":"assistant","content":null,"tool_calls":[{"id":"c4"}]}
		{"role":"assistant","content":null,"tool_calls":[{"id":"c5"}],"z":1.0}
		{"role":"tool","tool_call_id":"c5","content":"five"}`)))
	want := text(raws(`
		{"role":"user","content":"go"}
		{"role":"assistant","content":"I look.","tool_calls":[{"id":"c1"}]}
		{"role":"tool","tool_call_id":"c1","content":"one"}
		{"role":"system","content":"stays"}
		{"role":"assistant","content":"says something"}
		{"role":"assistant","content":null,"tool_calls":[{"id":"c5"}],"z":1.0}
		{"role":"tool","tool_call_id":"c5","content":"five"}`))
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Servers that count calls anew in each turn use an id again: each answer belongs to the call before it.
func TestHealedRepeatedIDs(t *testing.T) {
	const turns = `
		{"role":"assistant","content":null,"tool_calls":[{"id":"call_0"}]}
		{"role":"tool","tool_call_id":"call_0","content":"first"}
		{"role":"assistant","content":null,"tool_calls":[{"id":"call_0"}]}
		{"role":"tool","tool_call_id":"call_0","content":"second"}`
	const interrupted = `
		{"role":"assistant","content":null,"tool_calls":[{"id":"call_0"}]}`
	if got, want := text(codelia.Healed(raws(turns+interrupted))), text(raws(turns)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Where a session goes on elsewhere the model is told, in the program's words; where it does not it is not.
func TestResume(t *testing.T) {
	s := store.State{ID: one, Root: "/p", Messages: messages("hi"), Meta: session.Raw(
		`{"codelia_resume_context":{"schema_version":1,"workspace_root":"/p","working_dir":"/p","sandbox_root":"/p","approval_mode":"trusted","model_provider":"a","model_name":"m"}}`)}
	now := store.Environment{Root: "/p", WorkDir: "/q", Sandbox: "/p", Approval: "trusted", Provider: "a", Model: "m"}
	c := codelia.New(t.TempDir(), codelia.Options{})
	list, err := c.Resume(s, now)
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	want := "<system-reminder type=\"session.resume.diff\">\nSession resumed in current runtime context:\n- Current workspace root: /p\n" +
		"- Current working directory: /q\n- Current sandbox root: /p\n- Current approval mode: trusted\n- Current model: a/m\n" +
		"- Working directory changed: /p -> /q\nUse the current runtime/workspace context for subsequent actions.\n</system-reminder>"
	if got := rawjson.Str(list[0], "content"); got != want || rawjson.Str(list[0], "role") != "system" {
		t.Errorf("%s", got)
	}
	now.WorkDir = "/p"
	if list, _ := c.Resume(s, now); len(list) != 1 {
		t.Errorf("told of nothing: %s", list[0])
	}
	if list, _ := c.Resume(s, store.Environment{}); len(list) != 1 {
		t.Errorf("told of nothing: %s", list[0])
	}
	if list, _ := c.Resume(store.State{Root: "/p"}, store.Environment{Root: "/r"}); len(list) != 1 {
		t.Error("another root was not told of")
	}
}

// The agent's own files load completely, and reading them changes nothing.
func TestCorpus(t *testing.T) {
	dir := filepath.Join(dialecttest.Corpus(t, "codelia"), "sessions")
	before := traces(t, dir)
	c := codelia.New(dir, codelia.Options{})
	list, err := c.List(t.Context())
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	copied := t.TempDir()
	for _, i := range list {
		if i.Err != nil {
			t.Errorf("%s: %v", i.ID, i.Err)
			continue
		}
		s := mustLoad(t, c, i.ID)
		if len(s.Messages) != i.Messages || s.Root == "" || s.Meta == nil || s.InvokeSeq == nil {
			t.Errorf("%s: %+v", i.ID, s)
		}
		original, _ := os.ReadFile(filepath.Join(dir, "messages", string(i.ID)+".jsonl"))
		to := codelia.New(copied, codelia.Options{})
		version := s.Version
		s.Version = ""
		mustSave(t, to, s)
		written, _ := os.ReadFile(filepath.Join(copied, "messages", string(i.ID)+".jsonl"))
		if string(written) != string(original) {
			t.Errorf("%s: the messages changed on the way", i.ID)
		}
		if mustLoad(t, to, i.ID).Version != version {
			t.Errorf("%s: the row changed on the way", i.ID)
		}
		if again, _ := to.List(t.Context()); len(again) != 1 || again[0] != i {
			t.Errorf("%s: listed as %+v, was %+v", i.ID, again, i)
		}
		requests(t, dir, s)
	}
	if after := traces(t, dir); after != before {
		t.Errorf("reading changed the folder:\n%s\nwas\n%s", after, before)
	}
}

// requests compares the reminders that the agent sent with ours.
func requests(t *testing.T, dir string, s store.State) {
	t.Helper()
	logs, _ := filepath.Glob(filepath.Join(dir, "*", "*", "*", "*.jsonl"))
	found := 0
	for _, log := range logs {
		content, _ := os.ReadFile(log)
		for line := range strings.Lines(string(content)) {
			for m := range rawjson.Elements(rawjson.At([]byte(line), "/input/messages")) {
				sent := rawjson.Str(m, "content")
				if !strings.HasPrefix(sent, "<system-reminder") {
					continue
				}
				value := func(name string) string {
					_, rest, _ := strings.Cut(sent, "- Current "+name+": ")
					v, _, _ := strings.Cut(rest, "\n")
					return v
				}
				_, change, _ := strings.Cut(sent, "- Working directory changed: ")
				was, _, _ := strings.Cut(change, " -> ")
				s.Meta = rawjson.SetAt(s.Meta, "/codelia_resume_context/working_dir", rawjson.Quote(was))
				provider, model, _ := strings.Cut(value("model"), "/")
				got, _ := codelia.Reminder(s, store.Environment{
					Root: value("workspace root"), WorkDir: value("working directory"), Sandbox: value("sandbox root"),
					Approval: value("approval mode"), Provider: provider, Model: model,
				})
				if got != sent {
					t.Errorf("got\n%s\nwant\n%s", got, sent)
				}
				found++
			}
		}
	}
	if found == 0 {
		t.Error("no request has a reminder")
	}
}
