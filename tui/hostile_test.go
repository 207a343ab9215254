package tui

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
)

// attacks are texts that would move the cursor, clear the screen, set the title, write the clipboard, or turn the text around.
// Each session has some of them.
var attacks = []string{
	"\x1b[2J\x1b[H\x1b]0;owned\a\u009b5A\x1bc", "\x1b]52;c;b3duZWQ=\a\x9b2J", "\x1b]8;;http://evil\x1b\\x\r\n\r\noverwritten\b\b\b",
	"\u202egnorw\x1bP+q544e\x1b\\\u2028next", "\x00\x7f\x1b[6n\x1b[?1049l",
}

// hostileHome has sessions whose every text is an attack.
func hostileHome(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	dir := filepath.Join(home, ".omp/agent/sessions/x")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for i, attack := range attacks {
		evil := strconv.Quote("evil " + attack)
		evil = strings.NewReplacer(`\x`, `\u00`, `\a`, `\u0007`, `\v`, `\u000b`, `\U0000`, `\u`).Replace(evil)
		log := fmt.Sprintf(`{"type":"session","version":3,"id":"%08d-%s","timestamp":"2026-03-24T10:00:00.000Z","cwd":"/home/%s","title":%s}`+"\n", i, evil[6:len(evil)-1], evil[6:len(evil)-1], evil)
		log += fmt.Sprintf(`{"type":"model_change","id":"m%07d","parentId":null,"timestamp":"2026-03-24T10:00:00.000Z","model":%s}`+"\n", i, evil)
		log += fmt.Sprintf(`{"type":"message","id":"u%07d","parentId":"m%07d","timestamp":"2026-03-24T10:00:01.000Z","message":{"role":"user","content":%s}}`+"\n", i, i, evil)
		log += fmt.Sprintf(`{"type":"message","id":"a%07d","parentId":"u%07d","timestamp":"2026-03-24T10:00:02.000Z","message":{"role":"assistant","provider":%s,"model":%s,"content":[{"type":"text","text":%s},{"type":"toolCall","id":"t1","name":%s,"arguments":{"command":%s}}],"usage":{"input":1,"output":2,"totalTokens":3,"cost":{"total":1}},"stopReason":"stop"}}`+"\n", i, i, evil, evil, evil, evil, evil)
		log += fmt.Sprintf(`{"type":"label","id":"l%07d","parentId":"a%07d","timestamp":"2026-03-24T10:00:03.000Z","targetId":"u%07d","label":%s}`+"\n", i, i, i, evil)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%02d.jsonl", i)), []byte(log), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

// TestHostile: on no screen does the terminal get a control character from a session. The screens clean their texts themselves: the canvas,
// which would also stop such characters, is not involved here.
func TestHostile(t *testing.T) {
	t.Parallel()
	s := newStage(t, hostileHome(t), nil)
	s.until(fmt.Sprintf("%d sessions", len(attacks)))
	check := func(where string) {
		t.Helper()
		for _, size := range [][2]int{{80, 24}, {120, 40}} {
			s.size(size[0], size[1])
			frame, _ := s.p.frame()
			if lines := strings.Split(frame, "\n"); len(lines) != size[1] {
				t.Errorf("%s: %d lines, not %d", where, len(lines), size[1])
			}
			for _, line := range strings.Split(frame, "\n") {
				if got := harmless(line); got != line {
					t.Errorf("%s: %q; want got == %v", where, line, line)
				}
				for _, r := range line {
					if r >= 0x202a && r <= 0x202e || r == 0x2028 {
						t.Errorf("%s: %q; want not (r >= 0x202a && r <= 0x202e), r != 0x2028", where, line)
					}
				}
			}
		}
	}
	s.until(`evil \x1b[2J`) // an attack stays visible
	check("sessions")
	for range attacks {
		s.press("d")
		s.until("trash?")
		check("confirm")
		s.press("n")
		s.until("nothing changed")
		s.press("n")
		s.until("Title of the session")
		check("rename")
		s.press("esc")
		s.press("?")
		check("keys")
		s.press("esc", "p")
		check("one project")
		s.press("p")
		s.size(120, 40)
		s.press("enter")
		s.until("─ tree ─")
		s.until("u00")
		check("session")
		s.press("q", "j")
	}
	s.press("S")
	s.types("evil")
	s.wait("hits", func() bool { return len(s.p.top().(*search).result.Hits) > 0 })
	check("search")
	s.press("esc", "esc", "U")
	s.until("tokens · $")
	for range groupings {
		check("usage")
		s.press("tab")
	}
	s.press("q", "/")
	s.take(tea.PasteMsg{Content: "pasted \x1b]52;c;QQ==\a\r\nline"})
	check("paste")
	if strings.Contains(s.out.String(), "\x1b]") {
		t.Error("the terminal got a command of the operating system kind")
	}
}

// TestLive: a session that is written while the list is shown appears, and its row is marked.
func TestLive(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	dir := filepath.Join(home, ".omp/agent/sessions/x")
	write := func(name, title string) {
		t.Helper()
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		log := fmt.Sprintf(`{"type":"session","version":3,"id":%q,"timestamp":"2026-03-24T10:00:00.000Z","cwd":"/x","title":%q}`+"\n", name, title) +
			`{"type":"message","id":"u0000001","parentId":null,"timestamp":"2026-03-24T10:00:01.000Z","message":{"role":"user","content":"x"}}` + "\n"
		if err := os.WriteFile(filepath.Join(dir, name+".jsonl"), []byte(log), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one", "The first")
	s := newStage(t, home, func(o *Options) { o.Clock = time.Now })
	s.until("The first")
	write("two", "The second")
	frame := s.until("The second")
	if !strings.Contains(frame, "now    ● omp") {
		t.Errorf("a session that was just written is not marked:\n%s", frame)
	}
	if err := os.Remove(filepath.Join(dir, "one.jsonl")); err != nil {
		t.Fatal(err)
	}
	s.wait("one session", func() bool { return !strings.Contains(s.frame(), "The first") })
}
