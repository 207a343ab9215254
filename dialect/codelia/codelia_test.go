package codelia_test

import (
	"bytes"
	"encoding/hex"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/codelia"
	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/session"
)

func TestMain(m *testing.M) { os.Exit(soaktest.Main(m)) }

func TestDialect(t *testing.T) {
	dialecttest.Run(t, "testdata", codelia.Codelia, codelia.CodeliaDoc)
}

func FuzzDecode(f *testing.F) { dialecttest.Fuzz(f, "testdata", codelia.Codelia) }

// The readers of run logs as sessions and as runs find the same records.
func TestSameAsRun(t *testing.T) {
	files, err := filepath.Glob("testdata/codelia*/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for n := range data {
			same(t, file, data[:n])
		}
		same(t, file, data)
	}
}

func same(t *testing.T, file string, data []byte) {
	t.Helper()
	tree, err := dialecttest.Decode(codelia.Codelia, file, data)
	log, errRun := run.DecodeBytes(data)
	if len(data) > 0 && len(tree.Header().Raw) > 0 && (err == nil) != (errRun == nil) {
		t.Fatalf("%s, %d bytes: %v and %v", file, len(data), err, errRun)
	}
	if err != nil || errRun != nil {
		return
	}
	if tree.Len() != log.Len() {
		t.Fatalf("%s, %d bytes: %d entries, %d records", file, len(data), tree.Len(), log.Len())
	}
	for i, r := range log.Records() {
		if e := tree.At(i); e.Span != (session.Span{Offset: r.Offset, Length: r.Length}) || e.Line != r.Line || e.Type != string(r.Type) {
			t.Fatalf("%s: %+v is %+v", file, e, r)
		}
	}
	if a, b := tree.Problems(), log.Problems(); len(a) != len(b) {
		t.Fatalf("%s, %d bytes: %v and %v", file, len(data), a, b)
	} else {
		for i := range a {
			if string(a[i].Kind) != string(b[i].Kind) || a[i].Line != b[i].Line {
				t.Fatalf("%s: %v and %v", file, a[i], b[i])
			}
		}
	}
}

