package wave_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/wave"
	"github.com/treeline-dev/treeline/session"
)

const v6 = "1efaa2d6-8a23-6b9a-8e0d-9e9ff8cc3499"

// TestRules: each rule of the document, kept and broken. The word is part of the error.
func TestRules(t *testing.T) {
	type valid interface{ Validate() error }
	started := time.Date(2024, 11, 24, 6, 23, 16, 633_456_700, time.UTC)
	message := func(line string) valid {
		m, err := wave.ParseMessage([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for _, test := range []struct {
		what valid
		says string
	}{
		{wave.SessionDirectory{BasePath: "/home/u/.wave/projects", Exists: true, Permissions: wave.PermissionReadWrite}, ""},
		{wave.SessionDirectory{BasePath: "/home/u/.wave/projects", Permissions: wave.PermissionNone}, ""}, // the folder is created
		{wave.SessionDirectory{BasePath: "~/.wave/projects", Exists: true, Permissions: wave.PermissionReadWrite}, "absolute"},
		{wave.SessionDirectory{BasePath: "/p", Exists: true, Permissions: wave.PermissionRead}, "writable"},
		{wave.SessionDirectory{BasePath: "/p", Exists: true, Permissions: wave.PermissionNone}, "writable"},

		{wave.ProjectDirectory{OriginalPath: "/a", EncodedName: "-a", EncodedPath: "/p/-a"}, ""},
		{wave.ProjectDirectory{OriginalPath: "a", EncodedName: "-a", EncodedPath: "/p/-a"}, "absolute"},
		{wave.ProjectDirectory{OriginalPath: "/a/../a", EncodedName: "-a", EncodedPath: "/p/-a"}, "resolved"},
		{wave.ProjectDirectory{OriginalPath: "/a", EncodedName: "-ä", EncodedPath: "/p/-ä"}, "letters"},
		{wave.ProjectDirectory{OriginalPath: "/a", EncodedName: strings.Repeat("a", 201), EncodedPath: "/p/x"}, "200"},
		{wave.ProjectDirectory{OriginalPath: "/a", EncodedName: "-a-12345678", EncodedPath: "/p/-a-12345678"}, "hash"},
		{wave.ProjectDirectory{OriginalPath: "/a", EncodedName: "-a", EncodedPath: "/p/-b"}, "encoded path"},

		{wave.SessionFile{SessionID: v6, FilePath: "/p/-a/" + v6 + ".jsonl"}, ""},
		{wave.SessionFile{SessionID: "x", FilePath: "/p/-a/x.jsonl"}, "UUID"},
		{wave.SessionFile{SessionID: "643c4bf3-840b-489d-a501-9e9ff8cc3499", FilePath: "/p/643c4bf3-840b-489d-a501-9e9ff8cc3499.jsonl"}, "version 4"},
		{wave.SessionFile{SessionID: v6, FilePath: "/p/-a/" + v6 + ".json"}, ".jsonl"},
		{wave.SessionFile{SessionID: v6, FilePath: "/p/-a/other.jsonl"}, "is in the file"},
		{wave.SessionFile{SessionID: v6, FilePath: "/p/" + v6 + ".jsonl", MessageCount: -1}, "-1 messages"},

		{message(`{"role":"user","blocks":[{"type":"text","content":"Hello"}],"timestamp":"2024-11-24T06:23:16.633Z"}`), ""},
		{message(`{"role":"assistant","blocks":[],"timestamp":"2024-11-24T06:23:16.633Z"}`), ""},
		{message(`{"role":"user","blocks":[],"timestamp":"2024-11-24T06:23:16.633Z"}`), "without blocks"},
		{message(`{"role":"system","blocks":[],"timestamp":"2024-11-24T06:23:16.633Z"}`), "role"},
		{message(`{"role":"assistant","blocks":"x","timestamp":"2024-11-24T06:23:16.633Z"}`), "not a list"},
		{message(`{"role":"assistant","blocks":[],"timestamp":"24.11.2024"}`), "ISO 8601"},
		{message(`{"role":"assistant","blocks":[]}`), "ISO 8601"},

		{wave.SessionMetadata{ID: v6, StartedAt: started, LastActiveAt: started.Truncate(time.Millisecond)}, ""},
		{wave.SessionMetadata{ID: v6, StartedAt: started, LastActiveAt: started.Add(-time.Second)}, "began"},
		// The document's own example of an id.
		{wave.SessionMetadata{ID: "01234567-89ab-6cde-f012-3456789abcde"}, "the digit after the third hyphen is f, not 8, 9, a or b"},
		{wave.SessionMetadata{ID: "643c4bf3-840b-489d-a501-9e9ff8cc3499"}, "a UUID of version 4, not 6"},
		{wave.SessionMetadata{ID: "x", StartedAt: started, LastActiveAt: started}, "UUID"},
		{wave.SessionMetadata{ID: v6, MessageCount: -1}, "-1 messages"},
		{wave.SessionMetadata{ID: v6, FileSize: -2}, "-2 bytes"},
	} {
		err := test.what.Validate()
		if got := err != nil && strings.Contains(err.Error(), test.says); (err == nil) != (test.says == "") || err != nil && !got {
			t.Errorf("%+v: %v, want %q", test.what, err, test.says)
		}
	}
}

// TestWriteRules: a message that breaks a rule is not written.
func TestWriteRules(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for message, says := range map[string]string{
		`{"role":"user","blocks":[]}`:                        "without blocks",
		`{"role":"system","blocks":[]}`:                      "role",
		`{"role":"user"}`:                                    "not a list",
		`{"role":"assistant","blocks":[],"type":"metadata"}`: "no type",
		`[]`: "object",
		`{"role":"user","blocks":[1],"timestamp":"24.11.2024"}`: "ISO 8601",
		`{"role":"user","blocks":[1],"timestamp":1732429396}`:   "ISO 8601",
		`{"role":"user","blocks":[1],"timestamp":null}`:         "ISO 8601",
	} {
		for _, d := range []*wave.Dialect{wave.Wave, wave.Doc} {
			record, err := d.Record(dialect.NewEntry{ID: "msg-1", Time: at, Body: session.Message{JSON: session.Raw(message)}})
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %s is written as %s, %v", d.Name(), message, record, err)
			}
		}
	}
	for _, body := range []session.Body{session.SessionInfo{Name: "x"}, session.Label{}, session.Leaf{}, session.BranchSummary{},
		session.ModelChange{}, session.Opaque{Type: "x", JSON: session.Raw(`{"type":"x"}`)}, session.Compaction{Summary: "s", FirstKept: "msg-1"}} {
		if record, err := wave.Wave.Record(dialect.NewEntry{Body: body}); err == nil {
			t.Errorf("%T is written as %s", body, record)
		}
	}
	if wave.Doc.CheckID("643c4bf3-840b-489d-a501-9e9ff8cc3499") == nil || wave.Doc.CheckID(v6) != nil {
		t.Error("the document's ids are of version 6")
	}
	if wave.Wave.CheckID("643c4bf3-840b-489d-a501-9e9ff8cc3499") != nil || wave.Wave.CheckID("../x") == nil {
		t.Error("the program's ids are UUIDs")
	}
}

// TestRecords compares the lines byte by byte.
func TestRecords(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)
	m := session.Message{JSON: session.Raw(`{ "id":"theirs", "usage":{"total_tokens":1.0}, "blocks":[{"type":"text","content":"a` + "\u2028" + `b"}], "role":"user", "metadata":{"k":1} }`)}
	header := session.Header{CWD: "/garden", Parent: "/old.jsonl"}
	for _, test := range []struct {
		d      *wave.Dialect
		parent session.EntryID
		body   session.Body
		want   string
	}{
		{wave.Wave, "", m, `{"timestamp":"2026-01-02T03:04:05.006Z","id":"msg-1","role":"user","blocks":[{"type":"text","content":"a\u2028b"}],"usage":{"total_tokens":1.0},"metadata":{"k":1}}`},
		{wave.Doc, "x", m, `{"role":"user","blocks":[{"type":"text","content":"a\u2028b"}],"timestamp":"2026-01-02T03:04:05.006Z","usage":{"total_tokens":1.0},"metadata":{"k":1}}`},
		{wave.Doc, "", m, `{"role":"user","blocks":[{"type":"text","content":"a\u2028b"}],"timestamp":"2026-01-02T03:04:05.006Z","usage":{"total_tokens":1.0},"metadata":{"k":1,"treeline":{"workdir":"/garden","parent":"/old.jsonl"}}}`},
		// A given time keeps its spelling.
		{wave.Wave, "x", session.Message{JSON: session.Raw(`{"role":"user","blocks":[1],"timestamp":"2024-11-24T06:23:16+01:00"}`)}, `{"timestamp":"2024-11-24T06:23:16+01:00","id":"msg-1","role":"user","blocks":[1]}`},
		{wave.Doc, "x", session.Message{JSON: session.Raw(`{"timestamp":"2024-11-24T06:23:16.633Z","role":"user","blocks":[1]}`)}, `{"role":"user","blocks":[1],"timestamp":"2024-11-24T06:23:16.633Z"}`},
		{wave.Wave, "x", session.Compaction{Summary: "s"}, `{"timestamp":"2026-01-02T03:04:05.006Z","id":"msg-1","role":"assistant","blocks":[{"type":"compact","content":"s"}]}`},
	} {
		got, err := test.d.Record(dialect.NewEntry{ID: "msg-1", Parent: test.parent, Time: at, Body: test.body, Header: &header})
		if err != nil || string(got) != test.want {
			t.Errorf("%s: %v\n got %s\nwant %s", test.d.Name(), err, got, test.want)
		}
	}
	first, err := wave.Wave.Header(dialect.NewSession{CWD: "/garden", Time: at, Parent: "p"})
	if want := `{"type":"metadata","workdir":"/garden","createdAt":"2026-01-02T03:04:05.006Z","treeline":{"parent":"p"}}`; err != nil || string(first) != want {
		t.Errorf("%s, %v; want no error, string(first) == %v", first, err, want)
	}
}

func TestDirectory(t *testing.T) {
	env := machine()
	for _, test := range []struct {
		exists, read, write bool
		want                wave.Permissions
	}{{true, true, true, wave.PermissionReadWrite}, {true, true, false, wave.PermissionRead}, {true, false, true, wave.PermissionWrite}, {false, false, false, wave.PermissionNone}} {
		env.Access = func(string) (bool, bool, bool) { return test.exists, test.read, test.write }
		d := wave.Directory(env)
		if d.Exists != test.exists || d.Permissions != test.want || d.BasePath != filepath.FromSlash("/home/user/.wave/projects") {
			t.Errorf(`%+v; want d.Exists == %v, d.Permissions == %v, d.BasePath == filepath.FromSlash("/home/user/.wave/projects")`, d, test.exists, test.want)
		}
	}
}
