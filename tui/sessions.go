package tui

import (
	"os"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/find/listing"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/tui/look"
	"github.com/treeline-dev/treeline/wire"
)

// sessions is the first screen: the sessions of all agents, the most recently used first, with a filter.
type sessions struct {
	*desk
	filter filter
	line   input
	typing bool
	window

	all     *listing.List // of the catalogue, newest first; of an archive, the pages so far
	short   bool          // the short ids of all are computed
	parents []int         // of all; -1 for none
	tasks   int           // number of sub-agents whose session is in all
	texts   []string      // haystacks of all, made when a filter first needs them
	shown   []item        // the rows of the list
	wrong   string        // a word of the filter that is invalid
	sources []place.SourceInfo

	loading bool
	loaded  bool
	problem string
	reading treeline.Progress // of the catalogue
	pages   pages
	rest    time.Time // the catalogue is not read again before this time
	again   bool      // it must be read again after that
	first   int       // line of the first row, for the mouse
	x       int       // column of the cursor
}

// item is a row of the list: its index in all, and the number of its ancestors above it.
type item struct{ row, depth, tasks int }

// pages says how far the list of an archive was read.
type pages struct {
	rows  []treeline.Row
	next  string // cursor of the next page
	more  bool
	total int
	stamp int // of the filter of the pages
}

func newSessions(d *desk) *sessions {
	s := &sessions{desk: d, typing: d.Pick, all: listing.Of(nil)}
	s.line.set(d.Filter)
	s.filter.text = d.Filter
	return s
}

// Messages that the screen sends to itself.
type (
	listed struct { // the catalogue, or a page of an archive
		all     *listing.List
		page    *treeline.Page
		stamp   int
		first   bool // the first page
		sources []place.SourceInfo
		took    time.Duration
		err     error
	}
	progressed treeline.Progress
	changed    struct{} // sessions changed
	rested     struct{} // it is time to read again
)

// Init implements look.Screen. It listens to the places before it lists them, so that it misses no change.
func (s *sessions) Init() tea.Cmd {
	s.loading = true
	list := s.list(s.pageRows, "")
	return func() tea.Msg {
		if l, err := s.Store.Listen(s.ctx); err == nil {
			go s.listen(l, s.missing())
		}
		return list()
	}
}

const (
	// lookAgain is how often the list is read without a signal, and lookSilent how often if a place sends no signals. For ten thousand
	// sessions, this takes a ten-thousandth, or a thousandth, of the time.
	lookAgain  = 10 * time.Minute
	lookSilent = time.Minute
	// lookForPlaces is how often missing places are searched for. They send no signals before they are listed.
	lookForPlaces = time.Second
)

// listen sends a message for each signal, when a place is created, and regularly if a place sends no signals.
func (s *sessions) listen(l *treeline.Listener, missing int) {
	defer l.Close()
	every := func() time.Duration {
		if l.Silent() > 0 {
			return lookSilent
		}
		return lookAgain
	}
	places := time.NewTicker(lookForPlaces)
	defer places.Stop()
	again := time.NewTicker(every())
	defer again.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-l.Changed():
			if paths, all := l.Take(); len(paths) > 0 || all {
				s.send(look.To{Screen: s, Msg: changed{}})
			}
			again.Reset(every())
		case <-places.C:
			if n := s.missing(); n != missing {
				missing = n
				s.send(look.To{Screen: s, Msg: changed{}})
			}
		case <-again.C:
			s.send(look.To{Screen: s, Msg: changed{}})
		}
	}
}

// missing returns the number of missing places. In an archive, it is 0.
func (s *sessions) missing() (n int) {
	if s.Archive {
		return 0
	}
	for _, src := range s.Store.Sources() {
		if _, err := os.Stat(src.Root.Sessions); err != nil {
			n++
		}
	}
	return n
}

// list reads the catalogue or, of an archive, a page of rows rows. It takes the filter now, since keys change it while the page is read.
func (s *sessions) list(rows int, after string) tea.Cmd {
	ctx, f, m := s.ctx, s.filter.read(s.now()), listed{stamp: s.pages.stamp, first: after == ""}
	return func() tea.Msg {
		began := time.Now()
		var problem error
		last := time.Time{}
		refresh := treeline.RefreshOptions{Problem: func(err error) { problem = err }, Progress: func(p treeline.Progress) {
			if now := time.Now(); now.Sub(last) > 100*time.Millisecond {
				last = now
				s.send(look.To{Screen: s, Msg: progressed(p)})
			}
		}}
		if s.paged {
			page, err := s.Store.Page(ctx, f.store(), treeline.PageOptions{
				RefreshOptions: refresh, Filter: place.Filter{Project: f.inProject()}, Order: place.Orders[f.exact.order], Limit: rows, After: after,
				Total: m.first,
			})
			if m.err = err; err == nil {
				m.page = &page
			}
		} else {
			all, err := s.Store.Listing(ctx, refresh)
			if m.err = err; err == nil {
				m.all = all.Begun()
				m.all.Sort(place.OrderWhen)
			}
		}
		if m.err == nil && problem != nil {
			m.err = problem
		}
		if (m.all == nil || m.all.Len() == 0) && (m.page == nil || len(m.page.Rows) == 0) {
			m.sources, _ = s.Store.LookAtSources(ctx) // best effort: it only explains an empty list
		}
		m.took = time.Since(began)
		return look.To{Screen: s, Msg: m}
	}
}

