package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/memory"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/pi"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// TestValueByRoot: the content tells the family of a log, the folder which dialect of the family; --dialect overrides both.
func TestValueByRoot(t *testing.T) {
	h := newDesk(t)
	for path, want := range map[string]dialect.Dialect{
		h.Old(".pi/agent/sessions/--x--/a.jsonl", world.Log("a", "/x")):    pi.Pi,
		h.Old(".omp/agent/sessions/-x/b.jsonl", world.Log("b", "/x")):      pi.Omp,
		h.Old("elsewhere/c.jsonl", world.Log("c", "/x")):                   pi.Omp,
		h.Old(".pi/agent/sessions/--x--/empty.jsonl", ""):                  pi.Pi,
		h.Old(".omp/agent/sessions/-x/b/0-Task.jsonl", world.Log("d", "")): pi.Omp,
	} {
		if got := h.View(path, store.OpenOptions{}).Dialect(); got != want {
			t.Errorf("%s is of %s", path, got.Name())
		}
		if got := h.View(path, store.OpenOptions{Dialect: pi.OmpDoc}).Dialect(); got != pi.OmpDoc {
			t.Errorf("%s is of %s though it was said", path, got.Name())
		}
	}
	if _, err := h.Dialect("nobody"); !errors.Is(err, place.ErrUnknownDialect) || !strings.Contains(err.Error(), "omp-doc") {
		t.Errorf("an unknown dialect: %v", err)
	}
}

