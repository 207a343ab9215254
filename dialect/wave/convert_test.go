package wave_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/wave"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/store"
)

func TestMain(m *testing.M) { os.Exit(soaktest.Main(m)) }

// TestConvertedPassesCheck: whatever is wrong with a session of another agent, its copy in Wave's format breaks no rule.
func TestConvertedPassesCheck(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../*/testdata*/*/*.jsonl")
	if err != nil || len(paths) < 100 {
		t.Fatalf("%d fixtures, %v", len(paths), err)
	}
	b := newBench(t)
	every := soaktest.Every()
	for i, path := range paths {
		if strings.Contains(path, "refused") {
			continue
		}
		for k, d := range []*wave.Dialect{wave.Wave, wave.Doc} {
			if !every && i%2 != k {
				continue // the next fixture gets the other value
			}
			kind := filepath.Base(filepath.Dir(path))
			if d == wave.Wave && (kind == "wave" || kind == "wave-doc") {
				continue // outside of Wave's folder it is already read as that value
			}
			s, _, err := b.Convert(t.Context(), path, treeline.ConvertOptions{To: d, Dir: filepath.Join(b.home, "out", d.Name(), kind, filepath.Base(path))})
			if errors.Is(err, dialect.ErrUnsupported) || errors.Is(err, store.ErrNotSession) {
				continue // the session is empty
			}
			if err != nil {
				t.Errorf("%s to %s: %v", path, d.Name(), err)
				continue
			}
			problems, err := b.Check(t.Context(), s)
			if b.must(err); len(problems) > 0 {
				t.Errorf("%d. %s to %s: %v", i, path, d.Name(), problems[0])
			}
			b.must(s.Close())
		}
	}
}

// TestForkPassesCheck: the messages of a fork are older than its id.
func TestForkPassesCheck(t *testing.T) {
	for _, d := range []*wave.Dialect{wave.Wave, wave.Doc} {
		b := newBench(t)
		s, err := b.Create(t.Context(), store.CreateOptions{Dialect: d})
		b.must(err)
		b.say(s, "user", "hello", `,"timestamp":"2026-01-01T00:00:00.000Z"`)
		e, _ := s.Tree().Leaf()
		if at, err := e.Time(); err != nil || at.Text != `"2026-01-01T00:00:00.000Z"` {
			t.Errorf("%s: the message is of %s, %v", d.Name(), at.Text, err)
		}
		b.must(s.Fork(t.Context()))
		problems, err := b.Check(t.Context(), s)
		if b.must(err); len(problems) > 0 {
			t.Errorf("%s: %v; want len(problems) <= 0", d.Name(), problems)
		}
		b.must(s.Close())
	}
}

// TestBeganLater: an id whose time is later than everything in the session is reported.
func TestBeganLater(t *testing.T) {
	b := newBench(t)
	folder := "projects/" + wave.Doc.Layout().Dir(dialectEnv(b), b.garden) + "/"
	path := b.put(folder+id(t, time.Now().Add(time.Hour))+".jsonl", said("2026-02-01T00:00:00.000Z", "x"))
	s, err := b.Open(t.Context(), path, store.OpenOptions{})
	b.must(err)
	problems, err := b.Check(t.Context(), s)
	if b.must(err); len(problems) != 1 || !strings.Contains(problems[0].Message, "last active before that") {
		t.Errorf(`%v; want len(problems) == 1, strings.Contains(problems[0].Message, "last active before that")`, problems)
	}
	b.must(s.Close())
}
