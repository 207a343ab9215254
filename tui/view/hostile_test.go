package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/tui/look"
)

// attacks returns texts that try to control a terminal, to hide, or to be wider than they look.
func attacks() (list []string) {
	var controls strings.Builder
	for c := rune(0); c < 0x20; c++ {
		fmt.Fprintf(&controls, "a%cb", c)
	}
	for c := rune(0x7f); c < 0xa0; c++ {
		fmt.Fprintf(&controls, "a%cb", c)
	}
	return []string{
		controls.String(),
		"\x1b]0;owned\x07 \x1b]2;owned\x1b\\ \u009d0;owned\u009c",                      // title
		"\x1b]52;c;b3duZWQ=\x07 \u009d52;c;b3duZWQ=\u009c",                             // clipboard
		"\x1b[2J\x1b[1;1H\x1b[?1049l\x1b[6n\u009b2J",                                   // cursor, screen, report
		"\x1bP$q\"p\x1b\\ \x1b_Gi=1;AAAA\x1b\\ \x1b^x\x1b\\ \x1bX\x1b\\ \u0090q\u009c", // DCS, APC, PM, SOS
		"\x1b[31mred\x1b[0m \x1b(0 \x1bc \x1b7 \x1b8 \x1b=",                            // colours, character sets, reset
		"&#27;[2J &#x1b;]0;owned&#7; &#155;2J &rlm;&#8238;",                            // character references of Markdown
		"a\u202eb\u2066c\u2069\u200f\u061c\u2028\u2029\u00ad\ufeff\U000e0041",          // direction, lines, tags
		"世界 한국어 👩‍👩‍👧‍👦 🇩🇪🇫🇷🇩 e\u0301\u0301\u200d\ufe0f ﷽ ½",
		"z" + strings.Repeat("\u0301", 3000) + "\u200b\u200c\u200d",
		"\t\ttabs\tand\r\nlines\rback\v\f\x85",
		"\xff\xfe\xc0\xaf broken",
		strings.Repeat("wide世", 200),
		strings.Repeat("x", 500),
		"`\x1b[2J` **\x1b[2J** [\x1b[2J](http://\x1b[2J) | a | b\n|--|--|\n|\x1b[2J|世\x1b|\n\n```\x1b[2J\n\x1b[2J\n```\n> \x1b[2J\n1. \x1b[2J",
	}
}

// poisoned returns a log in which each text, name and id is an attack.
func poisoned() (lines []string) {
	last := "null"
	for n, a := range attacks() {
		add := func(format string) {
			id := fmt.Sprintf("%d-%d-%s", n, len(lines), a[:min(len(a), 40)])
			record := strings.NewReplacer("HOSTILE", quote(a), "ID", quote(id), "UP", last).Replace(format)
			lines = append(lines, record)
			if !strings.Contains(format, "label") {
				last = quote(id)
			}
		}
		message := func(body string) {
			add(`{"type":"message","id":ID,"parentId":UP,"timestamp":"2026-03-02T14:00:01.000Z","message":{` + body + `}}`)
		}
		message(`"role":"user","content":[{"type":"text","text":HOSTILE},{"type":"image","data":HOSTILE,"mimeType":HOSTILE}]`)
		add(`{"type":"label","id":ID,"parentId":UP,"timestamp":HOSTILE,"targetId":UP,"label":HOSTILE}`)
		message(`"role":"assistant","content":[{"type":"thinking","thinking":HOSTILE},{"type":"text","text":HOSTILE},{"type":HOSTILE,"x":HOSTILE},` +
			`{"type":"toolCall","id":HOSTILE,"name":HOSTILE,"arguments":{HOSTILE:HOSTILE,"command":HOSTILE}},` +
			`{"type":"toolCall","id":"e","name":"edit","arguments":{"path":HOSTILE,"oldText":HOSTILE,"newText":"x"}}],"provider":HOSTILE,"model":HOSTILE,"stopReason":HOSTILE,"errorMessage":HOSTILE`)
		message(`"role":"toolResult","toolCallId":HOSTILE,"toolName":HOSTILE,"content":[{"type":"text","text":HOSTILE}],"isError":true`)
		message(`"role":"toolResult","toolCallId":"e","toolName":HOSTILE,"content":[{"type":"text","text":HOSTILE}]`)
		message(`"role":HOSTILE,"content":HOSTILE`)
		add(`{"type":"model_change","id":ID,"parentId":UP,"timestamp":"2026-03-02T14:00:01.000Z","model":HOSTILE,"role":HOSTILE}`)
		add(`{"type":"custom_message","id":ID,"parentId":UP,"timestamp":"x","customType":HOSTILE,"content":HOSTILE,"display":true}`)
		add(`{"type":"session_info","id":ID,"parentId":UP,"timestamp":"x","name":HOSTILE}`)
		add(`{"type":"title_change","id":ID,"parentId":UP,"timestamp":"x","title":HOSTILE}`)
		add(`{"type":"mode_change","id":ID,"parentId":UP,"timestamp":"x","mode":HOSTILE,"data":{HOSTILE:HOSTILE}}`)
		add(`{"type":HOSTILE,"id":ID,"parentId":UP,"timestamp":"x","anything":HOSTILE}`)
		add(`{"type":"branch_summary","id":ID,"parentId":UP,"timestamp":"x","fromId":UP,"summary":HOSTILE}`)
		if n%5 == 3 {
			add(`{"type":"compaction","id":ID,"parentId":UP,"timestamp":"x","summary":HOSTILE,"firstKeptEntryId":UP,"tokensBefore":7}`)
		}
		branch := last
		message(`"role":"user","content":HOSTILE`)
		last = branch
		lines = append(lines, "not a record \x1b[2J"+a[:1])
	}
	return lines
}

