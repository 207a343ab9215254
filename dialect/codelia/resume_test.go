package codelia_test

import (
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/codelia"
	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
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

// healed is what the model sees of a conversation that resumes.
func healed(t *testing.T, messages []session.Raw, resume ...session.Raw) (list []session.Raw) {
	t.Helper()
	const header = `{"schema_version":1,"session_id":"one","updated_at":"2026"}`
	tree, err := dialecttest.Decode(codelia.State, "log", []byte(header+"\n"+text(messages)))
	if err != nil {
		t.Fatal(err)
	}
	c, err := session.BuildContext(tree, tree.LeafID(), session.ContextOptions{Resume: resume})
	if err != nil {
		t.Fatal(err)
	}
	for m, err := range c.Messages() {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, m.JSON)
	}
	return list
}

// Calls without a result and results without a call are left out, and nothing else.
func TestHealed(t *testing.T) {
	got := text(healed(t, raws(`
		{"role":"system","content":"You are."}
		{"role":"user","content":"go"}
		{"role":"tool","tool_call_id":"c1","content":"before its call"}
		{"role":"assistant","content":"I look.","tool_calls":[{"id":"c1"},{"id":"c2"}]}
		{"role":"tool","tool_call_id":"c1","content":"one"}
		{"role":"tool","tool_call_id":"c9","content":"no call"}
		{"role":"tool","content":"no id"}
		{"role":"system","content":"<system-reminder type=\"session.resume.diff\">\nold</system-reminder>"}
		{"role":"system","content":"stays"}
		{"role":"assistant","content":"says something","tool_calls":[{"id":"c3"}]}
		{"role":"assistant","content":null,"tool_calls":[{"id":"c4"}]}
		{"role":"assistant","content":null,"tool_calls":[{"id":"c5"}],"z":1.0}
		{"role":"tool","tool_call_id":"c5","content":"five"}`)))
	want := text(raws(`
		{"role":"system","content":"You are."}
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

// Some servers number the calls of each turn from zero: a result belongs to the last call before it that has its id.
func TestHealedRepeatedIDs(t *testing.T) {
	const turns = `
		{"role":"assistant","content":null,"tool_calls":[{"id":"call_0"}]}
		{"role":"tool","tool_call_id":"call_0","content":"first"}
		{"role":"assistant","content":null,"tool_calls":[{"id":"call_0"}]}
		{"role":"tool","tool_call_id":"call_0","content":"second"}`
	const interrupted = `
		{"role":"assistant","content":null,"tool_calls":[{"id":"call_0"}]}`
	if got, want := text(healed(t, raws(turns+interrupted))), text(raws(turns)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// The resume message follows the system messages at the beginning, in any conversation.
func TestResumeFollowsPrompt(t *testing.T) {
	const notice, system, user = `{"role":"system","content":"resumed"}`, `{"role":"system","content":"You are."}`, `{"role":"user","content":"go"}`
	for said, want := range map[string]string{
		"":                                   notice,
		user:                                 notice + "\n" + user,
		system + "\n" + system:               system + "\n" + system + "\n" + notice,
		system + "\n" + user + "\n" + system: system + "\n" + notice + "\n" + user + "\n" + system,
	} {
		if got := text(healed(t, raws(said), session.Raw(notice))); got != want+"\n" {
			t.Errorf("of\n%s\ngot\n%swant\n%s", said, got, want)
		}
	}
}

// Only if a session resumes elsewhere is the model told, in the program's words.
func TestResume(t *testing.T) {
	header := session.Header{CWD: "/p", Raw: session.Raw(`{"schema_version":1,"session_id":"one","updated_at":"2026","workspace_root":"/p","meta":{"codelia_resume_context":` +
		`{"schema_version":1,"workspace_root":"/p","working_dir":"/p","sandbox_root":"/p","approval_mode":"trusted","model_provider":"a","model_name":"m"}}}`)}
	now := dialect.Here{Root: "/p", WorkDir: "/q", Sandbox: "/p", Approval: "trusted", Provider: "a", Model: "m"}
	list := codelia.State.Resume(header, now)
	if len(list) != 1 {
		t.Fatal(list)
	}
	want := "<system-reminder type=\"session.resume.diff\">\nSession resumed in current runtime context:\n- Current workspace root: /p\n" +
		"- Current working directory: /q\n- Current sandbox root: /p\n- Current approval mode: trusted\n- Current model: a/m\n" +
		"- Working directory changed: /p -> /q\nUse the current runtime/workspace context for subsequent actions.\n</system-reminder>"
	if got := rawjson.Str(list[0], "content"); got != want || rawjson.Str(list[0], "role") != "system" {
		t.Errorf(`%s; want got == %v, rawjson.Str(list[0], "role") == "system"`, got, want)
	}
	now.WorkDir = "/p"
	for _, same := range []dialect.Here{now, {}} {
		if list := codelia.StateDoc.Resume(header, same); len(list) != 0 {
			t.Errorf("%+v: told %s", same, list[0])
		}
	}
}

// The cases are what a state says about its place, and what the model is told about the change.
func TestResumeFrom(t *testing.T) {
	const root, document = `{"workspace_root":"/p"}`, `{"schema_version":1}`
	for _, test := range []struct {
		header, cwd string
		now         dialect.Here
		want        string
	}{
		{root, "/p", dialect.Here{Root: "/r"}, "Workspace root changed: /p -> /r"},
		{root, "/p", dialect.Here{Root: "/p", WorkDir: "/p/src"}, ""},
		{`{"meta":{"codelia_workspace_root":"/p"}}`, "/p", dialect.Here{Root: "/r", WorkDir: "/r"}, "Working directory changed: /p -> /r"},
		// In a state of the document, the directory is that of the last run.
		{document, "/p/src", dialect.Here{Root: "/p", WorkDir: "/p/src"}, ""},
		{document, "/p/src", dialect.Here{Root: "/p", WorkDir: "/p"}, "Working directory changed: /p/src -> /p"},
		{document, "/p/src", dialect.Here{Root: "/p"}, ""},
		{document, "/p/src", dialect.Here{Root: "/r"}, "Workspace root changed: /p/src -> /r"},
		{document, "", dialect.Here{Root: "/r", WorkDir: "/r"}, ""},
	} {
		got := text(codelia.StateDoc.Resume(session.Header{CWD: test.cwd, Raw: session.Raw(test.header)}, test.now))
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s of %s in %+v: %s, want %q", test.header, test.cwd, test.now, got, test.want)
		}
	}
}
