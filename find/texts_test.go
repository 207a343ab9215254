package find

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/all"
	"github.com/treeline-dev/treeline/find/texts"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/query"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// TestTextsStandInTheirRecords: words, phrases and parts of words of every fixture must pass the signature and the filter of raw records.
// Otherwise a search would miss them.
func TestTextsStandInTheirRecords(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	queries, families := 0, map[string]bool{}
	err := filepath.WalkDir("../dialect", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.Contains(path, "testdata") || !strings.Contains(filepath.Ext(path), ".json") {
			return err
		}
		sess, err := d.Open(t.Context(), path, store.OpenOptions{})
		if errors.Is(err, logtree.ErrNotSession) || errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		defer sess.Close()
		families[sess.Dialect().Family()] = true
		for e := range sess.Tree().Entries() {
			queries += checkTexts(t, path, sess.Dialect().Codec().EntryCodec, e)
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

// checkTexts queries the texts of one entry and returns the number of queries.
func checkTexts(t *testing.T, path string, c session.EntryCodec, e session.Entry) (asked int) {
	t.Helper()
	raw, err := e.Raw()
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	var said []query.Text
	var signer index.Signer
	if _, err := texts.Entry(c, e, raw, texts.Own(e), nil, func(f query.Field, text string) {
		said = append(said, query.Text{Field: f, Text: text})
		signer.Add([]byte(text), e.Span.Offset, e.Span.End())
	}); err != nil || len(said) == 0 {
		return 0
	}
	sig := &index.Kept{Chunk: signer.Finish()[0]}
	for _, text := range said {
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
				if _, ok := q.Match(said); !ok {
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

// TestSearchFindsEveryDialect puts the fixtures of each dialect where its agent keeps them, and searches for the first word
// of every entry.
func TestSearchFindsEveryDialect(t *testing.T) {
	t.Parallel()
	for _, d := range all.Dialects() {
		t.Run(d.Name(), func(t *testing.T) {
			t.Parallel()
			m := newDesk(t)
			s := m.finder(nil)
			env := s.m.Env()
			if _, ok := d.(dialect.Runs); ok {
				return // run logs are found as runs
			}
			roots := d.Layout().Roots(env)
			fixtures, err := filepath.Glob("../dialect/*/testdata/" + d.Name() + "/*.json*")
			if err != nil || len(fixtures) == 0 || len(roots) == 0 {
				return // it has no fixtures, or no place of its own
			}
			want := map[string]string{} // hits, and the words to find them with
			for i, path := range fixtures {
				id := session.ID(fmt.Sprintf("%08d-0000-4000-8000-%012d", i, i))
				rel := filepath.Join(d.Layout().Dir(env, "/garden"), d.Layout().File(time.Date(2026, 1, 1, 0, 0, i, 0, time.UTC), id))
				if !d.Layout().Owns(filepath.ToSlash(rel)) {
					continue
				}
				to := filepath.Join(roots[0].Sessions, rel)
				data, err := os.ReadFile(path)
				m.Must(err)
				// Lists show one of several logs with the same id, if an agent leaves such logs.
				if _, ok := d.Layout().(dialect.Doubler); ok {
					if was := d.Peek(data, nil, true).ID; was != "" {
						data = []byte(strings.ReplaceAll(string(data), string(was), string(id)))
					}
				}
				name, _ := filepath.Rel(m.Home, to)
				m.Put(filepath.ToSlash(name), string(data))
				sess, err := m.Open(t.Context(), to, store.OpenOptions{})
				if err != nil {
					continue
				}
				for e := range sess.Tree().Entries() {
					raw, err := e.Raw()
					if err != nil {
						t.Fatal(err)
					}
					_, _ = texts.Entry(sess.Dialect().Codec().EntryCodec, e, raw, texts.Own(e), nil, func(_ query.Field, text string) {
						if words := strings.Fields(text); len(words) > 0 && want[to+"#"+string(e.ID)] == "" {
							want[to+"#"+string(e.ID)] = words[0]
						}
					})
				}
				sess.Close()
			}
			hits := map[string][]string{} // by word: many entries begin with the same word
			for hit, word := range want {
				hits[word] = append(hits[word], hit)
			}
			every := soaktest.Every()
			for i, word := range slices.Sorted(maps.Keys(hits)) {
				want := hits[word]
				if !every && i%10 != 0 {
					continue // only .ci/run and the soak search for all
				}
				res := m.search(s, `"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word)+`"`, Options{})
				found := map[string]bool{}
				for _, h := range res.Hits {
					if h.Session != nil {
						found[h.Session.Path+"#"+string(h.Entry)] = true
					}
				}
				for _, hit := range want {
					if !found[hit] {
						t.Errorf("%q does not find %s", word, hit)
					}
				}
			}
		})
	}
}

// TestOpaqueEntryTexts: all strings of an opaque entry are texts, except its id, parent, type and time.
func TestOpaqueEntryTexts(t *testing.T) {
	t.Parallel()
	m := newDesk(t)
	m.write("a/a.jsonl", fmt.Sprintf(header, "s", "")+
		`{"type":"custom","id":"00000001","parentId":null,"timestamp":"2026-05-01T10:00:01.000Z","customType":"timer","data":{"until":"2026-05-02T11:30:00.000Z"}}`+"\n")
	s := m.finder(nil)
	for query, want := range map[string]int{"timer": 1, "2026-05-02*": 1, "2026-05-01*": 0, "00000001": 0} {
		res, err := s.Search(t.Context(), query, Options{})
		if err != nil || len(res.Hits) != want {
			t.Errorf("%s: %d hits, not %d: %v", query, len(res.Hits), want, err)
		}
	}
}

// TestSearchToolNames: a tool is found by its name, however the log spells it. The name that treeline makes up for a user's command is not
// a text of the log.
func TestSearchToolNames(t *testing.T) {
	t.Parallel()
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
			m := newDesk(t)
			m.write("-p/a.jsonl", fmt.Sprintf(header, "s", "")+tt.record+"\n")
			res, err := m.finder(nil).Search(t.Context(), tt.query, Options{Fields: query.FieldTool})
			if err != nil || len(res.Hits) > 0 != tt.found {
				t.Errorf("%+v, %v; want no error, len(res.Hits) > 0 == %v", res, err, tt.found)
			}
		})
	}
}