// Whatever a session contains, a frame has only the escape sequences of the palette, no character that controls a terminal, and lines of
// exactly the width.
func TestHostile(t *testing.T) {
	lines := poisoned()
	for _, c := range []struct {
		width, height int
		keys          string
	}{{120, 40, "g"}, {120, 40, "E g"}, {44, 20, "E g"}, {80, 24, "2 g"}, {80, 24, "c g"}, {80, 24, "4"}, {60, 30, "4"}, {80, 40, "tab g"}, {9, 2, "g"}} {
		t.Run(fmt.Sprintf("%dx%d %s", c.width, c.height, c.keys), func(t *testing.T) {
			sess := log(t, lines...)
			r := ride(t, sess, Options{Palette: look.Colours(true)}, c.width, c.height)
			allowed := []string{}
			for _, p := range r.v.paint {
				allowed = append(allowed, p[0], "", p[1], "")
			}
			strip := strings.NewReplacer(dropEmpty(allowed)...)
			r.press(strings.Fields(c.keys)...)
			r.v.needle = "owned"
			shown := false
			for page := 0; ; page++ {
				frame := r.v.Draw(c.width, c.height)
				checkFrame(t, strip.Replace(frame), frame, c.width, c.height)
				shown = shown || strings.Contains(frame, `\x1b`)
				left, right := r.v.Title()
				for _, title := range []string{left, right} {
					if strings.ContainsFunc(title, screen.Dangerous) {
						t.Errorf("the title is %q", title)
					}
				}
				if t.Failed() {
					t.Fatalf("page %d", page)
				}
				top, row := r.v.pane.top, r.v.tree.cur
				r.press("pgdown")
				if r.v.pane.top == top && !r.v.onTree || r.v.onTree && r.v.tree.cur == row || page > 3000 {
					if page < 3 || !shown && c.width > 20 {
						t.Errorf("%d pages only, attacks are shown: %v", page, shown)
					}
					break
				}
			}
			for _, msg := range r.asked {
				if c, ok := msg.(look.Copy); ok {
					t.Errorf("a session writes the clipboard: %q", c.Text)
				}
			}
		})
	}
}

func dropEmpty(pairs []string) (list []string) {
	for n := 0; n < len(pairs); n += 2 {
		if pairs[n] != "" {
			list = append(list, pairs[n], "")
		}
	}
	return list
}

func checkFrame(t *testing.T, stripped, frame string, width, height int) {
	t.Helper()
	lines := strings.Split(stripped, "\n")
	if len(lines) != height {
		t.Errorf("%d lines, want %d", len(lines), height)
	}
	styled := strings.Split(frame, "\n")
	for n, l := range lines {
		if at := strings.IndexFunc(l, func(r rune) bool { return screen.Dangerous(r) || r == '\t' }); at >= 0 {
			t.Errorf("line %d has %q", n, l[at:])
		}
		if w := look.Width(styled[n]); w != width {
			t.Errorf("line %d has %d columns, want %d: %q", n, w, width, styled[n])
		}
		if len(styled[n]) > 200*width {
			t.Errorf("line %d has %d bytes", n, len(styled[n]))
		}
	}
}

// A command that is shown applies to this session and entry, whatever their ids are.
func TestCommandsAreSpelled(t *testing.T) {
	const id = "x; rm -rf ~"
	r := ride(t, log(t, said(id, "", "user", "x")), Options{}, 80, 24)
	found := 0
	for _, k := range r.v.Keys() {
		if k.Command == nil || !strings.Contains(k.Command(), id) {
			continue
		}
		if found++; !strings.Contains(k.Command(), "'"+id+"'") {
			t.Errorf(`%q; want strings.Contains(k.Command(), "'"+id+"'")`, k.Command())
		}
	}
	if found < 4 {
		t.Errorf("%d commands", found)
	}
}

// What a user copies is harmless, too: it is pasted into a shell.
func TestCopyHostile(t *testing.T) {
	r := ride(t, log(t, said("a\x1b[2J", "", "user", "rm\x1b[2J\x07 x\nsecond")), Options{}, 80, 24)
	r.press("y")
	if c := answer[look.Copy](r); strings.ContainsFunc(c.Text, screen.Dangerous) {
		t.Errorf("%q; want not strings.ContainsFunc(c.Text, screen.Dangerous)", c.Text)
	}
	r.press("Y")
	if c := answer[look.Copy](r); strings.ContainsFunc(c.Text, screen.Dangerous) || !strings.HasSuffix(c.Text, "\nsecond") {
		t.Errorf(`%q; want not strings.ContainsFunc(c.Text, screen.Dangerous), strings.HasSuffix(c.Text, "\nsecond")`, c.Text)
	}
}
