package operator_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/operator"
	"github.com/treeline-dev/treeline/session"
)

var noon = time.Date(2026, 11, 15, 1, 12, 34, 293834000, time.UTC)

func TestHeader(t *testing.T) {
	n := dialect.NewSession{ID: "0198a1b2", Time: noon, CWD: "/home/ada/\u2028pond", Title: "not in the header"}
	for _, c := range []struct {
		d            *operator.Dialect
		parent, want string
	}{
		{operator.Operator, "", `{"type":"session","version":3,"id":"0198a1b2","timestamp":1794705154.293834,"cwd":"/home/ada/\u2028pond"}`},
		{operator.OperatorDoc, "/a.jsonl", `{"type":"session_header","id":"0198a1b2","timestamp":1794705154.293834,"cwd":"/home/ada/\u2028pond","parent_session":"/a.jsonl"}`},
	} {
		n.Parent = c.parent
		if got, err := c.d.Header(n); err != nil || string(got) != c.want {
			t.Errorf("%s: %s (%v), not %s", c.d.Name(), got, err, c.want)
		}
	}
	n.ID = "../x"
	if _, err := operator.Operator.Header(n); err == nil {
		t.Error("an id that is a path was taken")
	}
}

func TestRecord(t *testing.T) {
	user := session.Message{Role: session.RoleUser, JSON: session.Raw(`{"contents": [], "id": "m", "timestamp": 5, "role": "user", "n": 1.0}`)}
	bare := session.Message{Role: session.RoleUser, JSON: session.Raw(`{"contents":[],"role":"user"}`)}
	for _, c := range []struct {
		body session.Body
		want string // the record after the time
	}{
		{user, `"type":"message","message":{"contents":[],"id":"m","timestamp":5,"role":"user","n":1.0}`},
		{bare, `"type":"message","message":{"contents":[],"role":"user","id":"c062771e-1bce-4110-9f1c-5da1a0cd9cf7","timestamp":1794705154.293834}`},
		{session.ThinkingLevelChange{Level: "max"}, `"type":"thinking_level_change","thinking_level":"max"`},
		{session.ModelChange{Provider: "marsh", ModelID: "heron/2", Model: "marsh/heron/2"}, `"type":"model_change","model_id":"heron/2","provider_id":"marsh"`},
		{session.ModelChange{Model: "marsh/heron/2"}, `"type":"model_change","model_id":"heron/2","provider_id":"marsh"`},
		{session.Compaction{Summary: "s", FirstKept: "k"}, `"type":"compaction","summary":"s","first_kept_entry_id":"k","tokens_before":0,"from_hook":false`},
		{session.Compaction{TokensBefore: 7, Details: session.Raw("[1]"), FromExtension: new(true)}, `"type":"compaction","summary":"","first_kept_entry_id":"","tokens_before":7,"details":[1],"from_hook":true`},
		{session.BranchSummary{From: "root", Summary: "s", Details: session.Raw("null")}, `"type":"branch_summary","from_id":"root","summary":"s","from_hook":false`},
		{session.Custom{Type: "goal"}, `"type":"custom","custom_type":"goal"`},
		{session.CustomMessage{Type: "note", Content: session.Raw(`"text"`)}, `"type":"custom_message","custom_type":"note","content":[{"type":"text","content":"text"}],"display":false`},
		{session.Label{Target: "t", Label: "l"}, `"type":"label","label":"l","target_id":"t"`},
		{session.Label{Target: "t"}, `"type":"label","target_id":"t"`},
		{session.SessionInfo{Name: "a\u0085b\u2028c\u2029d\u2027"}, `"type":"session_info","name":"a\u0085b\u2028c\u2029d` + "\u2027" + `"`},
		{session.Leaf{Target: "t"}, `"type":"leaf","target_id":"t"`},
		{session.Leaf{}, `"type":"leaf"`},
		{session.Opaque{Type: "channel", JSON: session.Raw(`{"id":"old","type":"channel","name":"telegram","parent_id":null}`)}, `"type":"channel","name":"telegram"`},
	} {
		got, err := operator.Operator.Record(dialect.NewEntry{ID: "00000001", Time: noon, Body: c.body})
		if want := `{"id":"00000001","timestamp":1794705154.293834,` + c.want + `}`; err != nil || string(got) != want {
			t.Errorf("%#v: %s (%v), not %s", c.body, got, err, want)
		}
	}
	got, _ := operator.OperatorDoc.Record(dialect.NewEntry{ID: "2", Parent: "1", Time: time.Unix(5, 0), Body: session.BranchSummary{From: "1"}})
	if want := `{"type":"branch","id":"2","parent_id":"1","timestamp":5.0,"from_id":"1","summary":"","from_hook":false}`; string(got) != want {
		t.Errorf("%s, not %s", got, want)
	}
	// Roots in the document's form have a parent, which is null.
	got, _ = operator.OperatorDoc.Record(dialect.NewEntry{ID: "2", Time: time.Unix(5, 0), Body: session.Label{Target: "t"}})
	root := `{"type":"label","id":"2","parent_id":null,"timestamp":5.0,"target_id":"t"}`
	if string(got) != root {
		t.Errorf("%s, not %s", got, root)
	}
	child, _ := operator.OperatorDoc.Rechain(got, "1", "")
	if got, _ = operator.OperatorDoc.Rechain(child, "", ""); string(got) != root || !bytes.Contains(child, []byte(`"parent_id":"1"`)) {
		t.Errorf("%s, %s; want string(got) == %v, bytes.Contains(child, []byte(`\"parent_id\":\"1\"`))", child, got, root)
	}
	if got, _ = operator.OperatorDoc.Record(dialect.NewEntry{Body: session.Custom{Type: "x"}}); !bytes.Contains(got, []byte(`"custom_info"`)) {
		t.Errorf("%s; want bytes.Contains(got, []byte(`\"custom_info\"`))", got)
	}
}

