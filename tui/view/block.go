package view

import (
	"strings"

	"github.com/treeline-dev/treeline/internal/markup"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/transcript"
	"github.com/treeline-dev/treeline/tui/look"
	"github.com/treeline-dev/treeline/wire"
)

// blockItem makes the item of a block. before is the block before it, or nil for the first one.
func blockItem(b, before *transcript.Block, s setting) *item {
	m := &maker{setting: s}
	if b.Fork != nil && b.Fork.Count > 1 {
		m.add(func(w int) []line {
			if before == nil {
				return []line{forkLine(b.Fork, w)}
			}
			return []line{{}, forkLine(b.Fork, w)}
		})
	}
	switch b.Kind {
	case transcript.Compaction, transcript.Summary:
		m.compacted(b, before)
	case transcript.Note:
		m.note(b, before)
	default:
		m.heading(b, before)
		m.pieces(b)
	}
	m.endings(b)
	return &item{key: string(b.Place), id: b.ID, also: b.Also, block: b, fork: b.Fork, parts: m.parts}
}

// heading shows the speaker, the time, and the usage.
func (m *maker) heading(b, before *transcript.Block) {
	again := before != nil && b.Follows(before) && b.Label == "" && m.mode != model
	m.add(func(w int) []line {
		if again {
			return []line{{}}
		}
		who := assistant
		if b.Role == session.RoleUser && !b.Meta {
			who = user
		} else if b.Role != session.RoleAssistant {
			who = strong
		}
		left := []run{{look.Line(b.Who(m.isTask), w), who}}
		word := func(s string, r role) {
			if s != "" {
				left = append(left, run{" · ", faint}, run{look.Line(s, w), r})
			}
		}
		if b.Model != m.last.model {
			word(b.Model, faint)
		}
		word(m.clock(b.Time, m.last.time), faint)
		switch u := b.Usage; {
		case m.mode == model:
			word("about "+wire.Short(b.Estimate)+" tokens", faint)
		case max(u.Total, u.Input+u.Output) > 0:
			word(wire.Short(max(u.Total, u.Input+u.Output+u.CacheRead+u.CacheWrite)), faint)
		}
		if b.Unseen && (before == nil || !before.Unseen) {
			word("no longer seen by the model", faint)
		}
		if b.Hidden {
			word("hidden", faint)
		}
		if b.Label != "" {
			left = append(left, run{"  ⚑ " + look.Line(b.Label, w), label})
		}
		head := ends(left, []run{{shortID(b.ID), faint}}, w)
		if before == nil && b.Fork == nil {
			return []line{head}
		}
		return []line{{}, head}
	})
}

// shortID returns the end of an id, which commands accept as its name: ids that begin with a time differ at their ends.
func shortID(id session.EntryID) string {
	s := look.Line(string(id), 60)
	if len(s) > 8 && isASCII(s) {
		return s[len(s)-8:]
	}
	return s
}

// pieces adds the content of a block.
func (m *maker) pieces(b *transcript.Block) {
	if text := b.Preamble(); text != "" && m.mode != model && !m.open {
		m.gap()
		m.folded(text, "", faint)
		return
	}
	for _, p := range b.Pieces {
		switch p := p.(type) {
		case transcript.Text:
			m.text(p, plain)
		case transcript.Thinking:
			m.thinking(p)
		case transcript.Image:
			m.gap()
			m.image(p, run{})
		case transcript.Tools:
			m.gap()
			for _, c := range p.Calls {
				m.tool(c)
			}
		case transcript.Compacted:
			m.text(p.Summary, plain)
		case transcript.Raw:
			m.gap()
			m.raw(p, run{})
		}
	}
}

// folded shows the beginning of a text on one line, which a click unfolds.
func (m *maker) folded(text, word string, r role) {
	m.add(func(w int) []line {
		begin := strings.TrimSpace(word + " " + markup.Words(text, 1000))
		l := newLine(run{"▸ ", faint}, run{look.Line(begin, w-2), r})
		l.click = fold{}
		return []line{l}
	})
}

// text adds a text in Markdown, in parts that are laid out when they are shown.
func (m *maker) text(t transcript.Text, around role) {
	m.gap()
	for n, piece := range markup.Split(t.Text, pieceBytes) {
		m.addText(piece, func(w int) []line {
			lines := prose(piece, w, around)
			if n > 0 && strings.HasPrefix(piece, "\n") {
				lines = append([]line{{}}, lines...)
			}
			return lines
		})
	}
	m.cut(t.Cut, run{})
}

// cut shows how much of a text is omitted.
func (m *maker) cut(bytes int, before run) {
	if bytes == 0 {
		return
	}
	m.add(func(int) []line {
		l := newLine(before, run{screen.Ellipsis + " " + wire.Size(int64(bytes)) + " more", faint})
		l.click = fold{}
		return []line{l}
	})
}

func (m *maker) thinking(t transcript.Thinking) {
	m.gap()
	text := strings.TrimSpace(t.Text)
	switch {
	case text == "":
		m.add(func(int) []line { return []line{newLine(run{"thinking, encrypted", thought})} })
	case len(text) > longThought && !m.open:
		m.folded(text, "thinking:", thought)
	default:
		m.spoke = false
		m.text(transcript.Text{Text: t.Text, Cut: t.Cut}, thought)
	}
}

