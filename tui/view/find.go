package view

import (
	"context"
	"errors"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/tui/look"
	"github.com/treeline-dev/treeline/wire"
)

// ask asks for the text to find.
func (v *viewer) ask() tea.Cmd {
	return look.Send(look.Ask{Question: "Find in this session", Value: v.needle, Then: func(text string) tea.Cmd {
		v.needle = strings.ToLower(strings.TrimSpace(text))
		return v.find(1, true)
	}})
}

// showMatch shows the line with the needle in the block that was found. If the line is folded, the block is unfolded.
func (v *viewer) showMatch() tea.Cmd {
	n := v.pane.find(string(v.want), v.want)
	v.want = ""
	if n < 0 || v.needle == "" {
		return nil
	}
	v.pane.cur = n
	at, ok := v.lineWith(n)
	if !ok && !v.isOpen(v.pane.items[n].key) {
		v.opened[v.pane.items[n].key] = true
		if cmd := v.layOut(n); cmd != nil {
			v.want = v.pane.items[n].id // shown once the whole text is loaded
			return cmd
		}
		at, ok = v.lineWith(n)
	}
	if !ok {
		v.pane.top = v.pane.begin(n)
		v.pane.settle()
		return nil
	}
	v.pane.top = at
	v.pane.scroll(-min(v.pane.height/3, 5)) // with some lines before it
	v.pane.settle()
	return nil
}

// lineWith returns the first line of an item that contains the needle.
func (v *viewer) lineWith(n int) (spot, bool) {
	for k, p := range v.pane.items[n].parts {
		if p.source != "" && !contains(p.source, v.needle) { // no need to lay it out
			continue
		}
		for l, line := range p.at(v.pane.width) {
			if contains(line.text(), v.needle) {
				return spot{n, k, l}, true
			}
		}
	}
	return spot{}, false
}

// found is the result of a search in the session.
type found struct {
	entry session.EntryID
	err   error
}

// find searches for the needle from the cursor on. self includes the entry under the cursor.
func (v *viewer) find(step int, self bool) tea.Cmd {
	if v.needle == "" {
		return look.Send(look.Status{Text: "/ finds text, n goes to the next match"})
	}
	v.stopFind()
	ctx, cancel := context.WithCancel(v.ctx)
	v.stopFind = cancel
	src, needle, from := v.src, v.needle, v.here()
	if it := v.current(); it != nil && it.shows(v.hit) { // the hit may be one of several entries of the block
		from = v.hit
	}
	v.searching++
	return func() tea.Msg {
		entry, err := src.search(ctx, needle, from, step, self)
		return v.to(found{entry, err})
	}
}

func (v *viewer) found(m found) tea.Cmd {
	v.searching--
	if m.err != nil {
		return v.failed(m.err)
	}
	v.want, v.hit = m.entry, m.entry
	if v.mode != everything {
		v.enterMode(everything)
	}
	return v.show(m.entry)
}

// errNowhere means that the session does not contain a text.
var errNowhere = errors.New("not found in this session")

// search searches for a text, in lower case, starting at an entry, in the order of the log; step is 1 or -1. At the end it wraps around.
func (s *source) search(ctx context.Context, needle string, from session.EntryID, step int, self bool) (session.EntryID, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	t := s.sess.Tree()
	n := t.Len()
	at := index(t, from)
	if at < 0 && step < 0 {
		at = n
	}
	if self {
		at -= step
	}
	r := wire.NewReader(ctx, s.sess)
	for range n {
		at = ((at+step)%n + n) % n
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		e := t.At(at)
		v, err := r.Look(e)
		if err == nil && (saysParts(v.Parts, needle) || contains(summary(v.Body), needle)) {
			return e.ID, nil
		}
	}
	return "", fmt.Errorf("%q: %w", needle, errNowhere)
}

// summary returns the text of a body that has no parts.
func summary(b session.Body) string {
	switch b := b.(type) {
	case session.Compaction:
		return b.Summary
	case session.BranchSummary:
		return b.Summary
	}
	return ""
}

// saysParts reports whether parts contain a text, regardless of case.
func saysParts(parts []session.Part, needle string) bool {
	for _, p := range parts {
		switch p := p.(type) {
		case session.Text:
			if contains(p.Text, needle) {
				return true
			}
		case session.Thinking:
			if contains(p.Text, needle) {
				return true
			}
		case session.ToolCall:
			if contains(p.Name, needle) || contains(string(p.Arguments), needle) {
				return true
			}
		case session.ToolResult:
			if saysParts(p.Parts, needle) {
				return true
			}
		case session.OpaquePart:
			if contains(string(p.JSON), needle) {
				return true
			}
		}
	}
	return false
}

func contains(text, needle string) bool { return strings.Contains(strings.ToLower(text), needle) }
