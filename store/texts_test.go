package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/file"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/all"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/query"
	"github.com/treeline-dev/treeline/session"
)

// TestTextsStandInTheirRecords takes words, phrases and parts of words from the texts of every fixture of every dialect. What
// an entry says must be found in its record before that is decoded, and must be known to its signature: otherwise search
// would pass it over.
func TestTextsStandInTheirRecords(t *testing.T) {
	s := New(Options{
		Dialects: all.Dialects(),
		Env: dialect.Env{Home: t.TempDir(), TempDir: t.TempDir(), WorkDir: t.TempDir(), Zone: time.UTC,
			Getenv: func(string) string { return "" }, Realpath: filepath.EvalSymlinks},
		OpenDir: func(dir string) (backend.Backend, error) { return file.New(dir, file.Options{ReadOnly: true}) },
	})
	queries, families := 0, map[string]bool{}
	err := filepath.WalkDir("../dialect", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(path, "testdata") || !strings.Contains(filepath.Ext(path), ".json") {
			return err
		}
		sess, err := s.Open(t.Context(), path, OpenOptions{})
		if errors.Is(err, ErrNotSession) || errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		defer sess.Close()
		families[sess.dialect.Family()] = true
		for e := range sess.Tree().Entries() {
			queries += checkTexts(t, path, sess.dialect.Codec(), e)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if queries < 1000 || len(families) < 4 {
		t.Errorf("only %d queries in %d families: the test is too weak", queries, len(families))
	}
}

// checkTexts asks for what one entry says, and gives how many questions that were.
func checkTexts(t *testing.T, path string, c session.Codec, e session.Entry) (asked int) {
	t.Helper()
	raw, err := e.Raw()
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	var texts []query.Text
	var signer index.Signer
	if searchTexts(c, e, raw, func(f query.Field, text string) {
		texts = append(texts, query.Text{Field: f, Text: text})
		signer.Add([]byte(text), e.Span.Offset, e.Span.End())
	}) != nil || len(texts) == 0 {
		return 0
	}
	sig := &index.Kept{Chunk: signer.Finish()[0]}
	for _, text := range texts {
		words := strings.Fields(text.Text)
		for i, w := range words[:min(len(words), 40)] {
			quote := func(body string) string { return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(body) + `"` }
			_, n := utf8.DecodeRuneInString(w)
			list := []string{quote(w), "*" + quote(w[n:]) + "*"}
			if i > 0 {
				list = append(list, quote(words[i-1]+" "+w))
			}
			for _, asking := range list {
				q, err := query.Parse(asking, query.Options{})
				if err != nil {
					continue // nothing is left
				}
				if _, ok := q.Match(texts); !ok {
					continue
				}
				asked++
				if !q.May(sig) {
					t.Errorf("%s: entry %s: the signature holds back %s", path, e.ID, asking)
				}
				if !q.MayRecord(raw) {
					t.Errorf("%s: entry %s: the record holds back %s", path, e.ID, asking)
				}
			}
		}
	}
	return asked
}

// TestSearchFindsEveryDialect puts the fixtures of each dialect where its agent would keep them, and looks for the first word
// of every entry.
func TestSearchFindsEveryDialect(t *testing.T) {
	for _, d := range all.Dialects() {
		t.Run(d.Name(), func(t *testing.T) {
			home := t.TempDir()
			env := dialect.Env{Home: home, TempDir: home, WorkDir: home, Zone: time.UTC,
				Getenv: func(string) string { return "" }, Realpath: filepath.EvalSymlinks}
			s := New(Options{Dialects: []dialect.Dialect{d}, Env: env,
				OpenDir: func(dir string) (backend.Backend, error) { return file.New(dir, file.Options{ReadOnly: true}) }})
			if _, ok := d.(dialect.Runs); ok {
				return // logs of runs are found as runs
			}
			roots := d.Layout().Roots(env)
			fixtures, err := filepath.Glob("../dialect/*/testdata/" + d.Name() + "/*.json*")
			if err != nil || len(fixtures) == 0 || len(roots) == 0 {
				return // it has none, or no place of its own
			}
			want := map[string]string{} // hits, and the words to find them with
			for i, path := range fixtures {
				id := session.ID(fmt.Sprintf("00000000-0000-4000-8000-%012d", i))
				rel := filepath.Join(d.Layout().Dir(env, "/garden"), d.Layout().File(time.Date(2026, 1, 1, 0, 0, i, 0, time.UTC), id))
				if !d.Layout().Owns(filepath.ToSlash(rel)) {
					continue
				}
				to := filepath.Join(roots[0].Sessions, rel)
				copyFixture(t, path, to)
				sess, err := s.Open(t.Context(), to, OpenOptions{})
				if err != nil {
					continue
				}
				for e := range sess.Tree().Entries() {
					raw, err := e.Raw()
					if err != nil {
						t.Fatal(err)
					}
					_ = searchTexts(sess.dialect.Codec(), e, raw, func(_ query.Field, text string) {
						if words := strings.Fields(text); len(words) > 0 && want[to+"#"+string(e.ID)] == "" {
							want[to+"#"+string(e.ID)] = words[0]
						}
					})
				}
				sess.Close()
			}
			for hit, word := range want {
				res, err := s.Search(t.Context(), `"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word)+`"`, SearchOptions{})
				if err != nil {
					t.Fatal(err)
				}
				found := false
				for _, h := range res.Hits {
					found = found || h.Session != nil && h.Session.Path+"#"+string(h.Entry) == hit
				}
				if !found {
					t.Errorf("%q does not find %s", word, hit)
				}
			}
		})
	}
}

func copyFixture(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestUnknownEntryTexts: of an entry that nobody understands all that it says is text, and not what makes it an entry. A time
// that it tells of is one that it says.
func TestUnknownEntryTexts(t *testing.T) {
	m := newMachine(t)
	m.write("a/a.jsonl", fmt.Sprintf(header, "s", "")+
		`{"type":"custom","id":"00000001","parentId":null,"timestamp":"2026-05-01T10:00:01.000Z","customType":"timer","data":{"until":"2026-05-02T11:30:00.000Z"}}`+"\n")
	s := m.store(index.Open(index.Options{}))
	for query, want := range map[string]int{"timer": 1, "2026-05-02*": 1, "2026-05-01*": 0, "00000001": 0} {
		res, err := s.Search(t.Context(), query, SearchOptions{})
		if err != nil || len(res.Hits) != want {
			t.Errorf("%s: %d hits, not %d: %v", query, len(res.Hits), want, err)
		}
	}
}

// TestSearchToolNames: a tool is found by its name, however the log spells it; the name that treeline gives to what a user
// ran himself is no text of the log.
func TestSearchToolNames(t *testing.T) {
	const call = `{"type":"message","id":"m","parentId":null,"message":{"role":"assistant","content":[{"type":"toolCall",%s"arguments":{}}]}}`
	const ran = `{"type":"message","id":"m","parentId":null,"message":{"role":"bashExecution","command":"%s","output":"","exitCode":0}}`
	for _, tt := range []struct {
		name, record, query string
		found               bool
	}{
		{"plain", fmt.Sprintf(call, `"id":"1","name":"bash",`), "bash", true},
		{"escaped", fmt.Sprintf(call, `"id":"1","name":"b\u0061sh",`), "bash", true},
		{"all of it escaped", fmt.Sprintf(call, `"id":"1","name":"\u0062\u0061\u0073\u0068",`), "bash", true},
		{"escaped slash", fmt.Sprintf(call, `"id":"1","name":"files\/read",`), "files/read", true},
		{"escaped key", fmt.Sprintf(call, `"id":"1","n\u0061me":"bash",`), "bash", true},
		{"beyond ASCII", fmt.Sprintf(call, `"id":"1","name":"pr\u00fcfen",`), "prüfen", true},
		{"plain without id", fmt.Sprintf(call, `"name":"bash",`), "bash", true},
		{"escaped without id", fmt.Sprintf(call, `"name":"b\u0061sh",`), "bash", true},
		{"escaped slash without id", fmt.Sprintf(call, `"name":"files\/read",`), "files/read", true},
		{"another name", fmt.Sprintf(call, `"id":"1","name":"b\u0065sh",`), "bash", false},
		{"ran by the user", fmt.Sprintf(ran, `make`), "bash", false},
		{"ran by the user, with escapes", fmt.Sprintf(ran, `make \u0061ll`), "bash", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t)
			m.write("-p/a.jsonl", fmt.Sprintf(header, "s", "")+tt.record+"\n")
			res, err := m.store(nil).Search(t.Context(), tt.query, SearchOptions{Fields: query.FieldTool})
			if err != nil || len(res.Hits) > 0 != tt.found {
				t.Errorf("%+v, %v", res, err)
			}
		})
	}
}
