package wave_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/dialect/wave"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// put writes a file below Wave's folder.
func (b *bench) put(name, content string) string {
	b.Helper()
	path := filepath.Join(b.home, ".wave", name)
	b.must(os.MkdirAll(filepath.Dir(path), 0o700))
	b.must(os.WriteFile(path, []byte(content), 0o600))
	return path
}

func said(at, text string) string {
	return fmt.Sprintf(`{"timestamp":%q,"id":"msg-1","role":"user","blocks":[{"type":"text","content":%q}]}`+"\n", at, text)
}

func metadata(dir string) string {
	return fmt.Sprintf(`{"type":"metadata","workdir":%q,"createdAt":"2026-01-01T00:00:00.000Z"}`+"\n", dir)
}

// id makes an id of version 6 for a time.
func id(t *testing.T, at time.Time) string {
	t.Helper()
	var g wave.Generator
	u, err := g.New(at, strings.NewReader("chance!!"))
	if err != nil {
		t.Fatal(err)
	}
	return u.String()
}

// TestDocumentList: sessions are ordered by the time in their names, newest first, and no file is opened, not even for the latest.
func TestDocumentList(t *testing.T) {
	b := newBench(t)
	folder := "projects/" + wave.Doc.Layout().Dir(dialectEnv(b), b.garden) + "/"
	var want []string
	for k := range 5 {
		name := id(t, time.Date(2026, 1, 5-k, 0, 0, 0, 0, time.UTC))
		want = append(want, name)
		b.put(folder+name+".jsonl", said("2026-02-01T00:00:00.000Z", "x"))
	}
	rows, err := b.List(t.Context(), place.ListOptions{CWD: b.garden})
	b.must(err)
	var got []string
	for _, r := range rows {
		got = append(got, string(r.ID))
		if at, ok := r.Created.Time(); !ok || at.Year() != 2026 || r.Dialect.Name() != "wave-doc" || r.CWD != b.garden {
			t.Errorf(`%+v; want ok, at.Year() == 2026, r.Dialect.Name() == "wave-doc", r.CWD == %v`, r, b.garden)
		}
	}
	if !slices.Equal(got, want) || *b.opened != 0 {
		t.Errorf("%q, %d files opened; want %q", got, *b.opened, want)
	}
	row, err := b.Find(t.Context(), "@last")
	if err != nil || string(row.ID) != want[0] || *b.opened != 0 {
		t.Errorf("the latest is %s (%v), %d files opened", row.ID, err, *b.opened)
	}
	s, err := b.ContinueRecent(t.Context(), store.CreateOptions{Dialect: wave.Doc})
	b.must(err)
	if string(s.ID()) != want[0] {
		t.Errorf("%s is continued", s.ID())
	}
	b.must(s.Close())
}

// TestSameMoment: ids order sessions of the same millisecond, whatever the times of their files.
func TestSameMoment(t *testing.T) {
	b := newBench(t)
	folder := "projects/" + wave.Doc.Layout().Dir(dialectEnv(b), b.garden) + "/"
	var g wave.Generator
	var want []string
	var dir string
	at := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	for k := range 3 {
		u, err := g.New(at, strings.NewReader("chance!!"))
		b.must(err)
		path := b.put(folder+u.String()+".jsonl", said("2026-02-01T00:00:00.000Z", "x"))
		b.must(os.Chtimes(path, at, at.Add(-time.Duration(k)*time.Hour)))
		want, dir = slices.Insert(want, 0, u.String()), filepath.Dir(path)
	}
	var got []string
	rows, err := b.List(t.Context(), place.ListOptions{})
	b.must(err)
	for _, r := range rows {
		got = append(got, string(r.ID))
	}
	recent, err := b.Recent(t.Context(), wave.Doc, dir, 3)
	b.must(err)
	for _, r := range recent {
		got = append(got, strings.TrimSuffix(filepath.Base(r.Path), ".jsonl"))
	}
	for _, cwd := range []string{b.garden, ""} {
		list, err := b.Listings(t.Context(), place.ListingOptions{Dialect: wave.Doc, CWD: cwd})
		b.must(err)
		for _, row := range list {
			got = append(got, rawjson.Str(row, "id"))
		}
	}
	if want = slices.Concat(want, want, want, want); !slices.Equal(got, want) {
		t.Errorf("%q; want slices.Equal(got, want)", got)
	}
}

