package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/file"
	"github.com/treeline-dev/treeline/backend/memory"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/all"
	"github.com/treeline-dev/treeline/dialect/pi"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// house is a home directory with agents' folders in it, and a store that reads them.
type house struct {
	*testing.T
	home string
	*store.Store
	clock time.Time // of the next file
}

func newHouse(t *testing.T, roots ...string) *house {
	t.Helper()
	home := t.TempDir()
	h := &house{T: t, home: home, clock: time.Date(2026, 2, 16, 10, 0, 0, 0, time.UTC)}
	for i, r := range roots {
		roots[i] = filepath.Join(home, r)
	}
	h.Store = store.New(store.Options{
		Dialects: all.Dialects(),
		Env: dialect.Env{
			Home: home, TempDir: filepath.Join(home, "tmp"), WorkDir: filepath.Join(home, "garden"), Zone: time.UTC,
			Getenv: func(string) string { return "" }, Realpath: filepath.EvalSymlinks,
		},
		OpenDir:   func(dir string) (backend.Backend, error) { return file.New(dir, file.Options{ReadOnly: true}) },
		OpenBlobs: func(dir string) blob.Reader { return blob.NewDir(dir) },
		Roots:     roots,
	})
	return h
}

// put writes a file, each a minute newer than the one before, and gives its path.
func (h *house) put(name, content string) string {
	h.Helper()
	path := filepath.Join(h.home, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		h.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		h.Fatal(err)
	}
	h.clock = h.clock.Add(time.Minute)
	if err := os.Chtimes(path, h.clock, h.clock); err != nil {
		h.Fatal(err)
	}
	return path
}

func (h *house) open(path string, opt store.OpenOptions) *store.Session {
	h.Helper()
	s, err := h.Open(h.Context(), path, opt)
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { s.Close() })
	return s
}

func (h *house) messages(s *store.Session, opt store.ContextOptions) []string {
	h.Helper()
	c, err := s.Context(h.Context(), s.Tree().LeafID(), opt)
	if err != nil {
		h.Fatal(err)
	}
	var list []string
	for m, err := range c.Messages() {
		if err != nil {
			h.Fatal(err)
		}
		list = append(list, string(m.JSON))
	}
	return list
}

func log(id, cwd string, lines ...string) string {
	return fmt.Sprintf(`{"type":"session","version":3,"id":%q,"timestamp":"2026-02-16T10:20:00.000Z","cwd":%q}`+"\n", id, cwd) +
		strings.Join(lines, "\n") + "\n"
}

func said(id, parent, text string) string {
	return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%q,"timestamp":"2026-02-16T10:21:00.000Z","message":{"role":"user","content":%q}}`, id, parent, text)
}

// TestValueByRoot: the content says which family a log is of, the folder which value, and --dialect overrules both.
func TestValueByRoot(t *testing.T) {
	h := newHouse(t)
	for path, want := range map[string]dialect.Dialect{
		h.put(".pi/agent/sessions/--x--/a.jsonl", log("a", "/x")):    pi.Pi,
		h.put(".omp/agent/sessions/-x/b.jsonl", log("b", "/x")):      pi.Omp,
		h.put("elsewhere/c.jsonl", log("c", "/x")):                   pi.Omp,
		h.put(".pi/agent/sessions/--x--/empty.jsonl", ""):            pi.Pi,
		h.put(".omp/agent/sessions/-x/b/0-Task.jsonl", log("d", "")): pi.Omp,
	} {
		if got := h.open(path, store.OpenOptions{}).Dialect(); got != want {
			t.Errorf("%s is of %s", path, got.Name())
		}
		if got := h.open(path, store.OpenOptions{Dialect: pi.OmpDoc}).Dialect(); got != pi.OmpDoc {
			t.Errorf("%s is of %s though it was said", path, got.Name())
		}
	}
	if _, err := h.Dialect("nobody"); !errors.Is(err, store.ErrUnknownDialect) || !strings.Contains(err.Error(), "omp-doc") {
		t.Errorf("an unknown dialect: %v", err)
	}
}

func TestOpenWhatIsNoSession(t *testing.T) {
	h := newHouse(t)
	for name, tc := range map[string]struct {
		content string
		line    int
		found   string
	}{
		"text":        {"Dear diary,\nnothing.\n", 1, "no line"},
		"entries":     {said("a", "", "x") + "\n", 1, `"message"`},
		"damage":      {"{\n\n" + said("a", "", "x") + "\n", 3, `"message"`},
		"torn header": {`{"type":"session","version":3,"id`, 1, "cut off"},
		"no id":       {`{"type":"session","version":3}` + "\n", 1, "without an id"},
		"binary":      {"\x7fELF\x01\x02\x00\x00\xff\xfe", 1, ""},
	} {
		path := h.put("junk/"+strings.ReplaceAll(name, " ", "-")+".jsonl", tc.content)
		_, err := h.Open(t.Context(), path, store.OpenOptions{})
		var p *session.Problem
		if !errors.Is(err, store.ErrNotSession) || !errors.As(err, &p) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if p.Kind != session.ProblemNoHeader || p.File != path || p.Line != tc.line || !strings.Contains(p.Message, tc.found) || p.Advice == "" {
			t.Errorf("%s: %+v", name, p)
		}
		if !strings.Contains(err.Error(), path) {
			t.Errorf("%s: the error does not name the file: %v", name, err)
		}
		if now, _ := os.ReadFile(path); string(now) != tc.content {
			t.Errorf("%s: the file was changed", name)
		}
	}
	if _, err := h.Open(t.Context(), filepath.Join(h.home, "nobody.jsonl"), store.OpenOptions{}); !errors.Is(err, backend.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := h.Open(t.Context(), h.home, store.OpenOptions{}); err == nil {
		t.Error("a folder is opened as a session")
	}
}

