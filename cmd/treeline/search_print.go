package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/index/query"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// printHits prints hits for people: where, and below it what. Paths in home are shortened.
// In a pipe marks and dates are plain; see marked and hitWhen. On a terminal the first line is one line, and the reference
// in it is whole.
func printHits(out *output, hits []store.SearchHit, home string) {
	st := out.style
	now := time.Now()
	for i := range hits {
		h := &hits[i]
		who := hitWho(h)
		if h.Run != nil {
			who = "run · " + who
		}
		label, branch := "", ""
		if h.Label != "" {
			label = "[" + screen.OneLine(h.Label, 40) + "]"
		}
		if !h.OnPath {
			branch = "abandoned branch"
		}
		writeWords(out, "", []word{
			{text: hitRef(h, true), mark: st.yellow},
			{text: who, mark: st.cyan, drop: 5},
			{text: hitWhen(h, out.width > 0, now), mark: same, drop: 4},
			{text: label, mark: same, least: leastProject, drop: 2},
			{text: branch, mark: st.red, drop: 3},
			{text: hitPlace(h, home), mark: st.dim, least: leastTitle, drop: 1},
		})
		for _, line := range marked(st, h.Snippet, h.Marks, out.width-len(snippetIndent)) {
			fmt.Fprintln(out, snippetIndent+line)
		}
	}
}

// snippetIndent stands before what a hit says.
const snippetIndent = "    "

// hitRef is what 'show' takes.
// Shared: several sessions have this id (a copy of a file, say), so only the path names this one.
func hitRef(h *store.SearchHit, short bool) string {
	if h.Run != nil {
		id := h.Run.Header.RunID
		if short {
			id = h.Run.Short
		}
		return screen.OneLine(id, 0)
	}
	id := string(h.Session.ID)
	switch {
	case h.Shared:
		id = h.Session.Path
	case short:
		id = h.Session.Short
	}
	if h.Entry != "" {
		id += "#" + string(h.Entry)
	}
	return screen.OneLine(id, 0)
}

// hitWho says whose words they are.
func hitWho(h *store.SearchHit) string {
	switch {
	case h.Field == query.FieldThinking:
		return "thinking"
	case h.Field == query.FieldTool && h.Role == session.RoleAssistant:
		return "tool call"
	case h.Role != session.RoleNone:
		return h.Role.String()
	}
	return screen.OneLine(strings.ReplaceAll(h.Type, "_", " "), 40)
}

func hitWhen(h *store.SearchHit, relative bool, now time.Time) string {
	at, ok := h.Time.Time()
	switch {
	case !ok:
		return ""
	case relative:
		return ago(at.Local(), now)
	}
	return at.Local().Format("2006-01-02 15:04")
}

// hitPlace says what session it is.
func hitPlace(h *store.SearchHit, home string) string {
	if h.Run != nil {
		return tilde(screen.OneLine(h.Run.CWD(), 60), home)
	}
	words := []string{tilde(screen.OneLine(h.Session.CWD, 60), home), screen.OneLine(h.Session.Heading(), 60)}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " · ")
}

// marked shows what matched: in colour on a terminal, and between « and » elsewhere. The lines are of no more than width
// columns, where that is a width.
// Marks are byte offsets in the snippet. Each piece is cleaned by itself, since cleaning changes lengths.
func marked(st style, text string, marks [][2]int, width int) []string {
	var b strings.Builder
	var at int
	var cleaned [][2]int // the marks that take no columns, in what is cleaned
	for _, m := range marks {
		b.WriteString(screen.Clean(text[at:m[0]]))
		from, word := b.Len(), screen.Clean(text[m[0]:m[1]])
		if st.on {
			b.WriteString(word)
			cleaned = append(cleaned, [2]int{from, b.Len()})
		} else {
			b.WriteString("«" + word + "»")
		}
		at = m[1]
	}
	b.WriteString(screen.Clean(text[at:]))
	all := b.String()
	if width > 0 {
		width = max(width, leastTitle)
	}
	var lines []string
	at = 0
	for _, line := range screen.Wrap(all, width) {
		i := strings.Index(all[at:], line) // behind the space at which the line was broken
		if i < 0 {                         // indented, which snippets are not
			return []string{markLine(st, all, 0, len(all), cleaned)}
		}
		at += i
		lines = append(lines, markLine(st, all, at, at+len(line), cleaned))
		at += len(line)
	}
	return lines
}

// markLine colours the part of a text that is one line. A mark may begin on a line before, or go on on the next.
func markLine(st style, text string, from, to int, marks [][2]int) string {
	var b strings.Builder
	for _, m := range marks {
		first, last := max(m[0], from), min(m[1], to)
		if first >= last {
			continue
		}
		b.WriteString(text[from:first])
		b.WriteString(st.mark("1;31", text[first:last]))
		from = last
	}
	return b.String() + text[from:to]
}