func dialectEnv(b *bench) dialect.Env {
	return dialect.Env{Home: b.home, WorkDir: b.garden, Realpath: filepath.EvalSymlinks}
}

// TestProgramList: sessions are ordered by their last message, which may be long; a session without a metadata line gets the working
// directory of the others in its folder.
func TestProgramList(t *testing.T) {
	b := newBench(t)
	folder := "projects/" + wave.Wave.Layout().Dir(dialectEnv(b), b.garden) + "/"
	const a, long, rewound, sub = "aaaaaaaa-840b-489d-a501-9e9ff8cc3499", "bbbbbbbb-840b-489d-a501-9e9ff8cc3499",
		"cccccccc-840b-489d-a501-9e9ff8cc3499", "subagent-dddddddd-840b-489d-a501-9e9ff8cc3499"
	b.put(folder+a+".jsonl", metadata(b.garden)+said("2026-01-01T00:00:01.000Z", "first")+said("2026-01-03T00:00:00.000Z", "last"))
	b.put(folder+long+".jsonl", metadata(b.garden)+said("2026-01-01T00:00:01.000Z", "hello")+said("2026-01-04T00:00:00.000Z", strings.Repeat("long ", 60_000)))
	b.put(folder+rewound+".jsonl", said("2026-01-02T00:00:00.000Z", "retry"))
	b.put(folder+sub+".jsonl", metadata(b.garden)+said("2026-01-01T00:00:01.000Z", "sub task"))
	rows, err := b.List(t.Context(), place.ListOptions{CWD: b.garden})
	b.must(err)
	var got []string
	for _, r := range rows {
		got = append(got, string(r.ID)[:4]+" "+r.Prompt+" "+r.Active.Text)
		if r.CWD != b.garden || r.Dialect.Name() != "wave" {
			t.Errorf(`%+v; want r.CWD == %v, r.Dialect.Name() == "wave"`, r, b.garden)
		}
	}
	want := []string{`bbbb hello "2026-01-04T00:00:00.000Z"`, `aaaa first "2026-01-03T00:00:00.000Z"`, `cccc retry "2026-01-02T00:00:00.000Z"`, `dddd sub task "2026-01-01T00:00:01.000Z"`}
	if !slices.Equal(got, want) {
		t.Errorf("%q; want slices.Equal(got, want)", got)
	}
	s, err := b.Open(t.Context(), filepath.Join(b.home, ".wave", folder, rewound+".jsonl"), store.OpenOptions{})
	b.must(err)
	if s.Header().CWD != b.garden || string(s.ID()) != rewound {
		t.Errorf("%+v; want s.Header().CWD == %v, string(s.ID()) == %v", s.Header(), b.garden, rewound)
	}
	b.must(s.Close())
}

// TestSharedFolder: in a folder that two directories share, each session belongs to the directory that it names; one that names none
// belongs to none.
func TestSharedFolder(t *testing.T) {
	b := newBench(t)
	one, two := filepath.Join(b.home, "x", "y"), filepath.Join(b.home, "x-y")
	b.must(os.MkdirAll(one, 0o700))
	b.must(os.MkdirAll(two, 0o700))
	folder := "projects/" + wave.Wave.Layout().Dir(dialectEnv(b), one) + "/"
	b.put(folder+"aaaaaaaa-840b-489d-a501-9e9ff8cc3499.jsonl", metadata(one)+said("2026-01-01T00:00:01.000Z", "one"))
	b.put(folder+"bbbbbbbb-840b-489d-a501-9e9ff8cc3499.jsonl", metadata(two)+said("2026-01-01T00:00:01.000Z", "two"))
	silent := b.put(folder+"cccccccc-840b-489d-a501-9e9ff8cc3499.jsonl", said("2026-01-01T00:00:01.000Z", "who"))
	rows, err := b.List(t.Context(), place.ListOptions{})
	b.must(err)
	for _, r := range rows {
		if want := map[string]string{"one": one, "two": two, "who": ""}[r.Prompt]; r.CWD != want {
			t.Errorf("%s is of %q", r.Prompt, r.CWD)
		}
	}
	s, err := b.Open(t.Context(), silent, store.OpenOptions{})
	b.must(err)
	if s.Header().CWD != "" {
		t.Errorf("guessed: %s", s.Header().CWD)
	}
	b.must(s.Close())
}

