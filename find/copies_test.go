package find

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/difftest"
)

// claudeLines gives a log of Claude Code: a message a minute. An answer has two lines, which both tell that it used ten tokens.
func claudeLines(session string, minutes ...int) string {
	var b strings.Builder
	for _, n := range minutes {
		id := fmt.Sprintf("00000000-0000-4000-8000-%012d", n)
		tail := fmt.Sprintf(`"timestamp":"2026-03-02T10:%02d:00.000Z","cwd":"/p","sessionId":%q}`+"\n", n, session)
		if n%2 == 0 {
			fmt.Fprintf(&b, `{"parentUuid":null,"type":"user","message":{"role":"user","content":"prompt %d"},"uuid":%q,%s`, n, id, tail)
			continue
		}
		for _, half := range []string{id, "1" + id[1:]} {
			fmt.Fprintf(&b, `{"parentUuid":null,"type":"assistant","message":{"id":"msg_%d","role":"assistant","model":"m","content":[{"type":"text","text":"answer"}],`+
				`"usage":{"input_tokens":4,"output_tokens":6}},"uuid":%q,%s`, n, half, tail)
		}
	}
	return b.String()
}

// TestCopies: logs that begin with the same messages and do not name each other are forks. What they share counts once, whichever
// is removed, and however they grow.
func TestCopies(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	dir := d.At(".claude/projects/-p")
	path := func(id string) string { return filepath.Join(dir, id+".jsonl") }
	put := func(id string, minutes ...int) {
		d.Must(os.MkdirAll(dir, 0o700))
		d.Must(os.WriteFile(path(id), []byte(claudeLines(id, minutes...)), 0o600))
	}
	cache := t.TempDir()
	look := func(what string, messages int, want map[string]string) {
		t.Helper()
		rows, err := d.kept(cache).Catalogue(t.Context(), RefreshOptions{})
		d.Must(err)
		got, sum, tokens := map[string]string{}, 0, int64(0)
		for i := range rows {
			got[string(rows[i].ID)] = strings.TrimSuffix(filepath.Base(rows[i].Parent), ".jsonl")
			for _, s := range rows[i].Known.Spells.List() {
				if !s.Copied {
					sum, tokens = sum+s.Messages, tokens+s.Tokens.Total
				}
			}
		}
		for id, parent := range got {
			if parent == "." {
				got[id] = ""
			}
		}
		if diff := difftest.Diff(want, got); diff != "" {
			t.Errorf("%s: parents (-want +got):\n%s", what, diff)
		}
		if sum != messages || tokens != int64(messages/2*10) {
			t.Errorf("%s: %d messages and %d tokens of their own, want %d and %d", what, sum, tokens, messages, messages/2*10)
		}
	}
	put("s", 0, 1, 2, 3)
	look("one", 4, map[string]string{"s": ""})
	put("f", 0, 1, 2, 3, 4, 5)
	put("other", 20, 21)
	look("a fork", 8, map[string]string{"s": "", "f": "s", "other": ""})
	put("g", 0, 1, 2, 3, 4, 5, 6, 7)
	put("h", 0, 1, 8, 9)
	look("forks of forks", 12, map[string]string{"s": "", "f": "s", "g": "f", "h": "s", "other": ""})
	put("g", 0, 1, 2, 3, 4, 5, 6, 7, 10, 11)
	look("grown", 14, map[string]string{"s": "", "f": "s", "g": "f", "h": "s", "other": ""})
	d.Must(os.Remove(path("s")))
	look("without the first", 14, map[string]string{"f": "", "g": "f", "h": "f", "other": ""})
	d.Must(os.Remove(path("f")))
	d.Must(os.Remove(path("h")))
	look("one is left", 12, map[string]string{"g": "", "other": ""})
}
