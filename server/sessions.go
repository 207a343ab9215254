package server

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/server/view"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/wire"
)

// sessionParams name a session.
type sessionParams struct {
	Session string `path:"session" json:"-" doc:"the key of a session"`
}

// pageParams choose a page of a list.
type pageParams struct {
	Limit  int    `query:"limit" json:"-" doc:"how many; the default is 100, the most 1000"`
	Cursor string `query:"cursor" json:"-" doc:"next of the page before"`
}

// size returns the number of rows on the page.
func (p pageParams) size() (int, error) {
	if p.Limit > 1000 {
		return 0, bad("the parameter \"limit\" must be a number from 1 to 1000, not %d", p.Limit)
	}
	return cmp.Or(p.Limit, 100), nil
}

// spanParams are a time span.
type spanParams struct {
	Since string `query:"since" json:"-" doc:"the first moment that counts: 2026-01-31T12:00:00Z, 2026-01-31 or how long ago (7d)"`
	Until string `query:"until" json:"-" doc:"the last moment that counts; a day is included"`
}

func (p spanParams) parse(now time.Time) (since, until time.Time, err error) {
	if p.Since != "" {
		if since, err = wire.ParseWhen(p.Since, now, false); err != nil {
			return since, until, badTime("since", p.Since)
		}
	}
	if p.Until != "" {
		if until, err = wire.ParseWhen(p.Until, now, true); err != nil {
			return since, until, badTime("until", p.Until)
		}
	}
	return since, until, nil
}

func badTime(name, text string) error {
	return bad("the parameter %q must be a time like 2026-01-31T12:00:00Z, a day like 2026-01-31 or an age like 7d, not %q", name, text)
}

// filterParams select sessions of a list: those for which all given conditions hold.
type filterParams struct {
	Source string `query:"source" json:"-" doc:"the name of a dialect, or the folder of a source"`
	CWD    string `query:"cwd" json:"-" doc:"only sessions of that directory"`
	spanParams
	Model string   `query:"model" json:"-" doc:"a part of the name of a model that answered, or a pattern with * and ?"`
	Title string   `query:"title" json:"-" doc:"a pattern with * and ? for the title or, without one, the first prompt"`
	Has   []string `query:"has" json:"-" doc:"what must occur: label, branch, compaction, problem, blob, run; it may be repeated"`
}

func (p filterParams) filter(now time.Time) (f treeline.Filter, err error) {
	f = treeline.Filter{Source: p.Source, CWD: p.CWD, Model: p.Model, Title: p.Title}
	for _, word := range p.Has {
		h, ok := index.ParseHas(word)
		switch {
		case word == "run":
			f.Run = true
		case !ok:
			return f, bad("the parameter \"has\" must be label, branch, compaction, problem, blob or run, not %q", word)
		}
		f.Has |= h
	}
	f.Since, f.Until, err = p.parse(now)
	return f, err
}

// set reports whether the filter has any condition.
func (p filterParams) set() bool {
	return p.Source+p.CWD+p.Since+p.Until+p.Model+p.Title != "" || len(p.Has) > 0
}

type listParams struct {
	filterParams
	pageParams
}

func badCursor() error { return bad("the parameter \"cursor\" is not one that a page gave") }

// narrowed returns the rows that pass a filter.
func (r *request) narrowed(l *view.List, p filterParams) ([]place.Row, error) {
	if !p.set() {
		return l.Rows, nil
	}
	f, err := p.filter(r.s.opt.Clock())
	if err != nil {
		return nil, err
	}
	if err := r.checkSource(p.Source); err != nil {
		return nil, err
	}
	return r.s.store.Filter(r.Context(), slices.Clone(l.Rows), f)
}

func listSessions(r *request, p listParams) (page sessionPage, err error) {
	n, err := p.size()
	if err != nil {
		return page, err
	}
	if r.paged() {
		return r.archivePage(p, n)
	}
	l, err := r.listing()
	if err != nil {
		return page, err
	}
	// Runs are not watched, so a list that depends on them has no tag.
	tag := r.s.listTag(l, r)
	if p.Since+p.Until != "" {
		tag = r.aging(tag)
	}
	if !slices.Contains(p.Has, "run") && r.unchanged(tag) {
		return page, errNotModified
	}
	rows, err := r.narrowed(l, p.filterParams)
	if err != nil {
		return page, err
	}
	part, next, err := wire.PageOfSorted(rows, wire.RowCursor, n, p.Cursor)
	if err != nil {
		return page, badCursor()
	}
	total := len(rows)
	page = sessionPage{Sessions: make([]sessionRow, len(part)), Next: next, Total: &total, Problems: append([]string{}, l.Problems...)}
	for i := range part {
		page.Sessions[i] = sessionRow{l.KeyOf(part[i].Path), wire.NewRow(&part[i])}
	}
	return page, nil
}

// listTag returns the tag of an answer that depends only on the catalogue.
func (s *Server) listTag(l *view.List, r *request) string {
	return fmt.Sprintf("%s-%s-%s", s.feed.Epoch, l.Tag, r.form())
}

func getSession(r *request, p sessionParams) (info sessionInfo, err error) {
	err = r.opened(p.Session, func(doc *document) error {
		j, err := wire.NewSession(doc.sess)
		if err != nil {
			return err
		}
		log := doc.sess.Log()
		info = sessionInfo{
			Key: p.Session, Session: j, Entries: doc.sess.Tree().Len(), Size: log.Size, Modified: wire.UTC(log.Time), Event: r.s.feed.Last(),
			Problems: append([]session.Problem{}, doc.sess.Tree().Problems()...),
		}
		return nil
	})
	return info, err
}

// opened calls f with a session, or returns errNotModified if the client already has the answer.
func (r *request) opened(key string, f func(*document) error) error {
	row, err := r.session(key)
	if err != nil {
		return err
	}
	return r.use(r.Context(), row.Path, func(doc *document) error {
		if r.unchanged(doc.tag + "-" + r.form()) {
			return errNotModified
		}
		return f(doc)
	})
}

func listSources(r *request, _ struct{}) ([]wire.Source, error) {
	var list []place.SourceInfo
	var err error
	if r.grant.Limited() {
		var l *view.List
		if l, err = r.listing(); err == nil {
			list = view.Sources(l.Rows)
		}
	} else {
		list, err = r.s.store.LookAtSources(r.Context())
	}
	rows := make([]wire.Source, 0, len(list))
	for _, s := range list {
		rows = append(rows, wire.NewSource(s))
	}
	return rows, err
}

// catalogue reads the list of sessions.
func (s *Server) catalogue() (rows []place.Row, problems []string, err error) {
	var mu sync.Mutex
	rows, err = s.store.Catalogue(s.ctx, treeline.RefreshOptions{Problem: func(err error) {
		mu.Lock()
		defer mu.Unlock()
		problems = append(problems, err.Error())
	}})
	s.counts.refreshes.Add(1)
	return rows, problems, err
}