func TestEmptyFile(t *testing.T) {
	h := newHouse(t)
	s := h.open(h.put("empty.jsonl", ""), store.OpenOptions{})
	if s.Tree().Len() != 0 || len(h.messages(s, store.ContextOptions{})) != 0 || len(s.Tree().Problems()) != 0 {
		t.Errorf("an empty file has %d entries, problems %v", s.Tree().Len(), s.Tree().Problems())
	}
}

// TestOpenBackup: a log under a name that does not end in .jsonl is read as lines all the same.
func TestOpenBackup(t *testing.T) {
	h := newHouse(t)
	content := strings.ReplaceAll(log("a", "/x", said("a", "", "one"), "junk", said("b", "a", "two")), "\n", "\r\n")
	for _, name := range []string{"a.jsonl", "a.jsonl.v1.bak", "a"} {
		s := h.open(h.put("x/"+name, content), store.OpenOptions{})
		var where []string
		for e := range s.Tree().Entries() {
			where = append(where, fmt.Sprint(e.ID, e.Line, e.Span))
		}
		if got, want := fmt.Sprint(where), "[a2 {91 122} b4 {221 123}]"; len(where) != 2 || got != want {
			t.Errorf("%s: %s, not %s", name, got, want)
		}
		if list := h.messages(s, store.ContextOptions{}); len(list) != 2 {
			t.Errorf("%s: %q", name, list)
		}
	}
}

