package codelia

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	words "github.com/treeline-dev/treeline/dialect/codelia"
	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// machine returns a store with the user's folder dir.
func machine(t *testing.T, dir string, drivers ...backend.Driver) *treeline.Store {
	t.Helper()
	s, err := treeline.New(treeline.Options{Backends: drivers, Home: dir, WorkDir: dir, Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// Several writers append to one session at once, in both forms: every message is there once.
func TestAppendTogether(t *testing.T) {
	t.Parallel()
	for place, ext := range map[string]string{"messages": ".jsonl", "state": ".json"} {
		t.Run(place, func(t *testing.T) {
			dir := t.TempDir()
			sessions := filepath.Join(dir, ".codelia", "sessions")
			path := filepath.Join(sessions, place, one+ext)
			c := form(map[string]string{"state": "document"}[place], sessions, options{})
			odd := sample(one)
			odd.updated = "2026-02-03T12:00:02+00:00" // another length than ours
			mustSave(t, c, odd)
			const writers, rounds = 4, 5
			var wg sync.WaitGroup
			for by := range writers {
				wg.Go(func() {
					sess, err := machine(t, dir, Driver()).OpenWrite(t.Context(), path, treeline.CreateOptions{})
					if err != nil {
						t.Error(err)
						return
					}
					defer sess.Close()
					for round := range rounds {
						if _, err := sess.AppendText(t.Context(), session.RoleUser, fmt.Sprintf("<%d.%d>", by, round)); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			s := mustLoad(t, c, one)
			if want := 3 + writers*rounds; len(s.messages) != want || *s.seq != 4 || s.run == "" {
				t.Errorf("%d messages, want %d: %+v", len(s.messages), want, s)
			}
			all := string(bytes.Join(s.messages, []byte("\n")))
			for by := range writers {
				for round := range rounds {
					if n := strings.Count(all, fmt.Sprintf("<%d.%d>", by, round)); n != 1 {
						t.Errorf("%d.%d is there %d times", by, round, n)
					}
				}
			}
		})
	}
}

// The agent's own sessions are listed and read through the store without a Problem, and can be moved from one form to the other through the
// trash and back.
func TestStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := machine(t, dir, Driver())
	sessions := filepath.Join(dir, ".codelia", "sessions")
	mustSave(t, newDatabase(sessions, options{}), sample(one))
	both := sample(two)
	both.updated = "2026-02-04T12:00:00.000Z"
	mustSave(t, newDocument(sessions, options{}), both)
	mustSave(t, newDatabase(sessions, options{}), both)
	rows, err := s.List(t.Context(), treeline.ListOptions{})
	if err != nil || len(rows) != 2 || rows[0].ID != two {
		t.Fatalf("%+v, %v; want no error, len(rows) == 2, rows[0].ID == %v", rows, err, two)
	}
	before := sample(one)
	row, err := s.Find(t.Context(), one)
	if err != nil || row.CWD != "/p" || row.Messages != 3 || row.Dialect.Name() != "codelia-state" {
		t.Fatalf(`%+v, %v; want no error, row.CWD == "/p", row.Messages == 3, row.Dialect.Name() == "codelia-state"`, row, err)
	}
	item, err := s.Trash(t.Context(), row.Path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Find(t.Context(), one); err == nil {
		t.Error("it is still there")
	}
	if _, err := s.Restore(t.Context(), item.ID); err != nil {
		t.Fatal(err)
	}
	if got := mustLoad(t, newDatabase(sessions, options{}), one); !same(got, before) {
		t.Errorf("%+v came back as %+v", before, got)
	}
}

// A search finds what is in the sessions now, in both forms: after an append, after a save of the row alone, and after a
// save of other messages.
func TestSearch(t *testing.T) {
	t.Parallel()
	for place, ext := range map[string]string{"messages": ".jsonl", "state": ".json"} {
		t.Run(place, func(t *testing.T) {
			dir := t.TempDir()
			sessions := filepath.Join(dir, ".codelia", "sessions")
			c := form(map[string]string{"state": "document"}[place], sessions, options{})
			finds := func(word string, want int) {
				t.Helper()
				res, err := machine(t, dir, Driver()).Search(t.Context(), word, treeline.SearchOptions{Problem: func(err error) { t.Error(err) }})
				if err != nil || len(res.Hits) != want {
					t.Fatalf("%s: %+v, %v; want %d hits", word, res, err, want)
				}
				for _, h := range res.Hits {
					sess, err := machine(t, dir, Driver()).Open(t.Context(), h.Session.Path, treeline.OpenOptions{})
					if err != nil {
						t.Fatal(err)
					}
					if !strings.Contains(h.Snippet, word) || !sess.Tree().Has(h.Entry) {
						t.Errorf("%s: found %q in %s", word, h.Snippet, h.Entry)
					}
					sess.Close()
				}
			}
			long := sample(one)
			for i := range 3000 {
				long.messages = append(long.messages, messages(fmt.Sprintf("number%d of many words that fill the log", i))...)
			}
			mustSave(t, c, long)
			finds("number17", 1)
			sess, err := machine(t, dir, Driver()).OpenWrite(t.Context(), filepath.Join(sessions, place, one+ext), treeline.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer sess.Close()
			if _, err := sess.AppendText(t.Context(), session.RoleUser, "appended"); err != nil {
				t.Fatal(err)
			}
			finds("appended", 1)
			finds("number2999", 1)
			long = mustLoad(t, c, one)
			long.run = "another-run-with-a-longer-name-than-the-one-before"
			mustSave(t, c, long)
			finds("appended", 1)
			finds("number17", 1)
			long.messages = long.messages[2000:]
			mustSave(t, c, long)
			finds("number17", 0)
			finds("number2999", 1)
		})
	}
}

// The corpus, through the store.
func TestCorpusStore(t *testing.T) {
	t.Parallel()
	corpus := dialecttest.Corpus(t, "codelia")
	dir := t.TempDir()
	s := machine(t, dir, Driver())
	if err := os.Symlink(corpus, filepath.Join(dir, ".codelia")); err != nil {
		t.Fatal(err)
	}
	before := traces(t, corpus)
	rows, err := s.List(t.Context(), treeline.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, r := range rows {
		if r.Dialect.Name() != "codelia-state" {
			continue
		}
		found++
		sess, err := s.Open(t.Context(), r.Path, treeline.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		problems, err := s.Check(t.Context(), sess)
		if err != nil || len(problems) > 0 || sess.Tree().Len() != r.Messages {
			t.Errorf("%s: %v, %v; want no error, len(problems) <= 0, sess.Tree().Len() == %v", r.Path, problems, err, r.Messages)
		}
		sess.Close()
	}
	if found == 0 {
		t.Error("no session was found")
	}
	if after := traces(t, corpus); after != before {
		t.Errorf("reading changed the folder:\n%s\nwas\n%s", after, before)
	}
}

// The agent's own files load completely, and reading them changes nothing.
func TestCorpus(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(dialecttest.Corpus(t, "codelia"), "sessions")
	before := traces(t, dir)
	c := newDatabase(dir, options{})
	list := mustList(t, c)
	if len(list) == 0 {
		t.Fatal("no session was found")
	}
	to := newDatabase(t.TempDir(), options{})
	for _, id := range list {
		s := mustLoad(t, c, id)
		if s.root == "" || s.meta == nil || s.seq == nil {
			t.Errorf(`%s: %+v; want s.root != "", s.meta != nil, s.seq != nil`, id, s)
		}
		session := s.session()
		session.Version = ""
		if err := to.Save(t.Context(), session); err != nil {
			t.Fatal(err)
		}
		original, _ := os.ReadFile(c.messagesPath(id))
		if written, _ := os.ReadFile(to.messagesPath(id)); !bytes.Equal(written, original) {
			t.Errorf("%s: the messages changed on the way", id)
		}
		if mustLoad(t, to, id).version != s.version {
			t.Errorf("%s: the session changed on the way", id)
		}
		if was, is := rowOf(t, c, id), rowOf(t, to, id); was != is {
			t.Errorf("%s: the row was %+v, is %+v", id, was, is)
		}
		requests(t, dir, s)
	}
	if after := traces(t, dir); after != before {
		t.Errorf("reading changed the folder:\n%s\nwas\n%s", after, before)
	}
}

func rowOf(t *testing.T, d *database, id string) row {
	t.Helper()
	snap, err := d.snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return *snap.rows[id]
}

// requests compares the reminders that the agent sent with ours.
func requests(t *testing.T, dir string, s state) {
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
				s.meta = rawjson.SetAt(s.meta, "/codelia_resume_context/working_dir", rawjson.Quote(was))
				provider, model, _ := strings.Cut(value("model"), "/")
				got, _ := words.Reminder(session.Header{Raw: s.header()}, dialect.Here{
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
