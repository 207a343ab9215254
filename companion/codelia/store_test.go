package codelia_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/companion/codelia"
	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

func home(t *testing.T) (dir string, s *treeline.Store) {
	t.Helper()
	dir = t.TempDir()
	return dir, open(t, dir)
}

func open(t *testing.T, dir string) *treeline.Store {
	t.Helper()
	s, err := treeline.New(treeline.Options{Home: dir, WorkDir: dir, Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Several writers append to one session at once, in both forms: every message is there once.
func TestAppendTogether(t *testing.T) {
	for place, ext := range map[string]string{"messages": ".jsonl", "state": ".json"} {
		t.Run(place, func(t *testing.T) {
			dir, _ := home(t)
			sessions := filepath.Join(dir, ".codelia", "sessions")
			path := filepath.Join(sessions, place, string(one)+ext)
			c, _, ok := codelia.At(filepath.Dir(path))
			if !ok {
				t.Fatal("no companion")
			}
			odd := sample(one)
			odd.UpdatedAt = "2026-02-03T12:00:02+00:00" // another length than ours
			mustSave(t, c, odd)
			const writers, rounds = 4, 5
			var wg sync.WaitGroup
			for who := range writers {
				wg.Go(func() {
					sess, err := open(t, dir).OpenWrite(t.Context(), path, treeline.CreateOptions{})
					if err != nil {
						t.Error(err)
						return
					}
					defer sess.Close()
					for round := range rounds {
						if _, err := sess.AppendText(t.Context(), session.RoleUser, fmt.Sprintf("<%d.%d>", who, round)); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			s := mustLoad(t, c, one)
			if want := 3 + writers*rounds; len(s.Messages) != want || *s.InvokeSeq != 4 || s.RunID == "" {
				t.Errorf("%d messages, want %d: %+v", len(s.Messages), want, s)
			}
			all := text(s.Messages)
			for who := range writers {
				for round := range rounds {
					if n := strings.Count(all, fmt.Sprintf("<%d.%d>", who, round)); n != 1 {
						t.Errorf("%d.%d is there %d times", who, round, n)
					}
				}
			}
		})
	}
}

// The agent's own sessions are listed and read through the store without a Problem, and go from one form to the other
// through the trash and back.
func TestStore(t *testing.T) {
	dir, s := home(t)
	sessions := filepath.Join(dir, ".codelia", "sessions")
	mustSave(t, codelia.New(sessions, codelia.Options{}), sample(one))
	both := sample(two)
	mustSave(t, codelia.NewDocument(sessions, codelia.Options{}), both)
	mustSave(t, codelia.New(sessions, codelia.Options{}), both)
	rows, err := s.List(t.Context(), store.ListOptions{})
	if err != nil || len(rows) != 2 {
		t.Fatalf("%+v, %v", rows, err)
	}
	before := sample(one)
	row, err := s.Find(t.Context(), string(one))
	if err != nil || row.CWD != "/p" || row.Messages != 3 || row.Dialect.Name() != "codelia-state" {
		t.Fatalf("%+v, %v", row, err)
	}
	item, err := s.Trash(t.Context(), row.Path, store.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Find(t.Context(), string(one)); err == nil {
		t.Error("it is still there")
	}
	if _, err := s.Restore(t.Context(), item.ID, store.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := mustLoad(t, codelia.New(sessions, codelia.Options{}), one); !same(got, before) {
		t.Errorf("%+v came back as %+v", before, got)
	}
}

// The corpus, through the store.
func TestCorpusStore(t *testing.T) {
	corpus := dialecttest.Corpus(t, "codelia")
	dir, s := home(t)
	if err := os.Symlink(corpus, filepath.Join(dir, ".codelia")); err != nil {
		t.Fatal(err)
	}
	before := traces(t, corpus)
	rows, err := s.List(t.Context(), store.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, r := range rows {
		if r.Dialect.Name() != "codelia-state" {
			continue
		}
		found++
		sess, err := s.Open(t.Context(), r.Path, store.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		problems, err := sess.Check(t.Context())
		if err != nil || len(problems) > 0 || sess.Tree().Len() != r.Messages {
			t.Errorf("%s: %v, %v", r.Path, problems, err)
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