// The context of a run is its last request and the response to it, each once.
func TestContext(t *testing.T) {
	tests := []struct {
		file string
		want []string // roles
		last string
	}{
		{"codelia/tools", []string{"system", "user", "assistant", "tool", "assistant"}, "größer"},
		{"codelia/late-request", []string{"user", "assistant"}, "hello"},
		{"codelia/failed", []string{"user"}, "look"},
		{"codelia/crashed", []string{"user", "reasoning", "assistant"}, "grep"},
		{"codelia/no-schema", []string{"user"}, "x"},
		{"codelia/unknown", nil, ""},
		{"codelia-doc/document", []string{"system", "user", "assistant"}, "1, 2, 3"},
	}
	for _, test := range tests {
		data, err := os.ReadFile(filepath.Join("testdata", test.file+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		tree, err := dialecttest.Decode(codelia.Codelia, test.file, data)
		if err != nil {
			t.Fatal(err)
		}
		c, err := session.BuildContext(tree, tree.LeafID(), session.ContextOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var roles []string
		last := ""
		for m, err := range c.Messages() {
			if err != nil {
				t.Fatal(err)
			}
			role, _, _ := strings.Cut(strings.TrimPrefix(string(m.JSON), `{"role":"`), `"`)
			roles, last = append(roles, role), string(m.JSON)
		}
		if !slices.Equal(roles, test.want) || !strings.Contains(last, test.last) {
			t.Errorf("%s: %v instead of %v; the last is %s", test.file, roles, test.want, last)
		}
	}
}

func TestLayout(t *testing.T) {
	vars := map[string]string{}
	env := dialect.Env{Home: "/home/u", Getenv: func(key string) string { return vars[key] }}
	roots := func(d *codelia.Dialect) string {
		var list []string
		for _, r := range d.Layout().Roots(env) {
			list = append(list, filepath.ToSlash(r.Sessions))
		}
		return strings.Join(list, " ")
	}
	check := func(d *codelia.Dialect, want string) {
		t.Helper()
		if got := roots(d); got != want {
			t.Errorf("%s: %s instead of %s", d.Name(), got, want)
		}
	}
	check(codelia.Codelia, "/home/u/.codelia/sessions")
	vars["CODELIA_LAYOUT"] = "xdg"
	check(codelia.Codelia, "/home/u/.local/state/codelia/sessions /home/u/.codelia/sessions")
	check(codelia.CodeliaDoc, "/home/u/.codelia/sessions")
	vars["XDG_STATE_HOME"] = "/state"
	check(codelia.Codelia, "/state/codelia/sessions /home/u/.codelia/sessions")

	h := run.Header{SchemaVersion: 1, RunID: "00000000-0000-4000-8000-000000000000", StartedAt: "2026-12-31T23:30:00-01:00"}
	if name, err := codelia.Codelia.RunName(h); err != nil || name != "2027/01/01/"+h.RunID+".jsonl" {
		t.Errorf("%s, %v; want no error, name == %v", name, err, "2027/01/01/"+h.RunID+".jsonl")
	}
	if !codelia.Codelia.Layout().Owns("2027/01/01/" + h.RunID + ".jsonl") {
		t.Error("the log is not owned")
	}
	for _, name := range []string{"messages/x.jsonl", "state/x.json", "2027/01/x.jsonl", "x.jsonl", "2027/01/01/x/y.jsonl"} {
		if codelia.Codelia.Layout().Owns(name) {
			t.Errorf("%s is owned", name)
		}
	}
	for _, id := range []string{"", "../../x", "00000000-0000-1000-8000-000000000000", h.RunID + "/x", "run-1"} {
		bad := h
		bad.RunID = id
		if _, err := codelia.Codelia.RunName(bad); err == nil {
			t.Errorf("run id %q has a name", id)
		}
	}
	h.StartedAt = "yesterday"
	if _, err := codelia.Codelia.RunName(h); err == nil {
		t.Error("yesterday has a folder")
	}
	zeros, _ := hex.DecodeString(strings.Repeat("ff", 16))
	if id, err := codelia.Codelia.NewRunID(bytes.NewReader(zeros)); err != nil || id != "ffffffff-ffff-4fff-bfff-ffffffffffff" {
		t.Errorf(`%s, %v; want no error, id == "ffffffff-ffff-4fff-bfff-ffffffffffff"`, id, err)
	}
	if _, err := codelia.Codelia.NewRunID(bytes.NewReader(nil)); err == nil {
		t.Error("an id of nothing")
	}
}

// The program's own files load whole and without Problems, and are written unchanged.
func TestCorpus(t *testing.T) {
	root := filepath.Join(dialecttest.Corpus(t, "codelia"), "sessions")
	files := 0
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !codelia.Codelia.Layout().Owns(name) {
			return err
		}
		files++
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		tree, err := dialecttest.Decode(codelia.Codelia, name, data)
		if err != nil || len(tree.Problems()) > 0 || tree.Len() != bytes.Count(data, []byte("\n"))-1 {
			t.Errorf("%s: %d entries, %v, %v", name, tree.Len(), tree.Problems(), err)
			return nil
		}
		h := tree.Header()
		again := append(bytes.Clone(h.Raw), '\n')
		for e := range tree.Entries() {
			record, err := codelia.Codelia.Encode(e)
			if err != nil {
				return err
			}
			again = append(append(again, record...), '\n')
		}
		if !bytes.Equal(again, data) {
			t.Errorf("%s is written otherwise", name)
		}
		if h.ID != session.ID(strings.TrimSuffix(path.Base(name), ".jsonl")) || h.CWD == "" {
			t.Errorf("%s: header %+v", name, h)
		}
		same(t, name, data)
		log, err := run.DecodeBytes(data)
		if err != nil {
			return err
		}
		if want, err := codelia.Codelia.RunName(log.Header); err != nil || want != name {
			t.Errorf("%s should be called %s (%v)", name, want, err)
		}
		report, err := run.Audit(log)
		if err != nil || report.Faults() > 0 {
			t.Errorf("%s: %+v, %v; want no error, report.Faults() <= 0", name, report, err)
		}
		for _, r := range log.Records() { // no record has unknown members
			raw, err := r.Raw()
			if err != nil {
				return err
			}
			body, err := run.Decode(raw)
			if err != nil {
				return err
			}
			record, err := run.Encode(body)
			if err != nil {
				return err
			}
			if d := run.Compare(raw, record); d != nil {
				t.Errorf("%s:%d: %s; want d == nil", name, r.Line, d.Describe("was", "is"))
			}
		}
		return nil
	})
	if err != nil || files == 0 {
		t.Fatal(files, err)
	}
}