// TestOpenLogOfMemory: any backend will do.
func TestOpenLogOfMemory(t *testing.T) {
	h := newHouse(t)
	b := memory.New()
	if _, err := b.Create(t.Context(), "dir/a.jsonl", []byte(strings.TrimSpace(log("a", "/x"))), []byte(said("u", "", "one"))); err != nil {
		t.Fatal(err)
	}
	s, err := h.OpenLog(t.Context(), b, "dir/a.jsonl", "dir/a.jsonl", store.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if list := h.messages(s, store.ContextOptions{}); len(list) != 1 || s.Header().ID != "a" {
		t.Errorf("%q", list)
	}
}

func TestBlobs(t *testing.T) {
	h := newHouse(t)
	good, missing, damaged := blob.Sum([]byte("picture")), blob.Sum([]byte("missing")), blob.Sum([]byte("damaged"))
	h.put(".omp/agent/blobs/"+good.Hex(), "picture")
	h.put(".omp/agent/blobs/"+damaged.Hex(), "other bytes")
	h.put("secret", "secret")
	refs := []string{good.String(), missing.String(), damaged.String(), "blob:sha256:../../../secret"}
	lines := make([]string, len(refs))
	for i, ref := range refs {
		parent := ""
		if i > 0 {
			parent = fmt.Sprint("e", i-1)
		}
		lines[i] = fmt.Sprintf(`{"type":"message","id":"e%d","parentId":%q,"message":{"role":"user","content":[{"type":"image","data":%q}]}}`, i, parent, ref)
	}
	content := log("a", "/x", lines...)
	image := func(data string) string {
		return fmt.Sprintf(`{"role":"user","content":[{"type":"image","data":%q}]}`, data)
	}

	for name, tc := range map[string]struct {
		path  string
		opt   store.OpenOptions
		found bool
	}{
		"in the agent's folder":       {h.put(".omp/agent/sessions/-x/a.jsonl", content), store.OpenOptions{}, true},
		"elsewhere: the default ones": {h.put("copy/a.jsonl", content), store.OpenOptions{}, true},
		"in another root":             {h.put("other/sessions/-x/a.jsonl", content), store.OpenOptions{}, false},
		"pi keeps none":               {h.put(".pi/agent/sessions/--x--/a.jsonl", content), store.OpenOptions{}, false},
	} {
		s := h.open(tc.path, tc.opt)
		var kinds []string
		got := h.messages(s, store.ContextOptions{Problem: func(p session.Problem) { kinds = append(kinds, string(p.Kind)) }})
		want := []string{image(refs[0]), image(refs[1]), image(refs[2]), image(refs[3])}
		wrong := "[missing-blob missing-blob missing-blob bad-blob-ref]"
		if tc.found {
			want[0] = image("cGljdHVyZQ==")
			wrong = "[missing-blob missing-blob bad-blob-ref]"
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") || fmt.Sprint(kinds) != wrong {
			t.Errorf("%s: %q with problems %v", name, got, kinds)
		}
		untouched := h.messages(s, store.ContextOptions{NoBlobs: true, Problem: func(p session.Problem) { t.Error(p) }})
		if untouched[0] != image(refs[0]) {
			t.Errorf("%s: without blobs %q", name, untouched)
		}
	}

	s := h.open(filepath.Join(h.home, ".omp/agent/sessions/-x/a.jsonl"), store.OpenOptions{})
	problems, err := s.Check(t.Context())
	if err != nil || len(problems) != 3 || problems[0].Line != 3 || problems[0].Offset != s.Tree().At(1).Span.Offset {
		t.Errorf("Check: %v, %v", problems, err)
	}
}

func TestList(t *testing.T) {
	h := newHouse(t)
	garden, shed := filepath.Join(h.home, "garden"), filepath.Join(h.home, "shed")
	for _, dir := range []string{garden, shed} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(garden, filepath.Join(h.home, "link")); err != nil {
		t.Skip(err)
	}
	h.put(".omp/agent/sessions/-garden/1_aaaa1111.jsonl", log("aaaa1111", garden, said("u", "", "Where do the tulips go?")))
	h.put(".omp/agent/sessions/-garden/2_aaaa2222.jsonl", log("aaaa2222", shed, said("u", "", "in the folder of another")))
	h.put(".pi/agent/sessions/--garden--/3_BBBB3333.jsonl", log("BBBB3333", filepath.Join(h.home, "link")))
	h.put(".omp/agent/sessions/-garden/4_junk.jsonl", "nonsense\n")
	h.put(".omp/agent/sessions/-garden/5_note.txt", "not a log\n")
	h.put(".omp/agent/sessions/-garden/6_big.jsonl", log("big", garden, said("u", "", "first"), strings.Repeat(said("v", "u", strings.Repeat("x", 1000))+"\n", 30)+said("w", "v", "last")))

	list := func(opt store.ListOptions) string {
		t.Helper()
		rows, err := h.List(t.Context(), opt)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, r := range rows {
			id := string(r.ID)
			if r.Err != nil {
				id = "?" + filepath.Base(r.Path)
			}
			ids = append(ids, id)
		}
		return strings.Join(ids, " ")
	}
	if got, want := list(store.ListOptions{}), "big ?4_junk.jsonl BBBB3333 aaaa2222 aaaa1111"; got != want {
		t.Errorf("all: %s, not %s", got, want)
	}
	if got, want := list(store.ListOptions{CWD: garden}), "big ?4_junk.jsonl BBBB3333 aaaa1111"; got != want {
		t.Errorf("by the header's directory, links resolved: %s, not %s", got, want)
	}
	if got, want := list(store.ListOptions{CWD: shed}), "?4_junk.jsonl aaaa2222"; got != want {
		t.Errorf("shed: %s, not %s", got, want)
	}

	rows, err := h.List(t.Context(), store.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	big, small, foreign := rows[0], rows[4], rows[2]
	if small.Prompt != "Where do the tulips go?" || small.Messages != 1 || small.Dialect != pi.Omp || small.CWD != garden || small.Short != "aaaa1111" {
		t.Errorf("a small one: %+v", small)
	}
	if big.Messages != -1 || big.Prompt != "first" || big.Log.Size < 30_000 {
		t.Errorf("a big one: %+v", big)
	}
	if foreign.Dialect != pi.Pi || foreign.Source.Dialect != pi.Pi {
		t.Errorf("pi's: %+v", foreign)
	}
	if !errors.Is(rows[1].Err, store.ErrNotSession) {
		t.Errorf("junk: %v", rows[1].Err)
	}

	for ref, want := range map[string]string{
		"aaaa1111": "aaaa1111", "aaaa1": "aaaa1111", "AAAA2": "aaaa2222", "bbbb": "BBBB3333", "big": "big", "2_aaaa": "aaaa2222",
	} {
		row, err := h.Find(t.Context(), ref)
		if err != nil || string(row.ID) != want {
			t.Errorf("Find(%q): %s, %v", ref, row.ID, err)
		}
	}
	var many *store.AmbiguousError
	if _, err := h.Find(t.Context(), "aaaa"); !errors.As(err, &many) || len(many.Rows) != 2 {
		t.Errorf("an ambiguous beginning: %v", err)
	}
	for _, ref := range []string{"", "nobody"} {
		if _, err := h.Find(t.Context(), ref); !errors.Is(err, store.ErrNoSession) {
			t.Errorf("Find(%q): %v", ref, err)
		}
	}
	if row, err := h.Find(t.Context(), "@last"); err != nil || row.ID != "big" {
		t.Errorf("@last: %s, %v", row.ID, err)
	}
}

// TestListOfRoots: a folder that someone names holds "sessions", is one, or holds logs itself.
func TestListOfRoots(t *testing.T) {
	for name, root := range map[string]string{"agent's folder": "agent", "sessions": "agent/sessions", "one project": "agent/sessions/-x", "missing": "nowhere"} {
		h := newHouse(t, root)
		h.put("agent/sessions/-x/a.jsonl", log("a", "/x"))
		h.put(".omp/agent/sessions/-x/b.jsonl", log("b", "/x"))
		rows, err := h.List(t.Context(), store.ListOptions{})
		want := 1
		if name == "missing" {
			want = 0
		}
		if err != nil || len(rows) != want || want == 1 && rows[0].ID != "a" {
			t.Errorf("%s: %+v, %v", name, rows, err)
		}
	}
}

func TestListCancelled(t *testing.T) {
	h := newHouse(t)
	for i := range 100 {
		h.put(fmt.Sprintf(".omp/agent/sessions/-x/%d.jsonl", i), log(fmt.Sprint(i), "/x"))
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	if _, err := h.List(ctx, store.ListOptions{}); !errors.Is(err, enough) {
		t.Errorf("List: %v", err)
	}
}

// TestReadersWriteNothing takes a picture of a home before and after all that only reads.
func TestReadersWriteNothing(t *testing.T) {
	h := newHouse(t)
	files := []string{
		h.put(".omp/agent/sessions/-x/1_torn.jsonl", log("torn", "/x", said("a", "", "one"))+`{"type":"mess`),
		h.put(".omp/agent/sessions/-x/2_old.jsonl", `{"type":"session","id":"old"}`+"\n"+`{"type":"message","message":{"role":"hookMessage"}}`),
		h.put(".pi/agent/sessions/--x--/3_crlf.jsonl", strings.ReplaceAll(log("crlf", "/x", said("a", "", "one")), "\n", "\r\n")),
		h.put(".pi/agent/sessions/--x--/4_empty.jsonl", ""),
		h.put(".pi/agent/sessions/--x--/5_junk.jsonl", "junk"),
	}
	before := picture(t, h.home)
	if _, err := h.List(t.Context(), store.ListOptions{CWD: h.home}); err != nil {
		t.Fatal(err)
	}
	_, _ = h.Find(t.Context(), "torn")
	for _, path := range files {
		s, err := h.Open(t.Context(), path, store.OpenOptions{})
		if err != nil {
			continue
		}
		h.messages(s, store.ContextOptions{LLM: true})
		if _, err := s.Check(t.Context()); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if after := picture(t, h.home); after != before {
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
	h := newHouse(t)
	path := h.put("a.jsonl", log("a", "/x", said("a", "", "one"), said("b", "a", strings.Repeat("two ", 10_000))))
	s := h.open(path, store.OpenOptions{})
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