// TestDocumentCollision: the second of two directories with the same name gets a separate folder, and finds it again.
func TestDocumentCollision(t *testing.T) {
	b := newBench(t)
	one, two := filepath.Join(b.home, "x", "y"), filepath.Join(b.home, "x-y")
	b.must(os.MkdirAll(one, 0o700))
	b.must(os.MkdirAll(two, 0o700))
	paths := map[string]string{}
	for _, dir := range []string{one, two, one, two} {
		s, err := b.Create(t.Context(), store.CreateOptions{Dialect: wave.Doc, CWD: dir})
		b.must(err)
		b.say(s, "user", "hello", "")
		folder := filepath.Dir(s.Path())
		if before, ok := paths[dir]; ok && before != folder {
			t.Errorf("%s moved from %s to %s", dir, before, folder)
		}
		paths[dir] = folder
		b.must(s.Close())
	}
	if paths[one] == paths[two] {
		t.Errorf("both in %s", paths[one])
	}
	for dir := range paths {
		rows, err := b.List(t.Context(), place.ListOptions{CWD: dir})
		if err != nil || len(rows) != 2 || rows[0].CWD != dir {
			t.Errorf("%s: %+v, %v; want no error, len(rows) == 2, rows[0].CWD == %v", dir, rows, err, dir)
		}
	}
}

// TestRootDirectory: sessions of "/" have the empty name.
func TestRootDirectory(t *testing.T) {
	for _, d := range []*wave.Dialect{wave.Wave, wave.Doc} {
		b := newBench(t)
		s, err := b.Create(t.Context(), store.CreateOptions{Dialect: d, CWD: "/"})
		b.must(err)
		b.say(s, "user", "hello", "")
		b.must(s.Close())
		rows, err := b.List(t.Context(), place.ListOptions{CWD: "/"})
		if err != nil || len(rows) != 1 || rows[0].CWD != "/" || rows[0].Dialect != dialect.Dialect(d) {
			t.Errorf(`%s: %+v, %v; want no error, len(rows) == 1, rows[0].CWD == "/", rows[0].Dialect == dialect.Dialect(d)`, d.Name(), rows, err)
		}
		s, err = b.OpenWrite(t.Context(), rows[0].Path, store.CreateOptions{})
		b.must(err)
		b.must(s.Delete(t.Context()))
		if _, err := os.Stat(filepath.Join(b.home, ".wave", "projects")); err != nil && d == wave.Wave {
			t.Errorf("the folder of all projects went: %v", err)
		}
	}
}

