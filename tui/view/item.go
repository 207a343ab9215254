package view

import (
	"slices"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/internal/markup"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/transcript"
	"github.com/treeline-dev/treeline/tui/look"
	"github.com/treeline-dev/treeline/wire"
)

// item is something that the cursor stands on: a block of the transcript, a file of the changes, or what stands after the end.
type item struct {
	// key tells it apart from the others of its pane, also after they were loaded again.
	key   string
	id    session.EntryID
	also  []session.EntryID
	block *transcript.Block
	file  *transcript.FileChange
	// fork is the one before the block, or after the end of the path.
	fork  *transcript.Fork
	parts []*part
	// whole: its texts were loaded to their ends.
	whole bool
}

// part is a stretch of an item that is laid out at once. Its lines are kept for one width.
type part struct {
	layout func(width int) []line
	width  int
	lines  []line
}

func (p *part) at(width int) []line {
	if p.width != width {
		p.lines, p.width = p.layout(width), width
	}
	return p.lines
}

// shows reports whether an entry is shown by the item.
func (it *item) shows(id session.EntryID) bool {
	return it.id == id || slices.Contains(it.also, id)
}

// How much of a text is laid out at once, and how much of what is folded is shown.
const (
	pieceBytes   = 16 << 10
	diffChunk    = 200 // lines of a diff that are one part
	briefDiff    = 12  // lines of a diff that is folded
	briefOutput  = 5   // lines of the output of a tool that is shown although it is folded
	longThought  = 320 // bytes of a thought that is folded
	longPreamble = 240 // bytes of a text that the agent said by itself, and that is folded
	longLine     = 4 << 10
)

// setting is what the layout of an item depends on besides the item.
type setting struct {
	cwd    string
	zone   *time.Location
	isTask bool
	mode   mode
	open   bool // nothing is folded
}

// relative shows paths below the working directory relative to it.
func (s setting) relative(text string) string {
	if len(s.cwd) < 2 {
		return text
	}
	return strings.ReplaceAll(text, strings.TrimSuffix(s.cwd, "/")+"/", "")
}

// clock is the time of a block: the time of day, with the date where the day differs from that of before.
func (s setting) clock(t, before time.Time) string {
	if t.IsZero() {
		return ""
	}
	at := t.In(s.zone)
	if b := before.In(s.zone); before.IsZero() || b.YearDay() == at.YearDay() && b.Year() == at.Year() {
		return at.Format("15:04")
	}
	return at.Format("2 Jan 15:04")
}

// maker makes the parts of an item.
type maker struct {
	setting
	parts []*part
	spoke bool // something stands below the heading
}

func (m *maker) add(f func(width int) []line) { m.parts = append(m.parts, &part{layout: f}) }

// gap adds an empty line between texts.
func (m *maker) gap() {
	if m.spoke {
		m.add(func(int) []line { return []line{{}} })
	}
	m.spoke = true
}

// blockItem makes the item of a block. before is the block before it, nil for the first.
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
	return &item{key: string(b.ID), id: b.ID, also: b.Also, block: b, fork: b.Fork, parts: m.parts}
}

// heading says who speaks, when, and what it took.
func (m *maker) heading(b, before *transcript.Block) {
	again := before != nil && b.Follows(before) && b.Label == "" && m.mode != model
	var when time.Time
	name := ""
	if before != nil {
		when, name = before.Time, before.Model
	}
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
		if b.Model != name {
			word(b.Model, faint)
		}
		word(m.clock(b.Time, when), faint)
		switch u := b.Usage; {
		case m.mode == model:
			word("about "+wire.Short(b.Estimate)+" tokens", faint)
		case max(u.Total, u.Input+u.Output) > 0:
			word(wire.Short(max(u.Total, u.Input+u.Output+u.CacheRead+u.CacheWrite)), faint)
		}
		if b.Unseen && (before == nil || !before.Unseen) {
			word("not seen by the model from here on", faint)
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

// shortID is the end of an id that tells it apart.
func shortID(id session.EntryID) string {
	s := look.Line(string(id), 60)
	if len(s) > 8 && isASCII(s) {
		return s[len(s)-8:]
	}
	return s
}

// ends puts runs at both ends of a line. The left ones are cut where there is no room, and the right ones left out.
func ends(left, right []run, w int) line {
	l, r := screen.Width(line{runs: left}.text(), false), screen.Width(line{runs: right}.text(), false)
	if r == 0 || r+8 > w {
		return newLine(cutRuns(left, w)...)
	}
	if l > w-r-1 {
		left = cutRuns(left, w-r-1)
		l = screen.Width(line{runs: left}.text(), false)
	}
	return newLine(append(append(slices.Clip(left), run{spaces(w - l - r), plain}), right...)...)
}

// cutRuns shortens runs to a number of columns.
func cutRuns(runs []run, w int) []run {
	for n, r := range runs {
		used := screen.Width(r.text, false)
		if used > w {
			return append(slices.Clip(runs[:n]), run{screen.Cut(r.text, max(w, 1)), r.role})
		}
		w -= used
	}
	return runs
}

// pieces adds the content of a block.
func (m *maker) pieces(b *transcript.Block) {
	preamble := (b.Meta || b.Role == session.RoleSystem) && m.mode != model
	for _, p := range b.Pieces {
		switch p := p.(type) {
		case transcript.Text:
			if preamble && len(p.Text) >= longPreamble && !m.open {
				m.gap()
				m.folded(p.Text, "", faint)
				continue
			}
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

// folded is the beginning of a text in one line, which a click unfolds.
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
		m.add(func(w int) []line {
			lines := prose(piece, w, around)
			if n > 0 && strings.HasPrefix(piece, "\n") {
				lines = append([]line{{}}, lines...)
			}
			return lines
		})
	}
	m.cut(t.Cut, run{})
}

// cut says how much of a text is left out.
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
	text := "image"
	if p.MIME != "" {
		text = look.Line(p.MIME, 40)
	}
	switch {
	case p.Size >= 0:
		text += ", " + wire.Size(p.Size)
	case p.Blob:
		text += ", its blob is missing"
	case p.URL != "":
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
	m.code(indent(p.JSON), "json", run{before.text + "  ", plain})
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
		m.add(func(w int) (lines []line) {
			for _, l := range markup.CodeLines(piece, language) {
				lines = append(lines, wrap(runsOf(l, plain), w, before, before)...)
			}
			return lines
		})
	}
}

// compacted is a divider: from here on the model sees a summary.
func (m *maker) compacted(b, before *transcript.Block) {
	var c transcript.Compacted
	for _, p := range b.Pieces {
		if p, ok := p.(transcript.Compacted); ok {
			c = p
		}
	}
	word := "compaction"
	if b.Kind == transcript.Summary {
		word = "summary of a branch that was left"
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

// across puts runs into the middle of a rule.
func across(rule string, runs []run, w int) line {
	runs = cutRuns(runs, max(w-8, 1))
	rest := w - screen.Width(line{runs: runs}.text(), false) - 2
	left := max(rest/2, 0)
	out := append([]run{{strings.Repeat(rule, left) + " ", faint}}, runs...)
	return newLine(append(out, run{" " + strings.Repeat(rule, max(rest-left, 0)), faint})...)
}

// forkLine says which branch is shown, and switches.
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

// side is the role of an arrow that leads somewhere, or nowhere.
func side(leads bool) role {
	if leads {
		return accent
	}
	return faint
}

// note is a change of state in one line. Notes that follow each other have no empty line between them.
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

// endings add what went wrong.
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
