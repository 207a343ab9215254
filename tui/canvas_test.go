package tui

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/treeline-dev/treeline/tui/look"
)

// TestHarmless: colours and styles pass, but nothing else that a terminal interprets.
func TestHarmless(t *testing.T) {
	for in, want := range map[string]string{
		"plain ─ 日本":             "plain ─ 日本",
		"\x1b[1;36mbold\x1b[m":   "\x1b[1;36mbold\x1b[m",
		"\x1b[38:2:1:2:3mred":    "\x1b[38:2:1:2:3mred",
		"\x1b[2Jcleared":         "\ufffd[2Jcleared",
		"\x1b]0;title\a":         "\ufffd]0;title\ufffd",
		"\x1b]52;c;QQ==\x1b\\":   "\ufffd]52;c;QQ==\ufffd\\",
		"\u009b2J":               "\ufffd2J",
		"a\rb\bc":                "a\ufffdb\ufffdc",
		"\x1b[31":                "\ufffd[31",
		"\x1b[?25lhidden":        "\ufffd[?25lhidden",
		"\x9b2Jraw \x9d0;t\x9c":  "\ufffd2Jraw \ufffd0;t\ufffd", // control characters of a terminal without UTF-8
		"\x1b[\x1b[31mx\x1b[0;m": "\ufffd[\x1b[31mx\x1b[0;m",
	} {
		if got := harmless(in); got != want {
			t.Errorf("%q becomes %q, not %q", in, got, want)
		}
	}
}

// TestCanvas: only lines that changed are drawn, and the terminal is restored once.
func TestCanvas(t *testing.T) {
	var out bytes.Buffer
	c := &canvas{w: &out}
	c.draw("too early", nil)
	if out.Len() > 0 {
		t.Error("something is drawn before the screen is entered")
	}
	c.enter()
	c.draw("one\ntwo\nthree", nil)
	out.Reset()
	c.draw("one\n2\nthree", &cursor{3, 1})
	if got := out.String(); strings.Contains(got, "one") || strings.Contains(got, "three") || !strings.Contains(got, "\x1b[2H\x1b[0m\x1b[2K2") || !strings.HasSuffix(got, "\x1b[2;4H\x1b[?25h") {
		t.Errorf("drawn: %q", got)
	}
	out.Reset()
	c.leave()
	c.leave()
	c.draw("too late", nil)
	c.clipboard("too late")
	if got := out.String(); got != leaveScreen {
		t.Errorf("at the end: %q", got)
	}
}

// FuzzHarmless: whatever a line holds, the terminal gets no control character outside a sequence that sets a style.
func FuzzHarmless(f *testing.F) {
	f.Add("\x1b[31mred\x1b[0m \x1b]0;x\a \u009b1m \x1b[1")
	f.Fuzz(func(t *testing.T, s string) {
		got := harmless(s)
		for i := 0; i < len(got); {
			if n := styleLen(got[i:]); n > 0 {
				i += n
				continue
			}
			if c := got[i]; !utf8.ValidString(got) || c < 0x20 || c == 0x7f || c == 0xc2 && i+1 < len(got) && got[i+1] >= 0x80 && got[i+1] < 0xa0 {
				t.Fatalf("%q becomes %q", s, got)
			}
			i++
		}
	})
}

// broken is a screen that panics.
type broken struct{ look.Screen }

func (broken) Update(tea.Msg) (look.Screen, tea.Cmd) { panic("broken") }

// failing is a screen whose command panics.
type failing struct{ look.Screen }

func (f failing) Update(tea.Msg) (look.Screen, tea.Cmd) {
	return f, func() tea.Msg { panic("broken") }
}

// TestPanic: the terminal is restored before a panic continues, even a panic of a command.
func TestPanic(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(*stage){
		"screen": func(s *stage) { s.take(tea.FocusMsg{}) },
		"lone command": func(s *stage) {
			s.p.stack[0] = failing{s.p.stack[0]}
			_, cmd := s.p.Update(tea.FocusMsg{})
			cmd()
		},
		"command": func(s *stage) { s.p.guarded(nil, tea.BatchMsg{func() tea.Msg { panic("broken") }}).(tea.BatchMsg)[0]() },
	} {
		s := onDemo(t, nil)
		first := s.p.stack[0]
		s.p.stack[0] = broken{first}
		s.p.drawn = s.p.drawn.Add(-frameTime) // draw a frame at once, so that there is no other command
		func() {
			defer func() {
				if r := recover(); r != "broken" {
					t.Errorf("%s: recovered %v", name, r)
				}
			}()
			fail(s)
		}()
		s.p.stack[0] = first
		if !strings.HasSuffix(s.out.String(), leaveScreen) {
			t.Errorf("%s: the terminal is not given back", name)
		}
	}
}

// TestNoColours: without colours a frame has bold and faint text only, and says the same.
func TestNoColours(t *testing.T) {
	t.Parallel()
	s := onDemo(t, nil)
	with := s.frame()
	s.p.desk.palette = look.Colours(false)
	styled, _ := s.p.frame()
	if found := regexp.MustCompile(`\x1b\[[0-9;]*[34][0-9][0-9;]*m`).FindString(styled); found != "" {
		t.Errorf("a colour: %q", found)
	}
	if s.frame() != with {
		t.Error("the text depends on colours")
	}
}
