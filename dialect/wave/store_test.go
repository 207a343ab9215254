package wave_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/file"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/wave"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// bench is a machine with a home directory and a store. It counts the logs that are opened.
type bench struct {
	*testing.T
	*treeline.Store
	home, garden string
	opened       *int
}

func newBench(t *testing.T) *bench {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	garden := filepath.Join(home, "my garden-a")
	if err := os.Mkdir(garden, 0o700); err != nil {
		t.Fatal(err)
	}
	opened := 0
	files := file.Driver(file.Options{})
	open := files.Open
	files.Open = func(root string, opt backend.OpenOptions) (backend.Backend, error) {
		b, err := open(root, opt)
		if err != nil || !opt.ReadOnly {
			return b, err
		}
		return counting{b.(*file.Backend), &opened}, nil
	}
	s, err := treeline.New(treeline.Options{
		Backends: []backend.Driver{files}, Home: home, WorkDir: garden, Getenv: func(string) string { return "" },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return &bench{T: t, Store: s, home: home, garden: garden, opened: &opened}
}

// counting counts how often a log is opened.
type counting struct {
	*file.Backend
	opened *int
}

func (c counting) Open(ctx context.Context, at backend.Log) (backend.Reader, error) {
	*c.opened++
	return c.Backend.Open(ctx, at)
}

func (c counting) Ends(ctx context.Context, at backend.Log, head, tail []byte) (int, int, error) {
	*c.opened++
	return c.Backend.Ends(ctx, at, head, tail)
}

func (c counting) Glimpse(ctx context.Context, name string, room []byte, tail int) (backend.Log, []byte, []byte, error) {
	*c.opened++
	return c.Backend.Glimpse(ctx, name, room, tail)
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) create(d dialect.Dialect) *store.Session {
	b.Helper()
	s, err := b.Create(b.Context(), store.CreateOptions{Dialect: d})
	b.must(err)
	b.Cleanup(func() { s.Close() })
	return s
}

func (b *bench) say(s *store.Session, role, text, more string) store.Appended {
	b.Helper()
	a, err := s.AppendMessage(b.Context(), []byte(fmt.Sprintf(`{"role":%q,"blocks":[{"type":"text","content":%q}]%s}`, role, text, more)))
	b.must(err)
	return a
}

// program reads a file as today's Wave does. Wave reports a file that it cannot read as "not found".
func (b *bench) program(path string) (messages []map[string]any, metadata map[string]any) {
	b.Helper()
	if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\.jsonl$`).MatchString(filepath.Base(path)) {
		b.Errorf("%s: Wave does not list it", path)
	}
	data, err := os.ReadFile(path)
	b.must(err)
	if len(data) > 0 && !bytes.HasSuffix(data, []byte("\n")) {
		b.Errorf("%s does not end in a newline", path)
	}
	first := 0
	for line := range strings.SplitSeq(string(data), "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			b.Fatalf("%s: not found: %v", path, err)
		}
		if m["type"] == "metadata" {
			metadata = m
			continue
		}
		if _, ok := m["timestamp"].(string); !ok {
			continue
		}
		for _, block := range m["blocks"].([]any) {
			if block.(map[string]any)["type"] == "compact" {
				first = len(messages)
			}
		}
		messages = append(messages, m)
	}
	return messages[first:], metadata
}

func text(m map[string]any) any { return m["blocks"].([]any)[0].(map[string]any)["content"] }

// TestProgramSession: a session is created with the first real message, in the program's folder and form.
func TestProgramSession(t *testing.T) {
	b := newBench(t)
	s := b.create(wave.Wave)
	if a := b.say(s, "user", "<reminder>", `,"isMeta":true`); a.Durable {
		t.Error("a message of the program's own is written at once")
	}
	path := s.Path()
	if _, err := os.Stat(path); err == nil {
		t.Fatal("the file is there before anything was said")
	}
	a := b.say(s, "user", "hello", "")
	b.say(s, "assistant", "hi", `,"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3,"model":"gpt-4"}`)
	want := strings.ReplaceAll(strings.TrimPrefix(b.garden, "/"), "/", "-")
	if dir := filepath.Base(filepath.Dir(path)); !a.Durable || dir != strings.ReplaceAll(want, " ", "_") {
		t.Errorf("%+v in %s", a, dir)
	}
	messages, metadata := b.program(path)
	if len(messages) != 3 || text(messages[1]) != "hello" || messages[1]["id"] != string(a.ID) || metadata["workdir"] != b.garden {
		t.Errorf(`%v %v; want len(messages) == 3, text(messages[1]) == "hello", messages[1]["id"] == %v, metadata["workdir"] == %v`, messages, metadata, string(a.ID), b.garden)
	}
	b.must(s.Close())
	s, err := b.OpenWrite(t.Context(), path, store.CreateOptions{})
	b.must(err)
	if _, err := s.Compact(t.Context(), session.Compaction{Summary: "greetings"}); err != nil {
		t.Fatal(err)
	}
	b.say(s, "user", "more", "")
	if messages, _ := b.program(path); len(messages) != 2 || text(messages[0]) != "greetings" {
		t.Errorf(`%v; want len(messages) == 2, text(messages[0]) == "greetings"`, messages)
	}
	c, err := s.Context(t.Context(), s.Leaf(), store.ContextOptions{})
	b.must(err)
	n := 0
	for m, err := range c.Messages() {
		b.must(err)
		if n++; n == 1 && !bytes.Contains(m.JSON, []byte(`"compact"`)) {
			t.Errorf("the context begins with %s", m.JSON)
		}
	}
	if h := s.Header(); n != 2 || h.CWD != b.garden || len(s.Tree().Problems()) != 0 {
		t.Errorf("%d messages, %+v, %v", n, h, s.Tree().Problems())
	}
	problems, err := b.Check(t.Context(), s)
	if err != nil || len(problems) != 0 {
		t.Errorf("%v, %v; want no error, len(problems) == 0", problems, err)
	}
	b.must(s.Close())
}

// TestDocumentSession: a session is created at once and empty, without a metadata line or ids; the working directory is in the first
// message.
func TestDocumentSession(t *testing.T) {
	b := newBench(t)
	s := b.create(wave.Doc)
	path := s.Path()
	info, err := os.Stat(path)
	if err != nil || info.Size() != 0 || !strings.HasPrefix(filepath.Base(filepath.Dir(path)), "-") {
		t.Fatalf(`%s: %v, %v; want no error, info.Size() == 0, strings.HasPrefix(filepath.Base(filepath.Dir(path)), "-")`, path, info, err)
	}
	b.must(s.Close())
	s, err = b.OpenWrite(t.Context(), path, store.CreateOptions{})
	b.must(err)
	if s.Dialect() != dialect.Dialect(wave.Doc) || s.Header().CWD != b.garden {
		t.Errorf("an empty file is of %s, %+v", s.Dialect().Name(), s.Header())
	}
	first := b.say(s, "user", "hello", "")
	second := b.say(s, "assistant", "hi", `,"usage":{"inputTokens":5,"outputTokens":3}`)
	messages, metadata := b.program(path)
	if len(messages) != 2 || metadata != nil || messages[0]["id"] != nil ||
		fmt.Sprint(messages[0]["metadata"]) != fmt.Sprintf("map[treeline:map[workdir:%s]]", b.garden) || messages[1]["metadata"] != nil {
		t.Errorf(`%v; want len(messages) == 2, metadata == nil, messages[0]["id"] == nil, fmt.Sprint(messages[0]["metadata"]) == fmt.Sprintf("map[treeline:map[workdir:%%s]]", b.garden), messages[1]["metadata"] == nil`, messages)
	}
	b.must(s.Close())
	s, err = b.Open(t.Context(), path, store.OpenOptions{})
	b.must(err)
	u, _ := wave.ParseUUID(string(s.ID()))
	began, _ := u.Time()
	if at, ok := s.Header().Timestamp.Time(); !ok || at.UnixMilli() != began.UnixMilli() || s.Header().CWD != b.garden {
		t.Errorf("%+v, began %s", s.Header(), began)
	}
	if e := s.Tree().At(0); e.ID != first.ID || s.Leaf() != second.ID || first.ID == second.ID {
		t.Errorf("appended as %s and %s, read as %s and %s", first.ID, second.ID, e.ID, s.Leaf())
	}
	problems, err := b.Check(t.Context(), s)
	if err != nil || len(problems) != 0 {
		t.Errorf("%v, %v; want no error, len(problems) == 0", problems, err)
	}
	b.must(s.Close())
}

// TestForkAndDelete, for both values: a fork keeps all messages and names its source; the folder is removed with its
// last file.
func TestForkAndDelete(t *testing.T) {
	for _, d := range []*wave.Dialect{wave.Wave, wave.Doc} {
		t.Run(d.Name(), func(t *testing.T) {
			b := newBench(t)
			s := b.create(d)
			first := b.say(s, "user", "one", "")
			b.say(s, "assistant", "two", "")
			old := s.Path()
			before, err := os.ReadFile(old)
			b.must(err)
			b.must(s.Fork(t.Context()))
			if h := s.Header(); s.Path() == old || h.Parent != old || h.CWD != b.garden || s.Tree().Len() != 2 {
				t.Errorf("%+v; want s.Path() != %v, h.Parent == %v, h.CWD == %v, s.Tree().Len() == 2", h, old, old, b.garden)
			}
			b.say(s, "user", "three", "")
			if after, _ := os.ReadFile(old); !bytes.Equal(before, after) {
				t.Error("the original changed")
			}
			if messages, _ := b.program(s.Path()); len(messages) != 3 || text(messages[2]) != "three" {
				t.Errorf(`%v; want len(messages) == 3, text(messages[2]) == "three"`, messages)
			}
			b.must(s.Delete(t.Context()))
			branched, err := b.BranchFrom(t.Context(), old, first.ID, store.CreateOptions{})
			if d == wave.Doc {
				t.Log("ids of the document's messages come from their place:", first.ID)
			}
			b.must(err)
			if messages, _ := b.program(branched.Path()); len(messages) != 1 || text(messages[0]) != "one" {
				t.Errorf(`%v; want len(messages) == 1, text(messages[0]) == "one"`, messages)
			}
			b.must(branched.Delete(t.Context()))
			if _, err := os.Stat(filepath.Dir(old)); err != nil {
				t.Fatalf("the folder went with a file that was not its last: %v", err)
			}
			s, err = b.OpenWrite(t.Context(), old, store.CreateOptions{})
			b.must(err)
			b.must(s.Delete(t.Context()))
			if list, err := os.ReadDir(filepath.Join(b.home, ".wave", "projects")); err != nil || len(list) != 0 {
				t.Errorf("left: %v, %v", list, err)
			}
		})
	}
}

// TestRefusals: what the format cannot express is refused, and the error names an alternative if there is one.
func TestRefusals(t *testing.T) {
	b := newBench(t)
	s := b.create(wave.Wave)
	a := b.say(s, "user", "one", "")
	b.say(s, "assistant", "two", "")
	before, _ := os.ReadFile(s.Path())
	_, branch := s.Branch(t.Context(), a.ID, treeline.BranchOptions{Durable: true})
	_, label := s.Label(t.Context(), a.ID, "x")
	if _, err := b.Store.Create(t.Context(), store.CreateOptions{Dialect: wave.Wave, Title: "x"}); !errors.Is(err, store.ErrUnsupported) {
		t.Errorf("a title: %v; want the error store.ErrUnsupported", err)
	}
	if err := s.Rename(t.Context(), "x"); !errors.Is(err, store.ErrUnsupported) {
		t.Errorf("rename: %v; want the error store.ErrUnsupported", err)
	}
	if !errors.Is(branch, store.ErrUnsupported) || !strings.Contains(branch.Error(), "fork") {
		t.Errorf("branch: %v; want store.ErrUnsupported, with the advice to fork", branch)
	}
	if !errors.Is(label, store.ErrUnsupported) {
		t.Errorf("label: %v; want store.ErrUnsupported", label)
	}
	if after, _ := os.ReadFile(s.Path()); !bytes.Equal(before, after) {
		t.Error("something was written")
	}
	if _, err := b.Create(t.Context(), store.CreateOptions{Dialect: wave.Legacy}); !errors.Is(err, store.ErrUnsupported) {
		t.Errorf("a session of the old form is begun: %v", err)
	}
}

// TestSecondWriter: an append follows another process's message, and neither is lost.
func TestSecondWriter(t *testing.T) {
	for _, d := range []*wave.Dialect{wave.Wave, wave.Doc} {
		b := newBench(t)
		s := b.create(d)
		b.say(s, "user", "one", "")
		other, err := b.OpenWrite(t.Context(), s.Path(), store.CreateOptions{})
		b.must(err)
		b.say(other, "user", "two", "")
		a := b.say(s, "user", "three", "")
		if a.Foreign != 1 || a.Outcome != store.PolicyFollow {
			t.Errorf("%s: %+v; want a.Foreign == 1, a.Outcome == store.PolicyFollow", d.Name(), a)
		}
		if messages, _ := b.program(s.Path()); len(messages) != 3 || text(messages[2]) != "three" {
			t.Errorf(`%s: %v; want len(messages) == 3, text(messages[2]) == "three"`, d.Name(), messages)
		}
		b.must(other.Close())
	}
}

func TestInMemory(t *testing.T) {
	for _, d := range []*wave.Dialect{wave.Wave, wave.Doc} {
		b := newBench(t)
		s, err := b.InMemory(t.Context(), store.CreateOptions{Dialect: d, ID: v6})
		b.must(err)
		b.say(s, "user", "one", "")
		b.must(s.Fork(t.Context()))
		if h := s.Header(); h.ID == "" || h.ID == v6 || h.CWD != b.garden || s.Tree().Len() != 1 {
			t.Errorf("%s: %+v with %d entries", d.Name(), h, s.Tree().Len())
		}
		b.must(s.Close())
	}
}

// TestTrash: a session in the trash is gone, for its folder, too; after a restore it is back.
func TestTrash(t *testing.T) {
	b := newBench(t)
	s := b.create(wave.Doc)
	b.say(s, "user", "hello", "")
	path := s.Path()
	b.must(s.Close())
	before, err := os.ReadFile(path)
	b.must(err)
	item, err := b.Trash(t.Context(), path)
	b.must(err)
	if _, err := os.Stat(filepath.Dir(path)); err == nil {
		t.Error("the empty folder is left")
	}
	_, err = b.Restore(t.Context(), string(item.Session))
	b.must(err)
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("restored as %s, %v", after, err)
	}
}

// TestNoFolder: if the folder cannot be created, the error names it, and nothing is lost silently.
func TestNoFolder(t *testing.T) {
	b := newBench(t)
	b.must(os.MkdirAll(filepath.Join(b.home, ".wave"), 0o700))
	b.must(os.WriteFile(filepath.Join(b.home, ".wave", "projects"), nil, 0o600))
	_, err := b.Create(t.Context(), store.CreateOptions{Dialect: wave.Doc})
	if err == nil || !strings.Contains(err.Error(), "projects") {
		t.Errorf(`%v; want an error, strings.Contains(err.Error(), "projects")`, err)
	}
}