func TestOpenWhatIsNoSession(t *testing.T) {
	h := newDesk(t)
	for name, tc := range map[string]struct {
		content string
		line    int
		found   string
	}{
		"text":        {"Dear diary,\nnothing.\n", 1, "no line"},
		"entries":     {world.Said("a", "", "x") + "\n", 1, `"message"`},
		"damage":      {"{\n\n" + world.Said("a", "", "x") + "\n", 3, `"message"`},
		"torn header": {`{"type":"session","version":3,"id`, 1, "cut off"},
		"no id":       {`{"type":"session","version":3}` + "\n", 1, "without an id"},
		"binary":      {"\x7fELF\x01\x02\x00\x00\xff\xfe", 1, ""},
	} {
		path := h.Old("junk/"+strings.ReplaceAll(name, " ", "-")+".jsonl", tc.content)
		_, err := h.Open(t.Context(), path, store.OpenOptions{})
		var p *session.Problem
		if !errors.Is(err, store.ErrNotSession) || !errors.As(err, &p) {
			t.Errorf("%s: %v; want the error store.ErrNotSession, errors.As(err, &p)", name, err)
			continue
		}
		if p.Kind != session.ProblemNoHeader || p.File != path || p.Line != tc.line || !strings.Contains(p.Message, tc.found) || p.Advice == "" {
			t.Errorf(`%s: %+v; want p.Kind == session.ProblemNoHeader, p.File == %v, p.Line == %v, strings.Contains(p.Message, tc.found), p.Advice != ""`, name, p, path, tc.line)
		}
		if !strings.Contains(err.Error(), path) {
			t.Errorf("%s: the error does not name the file: %v", name, err)
		}
		if now, _ := os.ReadFile(path); string(now) != tc.content {
			t.Errorf("%s: the file was changed", name)
		}
	}
	if _, err := h.Open(t.Context(), filepath.Join(h.Home, "nobody.jsonl"), store.OpenOptions{}); !errors.Is(err, backend.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := h.Open(t.Context(), h.Home, store.OpenOptions{}); !errors.Is(err, backend.ErrNotExist) || err.Error() != h.Home+": it is a folder" {
		t.Errorf("a folder is opened as a session: %v", err)
	}
}

func TestEmptyFile(t *testing.T) {
	h := newDesk(t)
	s := h.View(h.Old("empty.jsonl", ""), store.OpenOptions{})
	if s.Tree().Len() != 0 || len(h.Messages(s, store.ContextOptions{})) != 0 || len(s.Tree().Problems()) != 0 {
		t.Errorf("an empty file has %d entries, problems %v", s.Tree().Len(), s.Tree().Problems())
	}
}

// TestOpenBackup: a log under a name that does not end in .jsonl is read as lines all the same.
func TestOpenBackup(t *testing.T) {
	h := newDesk(t)
	content := strings.ReplaceAll(world.Log("a", "/x", world.Said("a", "", "one"), "junk", world.Said("b", "a", "two")), "\n", "\r\n")
	for _, name := range []string{"a.jsonl", "a.jsonl.v1.bak", "a"} {
		s := h.View(h.Old("x/"+name, content), store.OpenOptions{})
		var where []string
		for e := range s.Tree().Entries() {
			where = append(where, fmt.Sprint(e.ID, e.Line, e.Span))
		}
		if got, want := fmt.Sprint(where), "[a2 {91 122} b4 {221 123}]"; len(where) != 2 || got != want {
			t.Errorf("%s: %s, not %s", name, got, want)
		}
		if list := h.Messages(s, store.ContextOptions{}); len(list) != 2 {
			t.Errorf("%s: %q; want len(list) == 2", name, list)
		}
	}
}

// TestOpenLogOfMemory: any backend will do.
func TestOpenLogOfMemory(t *testing.T) {
	h := newDesk(t)
	b := memory.New()
	if _, err := b.Create(t.Context(), "dir/a.jsonl", []byte(strings.TrimSpace(world.Log("a", "/x"))), []byte(world.Said("u", "", "one"))); err != nil {
		t.Fatal(err)
	}
	s, err := h.OpenAt(t.Context(), place.Location{Backend: b, Name: "dir/a.jsonl", Path: "dir/a.jsonl"}, store.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if list := h.Messages(s, store.ContextOptions{}); len(list) != 1 || s.Header().ID != "a" {
		t.Errorf(`%q; want len(list) == 1, s.Header().ID == "a"`, list)
	}
}

func TestBlobs(t *testing.T) {
	h := newDesk(t)
	good, missing, damaged := blob.Sum([]byte("picture")), blob.Sum([]byte("missing")), blob.Sum([]byte("damaged"))
	h.Old(".omp/agent/blobs/"+good.Hex(), "picture")
	h.Old(".omp/agent/blobs/"+damaged.Hex(), "other bytes")
	h.Old("secret", "secret")
	refs := []string{good.String(), missing.String(), damaged.String(), "blob:sha256:../../../secret"}
	lines := make([]string, len(refs))
	for i, ref := range refs {
		parent := ""
		if i > 0 {
			parent = fmt.Sprint("e", i-1)
		}
		lines[i] = fmt.Sprintf(`{"type":"message","id":"e%d","parentId":%q,"message":{"role":"user","content":[{"type":"image","data":%q}]}}`, i, parent, ref)
	}
	content := world.Log("a", "/x", lines...)
	image := func(data string) string {
		return fmt.Sprintf(`{"role":"user","content":[{"type":"image","data":%q}]}`, data)
	}

	for name, tc := range map[string]struct {
		path  string
		opt   store.OpenOptions
		found bool
	}{
		"in the agent's folder":       {h.Old(".omp/agent/sessions/-x/a.jsonl", content), store.OpenOptions{}, true},
		"elsewhere: the default ones": {h.Old("copy/a.jsonl", content), store.OpenOptions{}, true},
		"in another root":             {h.Old("other/sessions/-x/a.jsonl", content), store.OpenOptions{}, false},
		"pi keeps none":               {h.Old(".pi/agent/sessions/--x--/a.jsonl", content), store.OpenOptions{}, false},
	} {
		s := h.View(tc.path, tc.opt)
		var kinds []string
		got := h.Messages(s, store.ContextOptions{Problem: func(p session.Problem) { kinds = append(kinds, string(p.Kind)) }})
		want := []string{image(refs[0]), image(refs[1]), image(refs[2]), image(refs[3])}
		wrong := "[missing-blob missing-blob missing-blob bad-blob-ref]"
		if tc.found {
			want[0] = image("cGljdHVyZQ==")
			wrong = "[missing-blob missing-blob bad-blob-ref]"
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") || fmt.Sprint(kinds) != wrong {
			t.Errorf("%s: %q with problems %v", name, got, kinds)
		}
		untouched := h.Messages(s, store.ContextOptions{NoBlobs: true, Problem: func(p session.Problem) { t.Error(p) }})
		if untouched[0] != image(refs[0]) {
			t.Errorf("%s: without blobs %q", name, untouched)
		}
	}

	s := h.View(filepath.Join(h.Home, ".omp/agent/sessions/-x/a.jsonl"), store.OpenOptions{})
	problems := check(t, s)
	if len(problems) != 3 || problems[0].Line != 3 || problems[0].Offset != s.Tree().At(1).Span.Offset {
		t.Errorf("Check: %v", problems)
	}
}

// TestReadersWriteNothing takes a picture of a home before and after all that only reads.
func TestReadersWriteNothing(t *testing.T) {
	h := newDesk(t)
	files := []string{
		h.Old(".omp/agent/sessions/-x/1_torn.jsonl", world.Log("torn", "/x", world.Said("a", "", "one"))+`{"type":"mess`),
		h.Old(".omp/agent/sessions/-x/2_old.jsonl", `{"type":"session","id":"old"}`+"\n"+`{"type":"message","message":{"role":"hookMessage"}}`),
		h.Old(".pi/agent/sessions/--x--/3_crlf.jsonl", strings.ReplaceAll(world.Log("crlf", "/x", world.Said("a", "", "one")), "\n", "\r\n")),
		h.Old(".pi/agent/sessions/--x--/4_empty.jsonl", ""),
		h.Old(".pi/agent/sessions/--x--/5_junk.jsonl", "junk"),
	}
	before := picture(t, h.Home)
	if _, err := h.List(t.Context(), place.ListOptions{CWD: h.Home}); err != nil {
		t.Fatal(err)
	}
	_, _ = h.Find(t.Context(), "torn")
	for _, path := range files {
		s, err := h.Open(t.Context(), path, store.OpenOptions{})
		if err != nil {
			continue
		}
		h.Messages(s, store.ContextOptions{LLM: true})
		check(t, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if after := picture(t, h.Home); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// picture lists every file with its mode, time and bytes.
func picture(t *testing.T, dir string) string {
	t.Helper()
	var b bytes.Buffer
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %s %s", path, info.Mode(), info.ModTime())
		if info.Mode().IsRegular() {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %q", content)
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestCutWhileOpen: a log that is cut under an open session gives errors, and what is read is never wrong.
func TestCutWhileOpen(t *testing.T) {
	h := newDesk(t)
	path := h.Old("a.jsonl", world.Log("a", "/x", world.Said("a", "", "one"), world.Said("b", "a", strings.Repeat("two ", 10_000))))
	s := h.View(path, store.OpenOptions{})
	if err := os.Truncate(path, 200); err != nil {
		t.Fatal(err)
	}
	if raw, err := s.Tree().At(1).Raw(); !errors.Is(err, backend.ErrChanged) {
		t.Errorf("the cut entry is read as %.40q, %v", raw, err)
	}
	c, err := s.Context(t.Context(), "b", store.ContextOptions{})
	if err == nil {
		for _, err = range c.Messages() {
			if err != nil {
				break
			}
		}
	}
	if !errors.Is(err, backend.ErrChanged) {
		t.Errorf("the context of a log that was cut: %v", err)
	}
}
