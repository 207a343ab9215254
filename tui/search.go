package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/tui/look"
	"github.com/treeline-dev/treeline/wire"
)

// search is the screen for searching everything. It searches while the user types.
type search struct {
	*desk
	line   input
	typing bool
	// entered means that typing ended with enter. Typing goes on if there are no hits.
	entered bool
	window
	asked   string // the last query that was searched for
	stamp   int    // counts queries
	cancel  context.CancelFunc
	running bool
	result  wire.SearchResult
	answers string // the query of the hits
	problem string
	nothing bool
	x       int
}

const (
	// debounce is the pause after the last key before a search begins.
	debounce = 150 * time.Millisecond
	// mostHits is the largest number of hits.
	mostHits = 200
)

func newSearch(d *desk) *search { return &search{desk: d, typing: true} }

// Messages that the screen sends to itself.
type (
	pause struct{ stamp int } // no key was pressed during the pause
	found struct {
		stamp   int
		result  wire.SearchResult
		nothing bool
		err     error
	}
)

// Init implements look.Screen.
func (s *search) Init() tea.Cmd { return nil }

// Close implements look.Closer.
func (s *search) Close() error {
	s.stop()
	return nil
}

// stop cancels the search in progress.
func (s *search) stop() {
	if s.cancel != nil {
		s.cancel()
		s.cancel = nil
	}
	s.running = false
}

// Update implements look.Screen.
func (s *search) Update(msg tea.Msg) (look.Screen, tea.Cmd) {
	switch msg := msg.(type) {
	case pause:
		if msg.stamp == s.stamp {
			return s, s.ask()
		}
	case found:
		if msg.stamp == s.stamp {
			s.found(msg)
		}
	case tea.PasteMsg:
		s.line.insert(msg.Content)
		return s, s.typed()
	case tea.KeyPressMsg:
		if s.typing {
			return s, s.line.pressed(msg, s.Keys(), s.typed)
		}
	case tea.MouseMsg:
		if s.window.mouse(msg, len(s.result.Hits), 3, hitLines) {
			return s, s.open()
		}
	}
	return s, nil
}

// Typing implements look.Typist.
func (s *search) Typing() bool { return s.typing }

// enter opens the hit. If the query is new, it searches at once, and keys go to the hits.
func (s *search) enter() tea.Cmd {
	if s.answers == strings.TrimSpace(s.line.String()) {
		return s.open()
	}
	s.typing, s.entered = false, s.typing
	s.stamp++
	return s.ask()
}

// escape goes from the query to the hits, which an empty query does not have.
func (s *search) escape() tea.Cmd {
	if s.line.String() == "" {
		return look.Send(look.Back{})
	}
	s.typing = false
	return nil
}

// typed waits for a pause, and cancels the search in progress.
func (s *search) typed() tea.Cmd {
	if strings.TrimSpace(s.line.String()) == s.asked {
		return nil
	}
	s.stop()
	s.stamp++
	stamp := s.stamp
	return tea.Tick(debounce, func(time.Time) tea.Msg { return look.To{Screen: s, Msg: pause{stamp}} })
}

// ask starts a search.
func (s *search) ask() tea.Cmd {
	s.stop()
	s.asked = strings.TrimSpace(s.line.String())
	if s.asked == "" {
		s.result, s.answers, s.problem = wire.SearchResult{}, "", ""
		return nil
	}
	ctx, cancel := context.WithCancel(s.ctx)
	s.cancel, s.running = cancel, true
	stamp, query := s.stamp, s.asked
	return func() tea.Msg {
		defer cancel()
		res, err := s.Store.Search(ctx, query, treeline.SearchOptions{Limit: mostHits})
		m := found{stamp: stamp, err: err}
		if err == nil {
			m.result, m.nothing = wire.NewSearchResult(res, false), res.Nothing
		}
		return look.To{Screen: s, Msg: m}
	}
}

// found shows the hits.
func (s *search) found(m found) {
	s.running, s.cancel = false, nil
	if errors.Is(m.err, context.Canceled) {
		return
	}
	again := s.entered && len(m.result.Hits) == 0
	s.typing, s.entered = s.typing || again, false
	s.problem = ""
	if m.err != nil {
		s.problem = m.err.Error()
		return
	}
	s.result, s.answers, s.nothing = m.result, s.asked, m.nothing
	s.at, s.top = 0, 0
}

// open opens the session of the hit at its entry, or picks it.
func (s *search) open() tea.Cmd {
	if s.at >= len(s.result.Hits) {
		return nil
	}
	h := s.result.Hits[s.at]
	entry, id := "", h.Run
	if h.Entry != nil {
		entry = string(*h.Entry)
	}
	if h.Session != nil {
		id = string(*h.Session)
	}
	if s.Pick {
		return look.Send(pick{Choice{Path: h.Path, ID: id, Entry: entry}})
	}
	s.typing = false // after going back, keys are actions
	return look.Send(look.Open{Path: h.Path, Entry: entry})
}