// TestLegacyListed: the old documents, on one line or on several, are listed and shown, and never written.
func TestLegacyListed(t *testing.T) {
	b := newBench(t)
	pretty := "{\n  \"id\": \"pretty\",\n  \"version\": \"1.0.0\",\n  \"messages\": [\n    {\n      \"role\": \"user\",\n      \"blocks\": [\n        { \"type\": \"text\", \"content\": \"plant\" }\n      ]\n    },\n" +
		"    {\n      \"role\": \"assistant\",\n      \"blocks\": [\n        { \"type\": \"text\", \"content\": \"" + strings.Repeat("long ", 4000) + "\" }\n      ]\n    }\n  ],\n  \"metadata\": {\n    \"workdir\": \"/garden\",\n" +
		"    \"startedAt\": \"2025-09-01T10:00:00.000Z\",\n    \"lastActiveAt\": \"2025-09-01T10:05:00.000Z\",\n    \"latestTotalTokens\": 3\n  }\n}"
	path := b.put("sessions/session_pretty.json", pretty)
	b.put("sessions/short.json", `{"id":"short","version":"1.0.0","messages":[{"role":"user","blocks":[{"type":"text","content":"dig"}]}],"metadata":{"workdir":"/garden","startedAt":"2025-09-01T10:00:00.000Z","lastActiveAt":"2025-09-01T10:05:00.000Z","latestTotalTokens":3}}`)
	rows, err := b.List(t.Context(), place.ListOptions{CWD: "/garden"})
	b.must(err)
	if len(rows) != 2 {
		t.Fatalf("%+v; want len(rows) == 2", rows)
	}
	for _, r := range rows {
		if r.Err != nil || r.Dialect.Name() != "wave-legacy" || r.ID != "short" && r.ID != "pretty" {
			t.Errorf(`%+v; want r.Err == nil, r.Dialect.Name() == "wave-legacy", not (r.ID != "short" && r.ID != "pretty")`, r)
		}
	}
	outside := filepath.Join(b.home, "copy.json")
	b.must(os.WriteFile(outside, []byte(pretty), 0o600))
	for _, p := range []string{path, outside} {
		s, err := b.Open(t.Context(), p, store.OpenOptions{})
		b.must(err)
		e, _ := s.Tree().Leaf()
		parts, err := e.Parts()
		if s.Dialect().Name() != "wave-legacy" || s.ID() != "pretty" || s.Tree().Len() != 2 || err != nil || len(parts) != 1 || len(s.Tree().Problems()) != 0 {
			t.Errorf("%s: %s, %d entries, %v, %v", p, s.Dialect().Name(), s.Tree().Len(), s.Tree().Problems(), err)
		}
		if text, ok := parts[0].(session.Text); !ok || !strings.HasPrefix(text.Text, "long") || e.Line != 11 {
			t.Errorf("%.80v on line %d", parts, e.Line)
		}
		b.must(s.Close())
		if _, err := b.OpenWrite(t.Context(), p, store.CreateOptions{}); err == nil {
			t.Errorf("%s is opened for writing", p)
		}
	}
}

// TestDamaged: the good messages load, the damage is reported, and an append is never glued to it.
func TestDamaged(t *testing.T) {
	b := newBench(t)
	folder := "projects/" + wave.Wave.Layout().Dir(dialectEnv(b), b.garden) + "/"
	path := b.put(folder+"aaaaaaaa-840b-489d-a501-9e9ff8cc3499.jsonl",
		metadata(b.garden)+said("2026-01-01T00:00:01.000Z", "one")+`{"timestamp":"2026-01-01T00:00:02.000Z","role":"assi`)
	hour := time.Now().Add(-time.Hour)
	b.must(os.Chtimes(path, hour, hour)) // no slow writer is at work
	s, err := b.OpenWrite(t.Context(), path, store.CreateOptions{})
	b.must(err)
	if p := s.Tree().Problems(); s.Tree().Len() != 1 || len(p) != 1 || p[0].Kind != session.ProblemTorn {
		t.Errorf("%d entries, %v", s.Tree().Len(), p)
	}
	b.say(s, "assistant", "two", "")
	b.must(s.Close())
	if messages, m := b.program(path); len(messages) != 2 || m == nil {
		t.Errorf("%v; want len(messages) == 2, m != nil", messages)
	}
}