// TestRefusals: what the program would lose when it reads the log back is not written.
func TestRefusals(t *testing.T) {
	for _, body := range []session.Body{
		session.Message{JSON: session.Raw(`[]`)},
		session.Message{JSON: session.Raw(`{"role":"user","content":"not contents"}`)},
		session.Message{JSON: session.Raw(`{"role":"toolResult","contents":[]}`)},
		session.ThinkingLevelChange{Level: "enormous"},
		session.ModeChange{Mode: "plan"},
		session.ContextEdit{Target: "a"},
		session.Opaque{Type: "session"},
		session.Custom{Type: "x", Data: session.Raw("{")},
	} {
		if got, err := operator.Operator.Record(dialect.NewEntry{ID: "1", Body: body}); err == nil {
			t.Errorf("%#v is written as %s", body, got)
		}
	}
}

func TestEdit(t *testing.T) {
	record := []byte(`{"id":"2","parent_id":null,"x":1.0,"type":"compaction","first_kept_entry_id":"a"}`)
	got, err := operator.Operator.Rechain(record, "9", "b")
	if want := `{"id":"2","parent_id":"9","x":1.0,"type":"compaction","first_kept_entry_id":"b"}`; err != nil || string(got) != want {
		t.Errorf("%s, not %s (%v)", got, want, err)
	}
	if got, _ = operator.Operator.Rechain(got, "", ""); string(got) != `{"id":"2","x":1.0,"type":"compaction","first_kept_entry_id":"b"}` {
		t.Errorf("%s; want string(got) == `{\"id\":\"2\",\"x\":1.0,\"type\":\"compaction\",\"first_kept_entry_id\":\"b\"}`", got)
	}
	record = []byte(`{"id":"2","message":{"contents":[{"type":"tool_call","id":"c","args":{},"y":2}],"role":"assistant"}}`)
	got, changed, err := operator.Operator.SetArguments(record, "c", []byte(`{"a": 1}`))
	if want := strings.Replace(string(record), `"args":{}`, `"args":{"a":1}`, 1); err != nil || !changed || string(got) != want {
		t.Errorf("%s, not %s (%v)", got, want, err)
	}
	if got, changed, _ = operator.Operator.SetArguments(record, "d", []byte(`{}`)); changed || !bytes.Equal(got, record) {
		t.Errorf("%s; want not changed, bytes.Equal(got, record)", got)
	}
}

// TestDocumentToProgram: the document's log gets the program's names, and everything else stays as it was.
func TestDocumentToProgram(t *testing.T) {
	tree := decode(t, operator.Operator, fixture(t, "operator/document-header"))
	header, _, err := operator.Operator.EditHeader(tree.Header(), nil, dialect.HeaderEdit{})
	if err != nil || !strings.HasPrefix(string(header), `{"type":"session","id":`) || !strings.HasSuffix(string(header), `,"version":3}`) {
		t.Errorf("%s, %v; want no error, strings.HasPrefix(string(header), `{\"type\":\"session\",\"id\":`), strings.HasSuffix(string(header), `,\"version\":3}`)", header, err)
	}
	var types []string
	for e := range tree.Entries() {
		record, err := operator.Operator.Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		again := decode(t, operator.Operator, slices.Concat(header, []byte("\n"), record)).At(0)
		types = append(types, again.Type)
		if e.Kind == session.KindCompaction && !bytes.HasSuffix(record, []byte(`,"first_kept_entry_id":"a2","tokens_before":0}`)) {
			t.Errorf("%s; want not (e.Kind == session.KindCompaction && !bytes.HasSuffix(record, []byte(`,\"first_kept_entry_id\":\"a2\",\"tokens_before\":0}`)))", record)
		}
	}
	if got := strings.Join(types, " "); got != "message message compaction message leaf branch_summary custom" {
		t.Error(got)
	}
	// In the other direction a log stays as it is, unless it becomes a new session.
	tree = decode(t, operator.OperatorDoc, fixture(t, "operator-doc/program-header"))
	if header, _, err = operator.OperatorDoc.EditHeader(tree.Header(), nil, dialect.HeaderEdit{}); err != nil || !bytes.Equal(header, tree.Header().Raw) {
		t.Errorf("%s, %v; want no error, bytes.Equal(header, tree.Header().Raw)", header, err)
	}
	id := session.ID("new")
	if header, _, err = operator.OperatorDoc.EditHeader(tree.Header(), nil, dialect.HeaderEdit{ID: &id}); err != nil ||
		string(header) != `{"type":"session_header","id":"new","timestamp":1755000000.25,"cwd":"/home/ada/pond"}` {
		t.Errorf("%s, %v; want no error, string(header) == `{\"type\":\"session_header\",\"id\":\"new\",\"timestamp\":1755000000.25,\"cwd\":\"/home/ada/pond\"}`", header, err)
	}
}