func (m *maker) image(p transcript.Image, before run) {
	text := p.String()
	if p.URL != "" {
		text += ", " + look.Line(p.URL, 200)
	}
	m.add(func(w int) []line { return wrap([]run{{"▣ " + text, link}}, w, before, before) })
}

func (m *maker) raw(p transcript.Raw, before run) {
	word := look.Line(p.Type, 60)
	if !m.open {
		m.add(func(w int) []line {
			l := newLine(before, run{"▸ ", faint}, run{look.Line(word+" "+string(p.JSON[:min(len(p.JSON), longLine)]), w-2-screen.Width(before.text, false)), faint})
			l.click = fold{}
			return []line{l}
		})
		return
	}
	m.add(func(int) []line { return []line{newLine(before, run{"▾ " + word, faint})} })
	m.code(wire.Indent(p.JSON), "json", run{before.text + "  ", plain})
	m.cut(p.Cut, before)
}

// code adds code, in parts.
func (m *maker) code(source, language string, before run) {
	for start := 0; start < len(source); {
		end := min(start+pieceBytes, len(source))
		if end < len(source) {
			if at := strings.LastIndexByte(source[start:end], '\n'); at > 0 {
				end = start + at + 1
			}
			for end < len(source) && source[end]&0xc0 == 0x80 {
				end++
			}
		}
		piece := source[start:end]
		start = end
		m.addText(piece, func(w int) (lines []line) {
			for _, l := range markup.CodeLines(piece, language) {
				lines = append(lines, wrap(runsOf(l, plain), w, before, before)...)
			}
			return lines
		})
	}
}

// compacted adds a divider: from here on, the model sees a summary.
func (m *maker) compacted(b, before *transcript.Block) {
	var c transcript.Compacted
	for _, p := range b.Pieces {
		if p, ok := p.(transcript.Compacted); ok {
			c = p
		}
	}
	word := "compaction"
	if b.Kind == transcript.Summary {
		word = "summary of an abandoned branch"
	}
	if c.Before > 0 {
		word += " " + wire.Short(c.Before)
		if c.After > 0 {
			word += " → " + wire.Short(c.After)
		}
	}
	m.add(func(w int) []line {
		l := across("═", []run{{word, accent}}, w)
		l.click = fold{}
		if before == nil && b.Fork == nil {
			return []line{l}
		}
		return []line{{}, l}
	})
	switch {
	case strings.TrimSpace(c.Summary.Text) == "":
	case m.open:
		m.text(c.Summary, plain)
	default:
		m.folded(c.Summary.Text, "", faint)
	}
}

// forkLine shows the current branch; a click switches to another one.
func forkLine(f *transcript.Fork, w int) line {
	text, about := "branch", ""
	for _, b := range f.Branches {
		if b.Number == f.Current {
			about = b.Label
		}
	}
	text += " " + wire.Number(int64(f.Current)) + " of " + wire.Number(int64(f.Count))
	if about != "" {
		text += ": " + look.Line(about, max(w-len(text)-14, 8))
	}
	l := across("─", []run{{"‹ ", side(f.Current > 1)}, {text, accent}, {" ›", side(f.Current < f.Count)}}, w)
	l.click = switchBranch{f}
	return l
}

// side returns the role of an arrow, which depends on whether it leads anywhere.
func side(leads bool) role {
	if leads {
		return accent
	}
	return faint
}

// note adds a change of state on one line. There are no empty lines between consecutive notes.
func (m *maker) note(b, before *transcript.Block) {
	m.add(func(w int) []line {
		word := look.Line(strings.ReplaceAll(b.Native, "_", " "), 40)
		l := ends([]run{{"· " + word + " " + look.Line(m.relative(b.Line), w), faint}}, nil, w)
		if before == nil || before.Kind == transcript.Note {
			return []line{l}
		}
		return []line{{}, l}
	})
}

// endings adds what went wrong.
func (m *maker) endings(b *transcript.Block) {
	if b.Error != "" || b.Stop != "" {
		m.add(func(w int) []line {
			text := b.Error
			if text == "" {
				text = "ended: " + b.Stop
			}
			return plainLines("✗ "+text[:min(len(text), longLine)], w, failure, run{})
		})
	}
	if len(b.Problems) > 0 {
		m.add(func(w int) []line { return problemLines(b.Problems, w) })
	}
}

const mostProblems = 20

// problemLines lists problems of the log.
func problemLines(list []session.Problem, w int) (lines []line) {
	for n, p := range list {
		if n == mostProblems {
			return append(lines, newLine(run{"! " + wire.Number(int64(len(list)-n)) + " more problems", warning}))
		}
		text := p.Message
		if p.Line > 0 {
			text = "line " + wire.Number(int64(p.Line)) + ": " + text
		}
		if p.Advice != "" {
			text += "; " + p.Advice
		}
		lines = append(lines, wrap([]run{{look.Line(text, longLine), warning}}, w, run{"! ", warning}, run{"  ", warning})...)
	}
	return lines
}