// TestResolved: a session names its working directory without links, whichever path was given.
func TestResolved(t *testing.T) {
	for _, d := range []*wave.Dialect{wave.Wave, wave.Doc} {
		b := newBench(t)
		link, other := filepath.Join(b.home, "link"), filepath.Join(b.home, "other")
		b.must(os.Symlink(b.garden, link))
		s, err := b.Create(t.Context(), store.CreateOptions{Dialect: d, CWD: link})
		b.must(err)
		b.say(s, "user", "hello", "")
		data, err := os.ReadFile(s.Path())
		if b.must(err); s.Header().CWD != b.garden || !strings.Contains(string(data), `"workdir":"`+b.garden+`"`) {
			t.Errorf("%s: %s\n%s; want s.Header().CWD == %v, strings.Contains(string(data), `\"workdir\":\"`+b.garden+`\"`)", d.Name(), s.Header().CWD, data, b.garden)
		}
		for _, cwd := range []string{link, b.garden} {
			rows, err := b.List(t.Context(), place.ListOptions{CWD: cwd})
			if err != nil || len(rows) != 1 || rows[0].CWD != b.garden {
				t.Errorf("%s: %s has %+v, %v", d.Name(), cwd, rows, err)
			}
		}
		b.must(os.Mkdir(other, 0o700))
		b.must(s.Move(t.Context(), other))
		b.must(s.Move(t.Context(), link))
		fork, err := b.ForkFrom(t.Context(), s.Path(), store.CreateOptions{CWD: link})
		if b.must(err); s.Header().CWD != b.garden || fork.Header().CWD != b.garden {
			t.Errorf("%s: moved to %s, forked for %s", d.Name(), s.Header().CWD, fork.Header().CWD)
		}
		b.must(fork.Close())
		b.must(s.Close())
	}
}

// TestMove: the log goes to the other directory's folder, and names that directory.
func TestMove(t *testing.T) {
	for _, d := range []*wave.Dialect{wave.Wave, wave.Doc} {
		b := newBench(t)
		s := b.create(d)
		b.say(s, "user", "hello", "")
		other := filepath.Join(b.home, "other")
		b.must(os.Mkdir(other, 0o700))
		old := s.Path()
		b.must(s.Move(t.Context(), other))
		if _, err := os.Stat(old); err == nil || s.Header().CWD != other || filepath.Base(s.Path()) != filepath.Base(old) {
			t.Errorf("%s: %s, %+v; want an error, s.Header().CWD == %v, filepath.Base(s.Path()) == filepath.Base(old)", d.Name(), s.Path(), s.Header(), other)
		}
		b.say(s, "user", "again", "")
		if messages, _ := b.program(s.Path()); len(messages) != 2 {
			t.Errorf("%v; want len(messages) == 2", messages)
		}
	}
}

// TestPromptIsTheFirst: a prompt at the end of a long log does not count as its first prompt.
func TestPromptIsTheFirst(t *testing.T) {
	const head = `{"type":"metadata","workdir":"/home/ada/pond","createdAt":"2026-05-01T09:00:00.000Z"}
{"timestamp":"2026-05-01T09:00:01.000Z","role":"user","blocks":[{"type":"text","content":"A long prompt that`
	const tail = ` ends."}]}
{"timestamp":"2026-05-01T09:00:02.000Z","role":"assistant","blocks":[{"type":"text","content":"Two metres."}]}
`
	s := wave.Wave.Peek([]byte(head), []byte(tail), false)
	if s.Prompt != "" || s.Active.Text != `"2026-05-01T09:00:02.000Z"` {
		t.Errorf("prompt %q, active %s; want no prompt and the time of the last message", s.Prompt, s.Active.Text)
	}
}

// TestLegacyLines: the spans of messages are right in a document on several lines after a byte order mark.
func TestLegacyLines(t *testing.T) {
	const log = "\ufeff" + `{
 "id": "session_9", "version": "1.0.0",
 "messages": [
  {"role":"user","blocks":[{"type":"text","content":"How deep is the pond?"}]}
 ],
 "metadata": {"workdir":"/home/ada/pond","startedAt":"2025-10-01T08:00:00.000Z","lastActiveAt":"2025-10-01T08:05:00.000Z"}
}
`
	tree, err := dialecttest.Decode(wave.Legacy, "log", []byte(log))
	if err != nil {
		t.Fatal(err)
	}
	e := tree.At(0)
	const want = `{"role":"user","blocks":[{"type":"text","content":"How deep is the pond?"}]}`
	if got := log[e.Span.Offset:e.Span.End()]; got != want || e.Line != 4 {
		t.Errorf("line %d: %s; want line 4: %s", e.Line, got, want)
	}
}