// Title implements look.Screen.
func (s *search) Title() (left, right string) {
	switch n := len(s.result.Hits); {
	case s.running:
		right = "searching …"
	case s.answers == "":
	case s.result.More:
		right = "more than " + wire.Count(n, "hit", "hits")
	default:
		right = wire.Count(n, "hit", "hits")
	}
	return "search all sessions", right
}

// Keys implements look.Screen.
func (s *search) Keys() []look.Key {
	keys := []look.Key{
		{Keys: []string{"enter"}, Name: "open", Help: "open the session at this entry", Command: func() string {
			if s.at < len(s.result.Hits) {
				return "treeline show " + wire.ShellLine("", nil, []string{look.Line(s.result.Hits[s.at].Ref, 400)})
			}
			return "treeline show SESSION#ENTRY"
		}, Run: s.enter},
		{Keys: []string{"/", "i"}, Name: "query", Help: "change the query", Command: func() string {
			return "treeline search " + wire.ShellLine("", nil, []string{"--", s.line.String()})
		}, Run: func() tea.Cmd {
			s.typing = true
			return nil
		}},
	}
	if s.typing {
		keys = append(keys, look.Key{Keys: []string{"esc"}, Name: "hits", Help: "stop typing", Run: s.escape})
	}
	return append(keys, s.window.keys(func() int { return len(s.result.Hits) }, nil)...)
}

// Cursor implements look.Placer.
func (s *search) Cursor() (x, y int, shown bool) { return s.x, 1, s.typing }

// hitLines is the number of lines of a hit.
const hitLines = 2

// Draw implements look.Screen.
func (s *search) Draw(width, height int) string {
	p := s.palette
	rule := p.Faint.Render(look.Rule(width))
	text, at := s.line.draw(width - 6)
	s.x = 3 + at
	sign := p.Faint.Render("›")
	if s.typing {
		sign = p.Accent.Render("›")
	}
	lines := []string{rule, " " + sign + " " + text, rule}
	room := max(height-len(lines)-1, 1)
	end := len(lines) + room
	say := func(text string) { lines = append(lines, " "+p.Faint.Render(look.Line(text, width-2))) }
	switch {
	case s.problem != "":
		lines = append(lines, " "+p.Warning.Render(look.Line(s.problem, width-2)))
	case s.answers == "" && s.running:
		say("searching …")
	case s.answers == "":
		for _, line := range []string{
			"Finds entries that have all the words: messages, thinking, tools and results.", "",
			"word          a whole word; head finds HTTPHead and parse_head",
			`"a phrase"    these words in this order`,
			"head*         words that begin with head; *head* anywhere",
			"-word         entries without the word",
		} {
			lines = append(lines, " "+p.Faint.Render(look.Cut(line, width-2)))
		}
	case s.nothing:
		say("there are no sessions to search")
	case len(s.result.Hits) == 0:
		say("nothing found")
	default:
		if s.result.Matched == "substring" {
			say("no whole word matches; these are parts of words")
			room--
		}
		from, to := s.fit(len(s.result.Hits), room/hitLines)
		for i := from; i < to; i++ {
			lines = append(lines, s.hit(&s.result.Hits[i], i == s.at, width)...)
		}
	}
	for len(lines) < end {
		lines = append(lines, "")
	}
	return strings.Join(append(lines[:end], rule), "\n")
}

// hit draws one hit: its place, and the text around it.
func (s *search) hit(h *wire.Hit, selected bool, width int) []string {
	p := s.palette
	mark, title := "  ", p.Strong.Render(look.Line(h.Title, max(width/2, 10)))
	if selected {
		mark, title = p.Selected.Render("▌ "), p.Selected.Render(look.Line(h.Title, max(width/2, 10)))
	}
	what := h.Kind
	if h.Role != nil && *h.Role != "" {
		what = *h.Role
	}
	about := []string{what}
	if h.Label != "" {
		about = append(about, "⚑ "+h.Label)
	}
	if !h.OnPath && h.Entry != nil {
		about = append(about, "on another branch")
	}
	where := fmt.Sprintf("%s · %s · %s", h.Dialect, projectName(h.CWD), strings.Join(about, " · "))
	when := ""
	if h.Time != nil {
		if at, err := time.Parse(time.RFC3339, *h.Time); err == nil {
			when = age(at, s.now())
		}
	}
	first := look.Ends(mark+title+"  "+p.Faint.Render(look.Line(where, width)), p.Faint.Render(when), width-2)
	return []string{" " + strings.TrimRight(first, " "), "     " + look.Cut(s.snippet(h), width-6)}
}

// snippet draws the text with its matches marked. Each piece is cleaned separately, so that the marks stay in place.
func (s *search) snippet(h *wire.Hit) string {
	text, at := []rune(h.Snippet), 0
	var b strings.Builder
	for _, m := range h.Marks {
		from, to := max(m[0], at), min(m[1], len(text))
		if from >= to {
			continue
		}
		b.WriteString(look.Text(string(text[at:from])))
		b.WriteString(s.palette.Match.Render(look.Text(string(text[from:to]))))
		at = to
	}
	b.WriteString(look.Text(string(text[at:])))
	return strings.ReplaceAll(b.String(), "\n", " ")
}
