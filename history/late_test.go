package history

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/place"
)

// typing adds a prompt when the database is about to be moved aside.
type typing struct {
	durable.OS
	typed func()
}

func (f *typing) Link(from, to string) error {
	if f.typed != nil {
		f.typed()
		f.typed = nil
	}
	return f.OS.Link(from, to)
}

// TestRebuildLate: a prompt that is added while a history is rebuilt is in the new one, too.
func TestRebuildLate(t *testing.T) {
	path := filled(t, 3)
	add := func() {
		h := open(t, path)
		if err := h.Add("typed meanwhile", ""); err != nil {
			t.Error(err)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
	report, err := rebuild(t.Context(), Options{}, files{db: path, lock: path + ".lock", own: true, fs: &typing{typed: add}}, true)
	if err != nil || report.Saved != 4 {
		t.Fatalf("saved %d prompts, %v; want 4", report.Saved, err)
	}
	h := open(t, path)
	list, err := h.Search(t.Context(), Query{Limit: MaxLimit})
	if err != nil || len(list) != 4 {
		t.Errorf("the new history has %v, %v", list, err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

// TestLongLines: a line of an agent's file that is too long for a prompt is skipped and counted, and does not fill the memory.
func TestLongLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.jsonl")
	long := strings.Repeat("x", 3*longestLine)
	if err := os.WriteFile(path, []byte("one\n"+long+"\ntwo\n"+long), 0o600); err != nil {
		t.Fatal(err)
	}
	var i importing
	most := 0
	err := i.readHistory(t.Context(), place.History{Path: path, Read: func(line []byte) (dialect.Typed, bool) {
		most = max(most, cap(line))
		return dialect.Typed{Text: string(bytes.Clone(line))}, len(line) > 0
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(i.prompts) != 2 || i.prompts[0].Text != "one" || i.prompts[1].Text != "two" || i.report.Prompts != 4 || i.report.TooLong != 2 {
		t.Errorf("%d prompts of %d, %d too long", len(i.prompts), i.report.Prompts, i.report.TooLong)
	}
	if most > 2*longestLine {
		t.Errorf("%d bytes of a line were in memory", most)
	}
}