// Update implements look.Screen.
func (s *sessions) Update(msg tea.Msg) (look.Screen, tea.Cmd) {
	switch msg := msg.(type) {
	case listed:
		return s, s.listed(msg)
	case progressed:
		s.reading = treeline.Progress(msg)
	case changed:
		return s, s.refresh()
	case look.Done: // the user waits for it
		s.rest = time.Time{}
		return s, s.refresh()
	case rested:
		if s.again {
			s.again = false
			return s, s.refresh()
		}
	case tea.PasteMsg:
		s.line.insert(msg.Content)
		return s, s.typed()
	case tea.KeyPressMsg:
		if s.typing {
			return s, s.line.pressed(msg, s.Keys(), s.typed)
		}
	case tea.MouseMsg:
		if s.window.mouse(msg, len(s.shown), s.first, 1) {
			return s, s.open(false)
		}
		return s, s.nextPage()
	}
	return s, nil
}

// refresh reads the list again, but not continuously: a session may change many times a second.
func (s *sessions) refresh() tea.Cmd {
	now := time.Now()
	switch {
	case s.loading:
		s.again = true
	case now.Before(s.rest):
		if s.again {
			return nil // already waiting for the end of the rest
		}
		s.again = true
		return tea.Tick(s.rest.Sub(now), func(time.Time) tea.Msg { return look.To{Screen: s, Msg: rested{}} })
	default:
		s.loading = true
		s.pages.stamp++
		return s.list(s.at+s.pageRows, "") // down to the cursor, which stays on its session
	}
	return nil
}

// listed stores a new list. The cursor stays on its session.
func (s *sessions) listed(m listed) tea.Cmd {
	if s.paged && m.stamp != s.pages.stamp {
		return nil // the filter has changed since
	}
	s.loading, s.loaded, s.problem, s.reading = false, true, "", treeline.Progress{}
	if m.err != nil {
		s.problem = m.err.Error()
	}
	const restShare, least = 20, time.Second
	s.rest = time.Now().Add(max(restShare*m.took, least))
	selected := s.selected()
	switch {
	case m.page != nil:
		s.page(m)
	case s.paged && len(s.pages.rows) == 0:
		s.all, s.short = listing.Of(nil), true // the old rows belong to another filter
	case m.all != nil:
		s.all, s.short = m.all, false
	}
	s.sources, s.texts = m.sources, nil
	s.count()
	s.narrow()
	s.reselect(selected)
	if s.again {
		s.again = false
		return s.refresh()
	}
	return nil
}

// page adds a page, or replaces all pages by the first one.
func (s *sessions) page(m listed) {
	if m.first {
		s.pages.rows, s.pages.total = nil, m.page.Total
	}
	s.pages.rows = append(s.pages.rows, m.page.Rows...)
	s.all, s.short = listing.Of(s.pages.rows), true
	s.pages.next, s.pages.more = m.page.Next, m.page.Next != ""
}

// nextPage loads the next page when the cursor comes near the end.
func (s *sessions) nextPage() tea.Cmd {
	if !s.pages.more || s.loading || s.at < len(s.shown)-1-s.pageRows/4 {
		return nil
	}
	s.loading = true
	return s.list(s.pageRows, s.pages.next)
}

// Typing implements look.Typist.
func (s *sessions) Typing() bool { return s.typing }

// typed applies what was typed. The list of an archive is requested again a moment after the last key.
func (s *sessions) typed() tea.Cmd {
	if s.filter.text == s.line.String() {
		return nil
	}
	s.filter.text = s.line.String()
	return s.filtered()
}

// filtered applies a filter that has changed.
func (s *sessions) filtered() tea.Cmd {
	s.at, s.top = 0, 0
	if !s.paged {
		s.narrow()
		return nil
	}
	s.pages = pages{stamp: s.pages.stamp + 1}
	s.loading = true
	list := s.list(s.pageRows, "")
	return tea.Tick(debounce, func(time.Time) tea.Msg { return list() })
}

// Title implements look.Screen.
func (s *sessions) Title() (left, right string) {
	left = "treeline"
	if s.Pick {
		left = "treeline · pick a session"
	}
	if !s.loaded {
		return left, ""
	}
	total := s.all.Len() - s.tasks
	if s.pages.total > 0 {
		total = s.pages.total
	}
	right = wire.Count(total, "session", "sessions")
	if !s.filter.none() && s.pages.total == 0 {
		right = wire.Number(int64(len(s.shown))) + " of " + right
	}
	return left, right + " · " + wire.Count(s.all.Agents(), "agent", "agents")
}

// target returns the session under the cursor.
func (s *sessions) target() (look.Target, bool) {
	if s.at >= len(s.shown) {
		return look.Target{}, false
	}
	if !s.short { // they take a while to compute, and no frame shows them
		s.all.Shorten(nil)
		s.short = true
	}
	r := s.all.Row(s.shown[s.at].row)
	return look.Target{Path: r.Path, ID: string(r.ID), Agent: r.Dialect.Name(), Title: r.Heading(), Ref: reference(r)}, true
}

// reference returns the name of a session on a command line: the beginning of its id or, if it has none, its file.
func reference(r *treeline.Row) string {
	if r.Short != "" {
		return wire.ShellLine("", nil, []string{r.Short})
	}
	return wire.ShellLine("", nil, []string{r.Path})
}

// open opens the session under the cursor, or picks it.
func (s *sessions) open(context bool) tea.Cmd {
	t, ok := s.target()
	switch {
	case !ok:
		return nil
	case s.Pick && !s.Entries:
		return look.Send(pick{Choice{Path: t.Path, ID: t.ID}})
	}
	s.typing = false // after going back, keys are actions
	return look.Send(look.Open{Path: t.Path, Context: context})
}