// A document's header without a valid time gets none: the program reads a file whose header has no time.
func TestDocumentWithoutTime(t *testing.T) {
	for was, want := range map[string]string{
		``:                                    ``,
		`,"timestamp":"2026-02-03T12:00:00Z"`: `,"timestamp":1770120000.0`,
		`,"timestamp":"noon"`:                 ``,
		`,"timestamp":null`:                   ``,
		`,"timestamp":1770120000.5`:           `,"timestamp":1770120000.5`,
	} {
		tree := decode(t, operator.Operator, []byte(`{"type":"session_header","id":"a"`+was+`,"cwd":"/w"}`+"\n"))
		header, _, err := operator.Operator.EditHeader(tree.Header(), nil, dialect.HeaderEdit{})
		if want := `{"type":"session","id":"a"` + want + `,"cwd":"/w","version":3}`; err != nil || string(header) != want {
			t.Errorf("%s: %s, %v; want %s", was, header, err, want)
		}
	}
}

func TestLayout(t *testing.T) {
	l := operator.Operator.Layout()
	at := noon.In(time.FixedZone("", -5*3600))
	if got, want := l.File(at, "u"), "2026-11-14T20-12-34-293834_u.jsonl"; got != want {
		t.Errorf("%s, not %s", got, want)
	}
	profile := ""
	env := dialect.Env{Home: "/home/ada", Getenv: func(name string) string {
		if name != "OPERATOR_PROFILE" {
			t.Errorf("asked for %s", name)
		}
		return profile
	}, Folders: func(dir string) ([]string, error) {
		if dir != "/home/ada/.operator/profiles" {
			t.Errorf("looked at %s", dir)
		}
		return []string{"default", "work"}, nil
	}}
	roots := func(d *operator.Dialect) string {
		var list []string
		for _, r := range d.Layout().Roots(env) {
			list = append(list, strings.TrimPrefix(r.Sessions, "/home/ada/.operator/"))
		}
		return strings.Join(list, " ")
	}
	if got := roots(operator.Operator); got != "sessions profiles/default/sessions profiles/work/sessions" {
		t.Error(got)
	}
	if got := roots(operator.OperatorDoc); got != "profiles/default/sessions sessions profiles/work/sessions" {
		t.Error(got)
	}
	for _, c := range []struct{ profile, program, document string }{
		{"work", "profiles/work/sessions sessions profiles/default/sessions", "profiles/work/sessions profiles/default/sessions sessions"},
		{"new", "profiles/new/sessions sessions profiles/default/sessions profiles/work/sessions", "profiles/new/sessions profiles/default/sessions sessions profiles/work/sessions"},
		{"../x", "sessions profiles/default/sessions profiles/work/sessions", "profiles/default/sessions sessions profiles/work/sessions"},
	} {
		profile = c.profile
		if got := roots(operator.Operator); got != c.program {
			t.Errorf("%s: %s; want got == %v", profile, got, c.program)
		}
		if got := roots(operator.OperatorDoc); got != c.document {
			t.Errorf("%s of the document: %s", profile, got)
		}
	}
	for _, name := range []string{"", "..", ".x", "a/b", `a\b`, "c:", "a\x00", strings.Repeat("x", 129)} { // "" is that of the variable
		if r, err := l.(dialect.Profiler).Profile(env, name); err == nil {
			t.Errorf("profile %q is at %s", name, r.Sessions)
		}
	}
	if l.Dir(env, "/a/b") != "" || !l.Owns("a.jsonl") || l.Owns("a/b.jsonl") || l.Owns("a.json") {
		t.Error("the folder is flat")
	}
}
