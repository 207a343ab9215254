package store

import (
	"errors"
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
	var texts []index.Text
	var signer index.Signer
	if searchTexts(c, e, raw, func(f index.Field, text string) {
		texts = append(texts, index.Text{Field: f, Text: text})
		signer.Add([]byte(text), e.Span.Offset, e.Span.End())
	}) != nil || len(texts) == 0 {
		return 0
	}
	sig := signer.Finish()[0].Sig
	for _, text := range texts {
		words := strings.Fields(text.Text)
		for i, w := range words[:min(len(words), 40)] {
			quote := func(body string) string { return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(body) + `"` }
			_, n := utf8.DecodeRuneInString(w)
			list := []string{quote(w), "*" + quote(w[n:]) + "*"}
			if i > 0 {
				list = append(list, quote(words[i-1]+" "+w))
			}
			for _, query := range list {
				q, err := index.ParseQuery(query, index.QueryOptions{})
				if err != nil {
					continue // nothing is left
				}
				if _, ok := q.Match(texts); !ok {
					continue
				}
				asked++
				if !q.May(sig) {
					t.Errorf("%s: entry %s: the signature holds back %s", path, e.ID, query)
				}
				if !q.MayRecord(raw) {
					t.Errorf("%s: entry %s: the record holds back %s", path, e.ID, query)
				}
			}
		}
	}
	return asked
}
