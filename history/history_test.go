package history_test

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

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/history"
	"github.com/treeline-dev/treeline/internal/gen"
)

// desk makes a new machine with sessions of omp.
func desk(t *testing.T, sessions int) (home string, opt history.Options) {
	t.Helper()
	home = t.TempDir()
	for i := range sessions {
		dir := filepath.Join(home, ".omp", "agent", "sessions", fmt.Sprintf("-p%d", i))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		log := fmt.Appendf(nil, `{"type":"session","version":3,"id":"s%d","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p%d"}`+"\n", i, i)
		for j, text := range []string{"the same everywhere", fmt.Sprintf("only in %d", i)} {
			log = fmt.Appendf(log, `{"type":"message","id":"e%d","parentId":null,"timestamp":"2026-01-01T00:00:%02d.000Z","message":{"role":"user","content":%q}}`+"\n", j, 2*i+j, text)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("2026_s%d.jsonl", i)), log, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	none := func(string) string { return "" }
	st, err := treeline.New(treeline.Options{Home: home, WorkDir: home, Getenv: none, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	return home, history.Options{State: treeline.StateDir(home, none), Cache: treeline.CacheDir(home, none), Sessions: st}
}

func find(t *testing.T, opt history.Options, words string) []history.Prompt {
	t.Helper()
	list, err := history.Search(t.Context(), opt, history.Query{Text: words, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestImportInterrupted: what was read until then is kept, and the next import continues from there.
func TestImportInterrupted(t *testing.T) {
	t.Parallel()
	_, opt := desk(t, 10)
	ctx, cancel := context.WithCancel(t.Context())
	opt.Progress = func(done, total int) {
		if total != 10 {
			t.Errorf("of %d", total)
		}
		if done == 4 {
			cancel()
		}
	}
	report, err := history.Import(ctx, opt)
	if !errors.Is(err, context.Canceled) || report.Sessions != 4 || report.Added != 5 {
		t.Fatalf("%+v, %v; want the error context.Canceled, report.Sessions == 4, report.Added == 5", report, err)
	}
	if list := find(t, opt, "only"); len(list) != 4 {
		t.Errorf("%+v; want len(list) == 4", list)
	}
	opt.Progress = nil
	report, err = history.Import(t.Context(), opt)
	if err != nil || report.Sessions != 6 || report.Unchanged != 4 || report.Added != 6 || report.Renewed != 1 {
		t.Errorf("%+v, %v; want no error, report.Sessions == 6, report.Unchanged == 4, report.Added == 6, report.Renewed == 1", report, err)
	}
	if list := find(t, opt, "same"); len(list) != 1 || list[0].CWD != "/p9" || list[0].At.UTC() != time.Date(2026, 1, 1, 0, 0, 18, 0, time.UTC) {
		t.Errorf(`%+v; want len(list) == 1, list[0].CWD == "/p9", list[0].At.UTC() == time.Date(2026, 1, 1, 0, 0, 18, 0, time.UTC)`, list)
	}
	places, err := history.OpenPlaces(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer places.Close()
	if list, err := places.Of(t.Context(), "the same everywhere", 100); err != nil || len(list) != 10 || list[0].Session != "s9" {
		t.Errorf(`%+v, %v; want no error, len(list) == 10, list[0].Session == "s9"`, list, err)
	}
}

// TestImportForgets: a session that is gone is no longer a place; the prompts that were typed in it stay.
func TestImportForgets(t *testing.T) {
	t.Parallel()
	home, opt := desk(t, 2)
	if _, err := history.Import(t.Context(), opt); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(home, ".omp", "agent", "sessions", "-p1")); err != nil {
		t.Fatal(err)
	}
	if report, err := history.Import(t.Context(), opt); err != nil || report.Unchanged != 1 || report.Sessions != 0 {
		t.Errorf("%+v, %v; want no error, report.Unchanged == 1, report.Sessions == 0", report, err)
	}
	places, err := history.OpenPlaces(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer places.Close()
	for prompt, n := range map[string]int{"only in 0": 1, "only in 1": 0, "the same everywhere": 1} {
		if list, err := places.Of(t.Context(), prompt, 9); err != nil || len(list) != n {
			t.Errorf("%s: %+v, %v; want no error, len(list) == %v", prompt, list, err, n)
		}
	}
	if list := find(t, opt, "only"); len(list) != 2 {
		t.Errorf("%+v; want len(list) == 2", list)
	}
}

// TestPlacesCollectedAnew: the cache may be deleted or damaged at any time, and the answers stay the same. That adds nothing to the
// history, and the next import still adds what is new.
func TestPlacesCollectedAnew(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(cache string) error{
		"missing": os.RemoveAll,
		"empty":   func(cache string) error { return os.WriteFile(filepath.Join(cache, "history-places.db"), nil, 0o600) },
		"garbage": func(cache string) error {
			return os.WriteFile(filepath.Join(cache, "history-places.db"), bytes.Repeat([]byte("garbage "), 100), 0o600)
		},
		"not a folder": func(cache string) error { return errors.Join(os.RemoveAll(cache), os.WriteFile(cache, nil, 0o600)) },
	} {
		t.Run(name, func(t *testing.T) {
			home, opt := desk(t, 3)
			opt.Cache = filepath.Join(home, "cache")
			var notices []string
			opt.Notice = func(text string) { notices = append(notices, text) }
			uses := func(prompt string) int {
				t.Helper()
				places, err := history.OpenPlaces(t.Context(), opt)
				if err != nil {
					t.Fatal(err)
				}
				defer places.Close()
				list, err := places.Of(t.Context(), prompt, 9)
				if err != nil {
					t.Fatal(err)
				}
				return len(list)
			}
			if n := uses("the same everywhere"); n != 0 {
				t.Errorf("without a history: %d", n)
			}
			if _, err := history.Import(t.Context(), opt); err != nil {
				t.Fatal(err)
			}
			first := filepath.Join(home, ".omp", "agent", "sessions", "-p0", "2026_s0.jsonl")
			log, err := os.ReadFile(first)
			if err != nil {
				t.Fatal(err)
			}
			log = append(log, `{"type":"message","id":"e9","parentId":null,"timestamp":"2026-01-02T00:00:00.000Z","message":{"role":"user","content":"since then"}}`+"\n"...)
			if err := errors.Join(os.WriteFile(first, log, 0o600), spoil(opt.Cache)); err != nil {
				t.Fatal(err)
			}

			// If it is cancelled in the middle, nothing is kept: an incomplete collection would pass for a complete one.
			ctx, cancel := context.WithCancel(t.Context())
			opt.Progress = func(int, int) { cancel() }
			if _, err := history.OpenPlaces(ctx, opt); !errors.Is(err, context.Canceled) {
				t.Errorf("interrupted: %v", err)
			}
			read := 0
			opt.Progress = func(int, int) { read++ }
			for range 2 {
				if n := uses("the same everywhere"); n != 3 {
					t.Errorf("%d uses", n)
				}
			}
			kept, said := name != "not a folder", name == "garbage" || name == "not a folder"
			if kept && read != 3 || !kept && read != 6 {
				t.Errorf("%d sessions were read", read)
			}
			if (len(notices) > 0) != said {
				t.Errorf("notices: %q", notices)
			}
			if list := find(t, opt, "since"); len(list) != 0 {
				t.Errorf("added: %+v", list)
			}
			if report, err := history.Import(t.Context(), opt); err != nil || report.Added != 1 {
				t.Errorf("%+v, %v; want no error, report.Added == 1", report, err)
			}
		})
	}
}

// TestOwnHistoryMendsItself: damage is repaired that shows at once, in a search and in a write. Prompts that were added by hand are saved
// if they can be read, and nothing is deleted.
func TestOwnHistoryMendsItself(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(t *testing.T, path string)
		saved bool
	}{
		"no database": {func(t *testing.T, path string) {
			if err := os.WriteFile(path, bytes.Repeat([]byte("no database "), 1000), 0o600); err != nil {
				t.Fatal(err)
			}
		}, false},
		"text index": {spoilTextIndex, true},
	} {
		for _, way := range []string{"open", "search", "add", "import"} {
			t.Run(name+", "+way, func(t *testing.T) {
				home, opt := desk(t, 3)
				var told []string
				opt.Notice = func(text string) { told = append(told, text) }
				if _, err := history.Import(t.Context(), opt); err != nil {
					t.Fatal(err)
				}
				if err := history.Add(t.Context(), opt, "typed by hand", ""); err != nil {
					t.Fatal(err)
				}
				db := filepath.Join(home, ".local", "state", "treeline", "history.db")
				c.spoil(t, db)
				err := touch(t.Context(), opt, way)
				if name == "text index" && (way == "open" || way == "import") {
					// The text index was not used: there was nothing new to write.
					_, err = history.Rebuild(t.Context(), opt)
				}
				if err != nil {
					t.Fatal(err)
				}
				if got := find(t, opt, "only"); len(got) != 3 {
					t.Errorf("%+v; want len(got) == 3", got)
				}
				if got := find(t, opt, "hand"); (len(got) == 1) != c.saved {
					t.Errorf("%+v; want (len(got) == 1) == %v", got, c.saved)
				}
				aside, err := filepath.Glob(db + ".corrupt-*")
				if err != nil || len(aside) != 1 || len(told) != 1 || !strings.Contains(told[0], aside[0]) {
					t.Errorf("aside %q, told %q, %v", aside, told, err)
				}
			})
		}
	}
}

// touch uses the history in one of several ways.
func touch(ctx context.Context, opt history.Options, way string) error {
	switch way {
	case "open":
		h, err := history.Open(ctx, opt)
		if err != nil {
			return err
		}
		return h.Close()
	case "search":
		_, err := history.Search(ctx, opt, history.Query{Text: "only", Limit: 10})
		return err
	case "add":
		return history.Add(ctx, opt, "once more", "")
	}
	_, err := history.Import(ctx, opt)
	return err
}

// spoilTextIndex overwrites the pages of the text index that hold its words.
func spoilTextIndex(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// A word is without the rest of its prompt only in its entry in the index.
	at := bytes.Index(b, []byte("everywhere\x01"))
	for i := 0; at < 0 && i < 256; i++ {
		at = bytes.Index(b, append([]byte("0everywhere"), byte(i)))
	}
	if at < 0 {
		t.Fatal("no word of the index found")
	}
	copy(b[at-40:], bytes.Repeat([]byte{0xff}, 60))
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestSoundHistoryStays: neither a cancelled repair nor one that finds the history sound moves it.
func TestSoundHistoryStays(t *testing.T) {
	t.Parallel()
	home, opt := desk(t, 1)
	if _, err := history.Import(t.Context(), opt); err != nil {
		t.Fatal(err)
	}
	db := filepath.Join(home, ".local", "state", "treeline", "history.db")
	spoilTextIndex(t, db)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, way := range []string{"search", "add", "import"} {
		if err := touch(ctx, opt, way); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v; want the error context.Canceled", way, err)
		}
	}
	if aside, err := filepath.Glob(db + ".corrupt-*"); err != nil || len(aside) > 0 {
		t.Errorf("%q, %v; want no error, len(aside) <= 0", aside, err)
	}
	if got := find(t, opt, "only"); len(got) != 1 {
		t.Errorf("%+v; want len(got) == 1", got)
	}
}

// TestAgentsHistory: an agent's history is never repaired without a request; on request it is rebuilt from the agent's own sessions.
func TestAgentsHistory(t *testing.T) {
	t.Parallel()
	home, opt := desk(t, 2)
	opt.DB = filepath.Join(home, ".omp", "agent", "history.db")
	ro := opt
	ro.ReadOnly = true
	if _, err := history.Open(t.Context(), ro); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("none: %v", err)
	}
	garbage := bytes.Repeat([]byte("no database "), 1000)
	if err := os.WriteFile(opt.DB, garbage, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, way := range []string{"open", "search", "add", "import"} {
		if err := touch(t.Context(), opt, way); !errors.Is(err, history.ErrDamaged) {
			t.Errorf("%s: %v; want the error history.ErrDamaged", way, err)
		}
	}
	if b, err := os.ReadFile(opt.DB); err != nil || !bytes.Equal(b, garbage) {
		t.Errorf("it was changed: %v", err)
	}
	// Sessions of another agent are not imported.
	other := filepath.Join(home, ".pi", "agent", "sessions", "--x--")
	if err := os.MkdirAll(other, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(other, "1_x.jsonl"), gen.Session(gen.Options{Seed: 3, Bytes: 50_000}), 0o600); err != nil {
		t.Fatal(err)
	}
	report, err := history.Rebuild(t.Context(), opt)
	if err != nil || report.Sessions != 2 || report.Added != 3 {
		t.Errorf("%+v, %v; want no error, report.Sessions == 2, report.Added == 3", report, err)
	}
	if b, err := os.ReadFile(report.Aside); err != nil || !bytes.Equal(b, garbage) {
		t.Errorf("moved aside: %v", err)
	}
	if got := find(t, opt, "only"); len(got) != 2 {
		t.Errorf("%+v; want len(got) == 2", got)
	}
}
