// Package indexed answers the HTTP operations on the index that belongs to the logs of an archive, over any index.Shared; see package
// index/remote/protocol for the messages, and Rows for the list of operations.
//
// A caller that is limited to projects has a View. Logs that the View does not show never leave the server. Neither do their names, as the
// position where a page ends: such a page goes on until it ends at a log that is shown.
package indexed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/query"
	"github.com/treeline-dev/treeline/index/remote/protocol"
	"github.com/treeline-dev/treeline/server/guard"
	"github.com/treeline-dev/treeline/server/logs"
)

// Call is a request that is being answered.
type Call struct {
	*logs.Call
	// Logs is the archive; nil if the server has none.
	Logs *logs.Logs
	// Root is the prefix of the server's own paths of logs.
	Root string
	// Index returns the index, brought up to date if fresh is set, or nil if there is none.
	Index func(ctx context.Context, fresh bool) (index.Shared, error)
	// View says what a caller that is limited to projects may see; nil shows everything.
	View *View
}

// View is the part of the archive that exists for a caller. Names are those of the archive.
type View struct {
	// May reports whether a working directory is one of its projects.
	May func(cwd string) bool
	// Sessions returns those of the named sessions that are shown, each with the parent that it is shown with.
	Sessions func(ctx context.Context, names []string) (parents map[string]string, err error)
}

// Row is an operation.
type Row struct {
	logs.Row
	// Do carries the operation out.
	Do func(c *Call) error
}

// noParams is for operations whose question is in the body.
type noParams struct{}

func row[R any](method, path, name, doc string, f func(c *Call, x index.Shared) error) *Row {
	return newRow(method, path, name, doc, f, reflect.TypeFor[R]())
}

func newRow(method, path, name, doc string, f func(c *Call, x index.Shared) error, result reflect.Type) *Row {
	r := &Row{Row: logs.Row{Method: method, Path: protocol.Index + path, Name: name, Doc: doc, Media: "application/json",
		Params: reflect.TypeFor[noParams](), Result: result}}
	if method == http.MethodPost {
		r.Body = "application/json"
	}
	r.Do = func(c *Call) error {
		logs.Version(c.W.Header())
		return c.Plain(c.do(path == "", f))
	}
	return r
}

// do calls f with the index, brought up to date if fresh is set.
func (c *Call) do(fresh bool, f func(c *Call, x index.Shared) error) error {
	if c.Logs == nil {
		return logs.ErrNoArchive
	}
	x, err := c.Index(c.R.Context(), fresh)
	if err == nil && x == nil {
		err = fmt.Errorf("an index of this archive: %w", errors.ErrUnsupported)
	}
	if err != nil {
		return err
	}
	return f(c, x)
}

// Rows returns all operations. A server without an index has them, too, and answers that it has none.
func Rows() []*Row {
	const get, post = http.MethodGet, http.MethodPost
	return []*Row{
		row[protocol.State](get, "", "getIndex", "Brings the index of the archive up to date and describes it.", state),
		row[protocol.Page](post, "/select", "selectLogs", "Returns the index rows of matching logs, page by page. It is meant for other treeline programs: "+
			"the contents of body and page depend on their version.", selects),
		row[protocol.Page](post, "/search", "searchLogs", "Returns logs that may match a query, with their candidate chunks. See selectLogs.", search),
		row[protocol.Counts](post, "/count", "countLogs", "Counts matching logs and their candidate chunks. See selectLogs.", count),
		row[[]string](post, "/values", "listValues", "Lists the models or the working directories of sessions. See selectLogs.", values),
		row[[]protocol.IDs](post, "/ids", "listIDs", "Returns hashes of the ids of a log's entries. See selectLogs.", ids),
	}
}

func state(c *Call, _ index.Shared) error {
	return c.Logs.Answer(c.Call, protocol.State{Version: index.EncodingVersion})
}

// projects returns those of cwds that belong to the caller's projects; a nil cwds stands for all working directories.
func (c *Call) projects(x index.Shared, cwds []string) (list []string, err error) {
	if cwds == nil {
		if cwds, err = x.Values(c.R.Context(), index.ValueCWD, nil); err != nil {
			return nil, err
		}
	}
	return append([]string{}, slices.DeleteFunc(cwds, func(cwd string) bool { return !c.View.May(cwd) })...), nil
}

// values lists values. A limited caller gets only those of its projects.
func values(c *Call, x index.Shared) (err error) {
	var asked protocol.Values
	if err := c.Logs.Question(c.Call, protocol.QuestionMost, &asked); err != nil {
		return err
	}
	if asked.Of != index.ValueModel && asked.Of != index.ValueCWD {
		return guard.Refuse(http.StatusBadRequest, "the question: there are no values of %.40q", string(asked.Of))
	}
	if c.View != nil {
		if asked.CWDs, err = c.projects(x, asked.CWDs); err != nil {
			return err
		}
	}
	list, err := x.Values(c.R.Context(), asked.Of, asked.CWDs)
	if err != nil {
		return err
	}
	return c.Logs.Answer(c.Call, append([]string{}, list...))
}

// asked reads a question. needs says that it must have a query.
func (c *Call) asked(x index.Shared, needs bool) (sel index.Selection, q *query.Query, err error) {
	var asked protocol.Question
	if err := c.Logs.Question(c.Call, protocol.QuestionMost, &asked); err != nil {
		return sel, nil, err
	}
	sel = asked.Selection
	if needs {
		sel.Order = index.OrderUsed
	}
	switch {
	case needs && asked.Query == nil:
		err = errors.New("a query is missing")
	case sel.Below != "" && backend.CheckName(sel.Below) != nil:
		err = errors.New("it is below no folder")
	case len(sel.Prefixes) > index.MostPrefixes:
		err = fmt.Errorf("there are more than %d prefixes", index.MostPrefixes)
	case sel.After != nil && !sel.After.Fits(sel.Order):
		err = errors.New("no page ends there")
	case strings.Contains(strings.Join(append(sel.Dialects[:len(sel.Dialects):len(sel.Dialects)], sel.Sources...), ""), "\x00"):
		err = errors.New("no name has a zero byte")
	case asked.Query != nil && len(asked.Query.Text) > protocol.QueryMost:
		err = fmt.Errorf("a query has at most %d bytes", protocol.QueryMost)
	case asked.Query != nil:
		q, err = asked.Query.Query()
	}
	if err != nil {
		return sel, nil, guard.Refuse(http.StatusBadRequest, "the question: %v", err)
	}
	if c.View != nil {
		sel.Repeated = false // the other log of the pair may be hidden
	}
	if c.View != nil {
		sel.CWDs, err = c.projects(x, sel.CWDs)
	}
	return sel, q, err
}

// shown returns those of some logs that the caller may see, without the facts that it may not learn.
func (c *Call) shown(list []index.Found, sel *index.Selection) (seen []index.Found, err error) {
	var parents map[string]string
	if c.View != nil && !sel.Runs {
		names := make([]string, len(list))
		for i := range list {
			names[i] = nameOf(&list[i])
		}
		if parents, err = c.View.Sessions(c.R.Context(), names); err != nil {
			return nil, err
		}
	}
	for _, l := range list {
		facts := *l.Facts
		l.Facts = &facts
		switch {
		case c.View == nil:
		case facts.Run:
			if !c.View.May(facts.CWD) {
				continue
			}
		default:
			parent, ok := parents[nameOf(&l)]
			// The log may have had another project when it was selected. Asking for the forks of a hidden parent must not reveal which
			// sessions have it.
			if !ok || !c.View.May(facts.CWD) || sel.Parents != nil && !slices.Contains(sel.Parents, index.LastPart(parent)) {
				continue
			}
			facts.Parent, l.Summary.Parent = parent, parent
		}
		facts.Problem = strings.ReplaceAll(facts.Problem, c.Root, "")
		for _, parent := range []*string{&facts.Parent, &l.Summary.Parent} {
			if rest, inside := strings.CutPrefix(*parent, c.Root); inside {
				*parent = protocol.Inside + rest
			}
		}
		seen = append(seen, l)
	}
	return seen, nil
}

// nameOf returns the name of a log in the archive.
func nameOf(l *index.Found) string { return l.Source + "/" + l.Name }

// mayKnow reports whether the caller may know the name of a log.
func (c *Call) mayKnow(x index.Shared, name string, run bool) (bool, error) {
	if c.View == nil {
		return true, nil
	}
	if run {
		list, err := x.Select(c.R.Context(), index.Selection{Runs: true, Names: []string{name}, Limit: 1})
		return len(list) > 0 && c.View.May(list[0].Facts.CWD), err
	}
	seen, err := c.View.Sessions(c.R.Context(), []string{name})
	return len(seen) > 0, err
}

// stamp returns what the index knows about the state of a log; nothing for a caller that sees everything.
func (c *Call) stamp(x index.Shared, name string) (s index.Stamp, err error) {
	for _, runs := range []bool{false, true} {
		if c.View == nil || err != nil || s.Generation != "" {
			break
		}
		var list []index.Found
		if list, err = x.Select(c.R.Context(), index.Selection{Runs: runs, Names: []string{name}, Limit: 1}); len(list) > 0 {
			s = list[0].Stamp
		}
	}
	return s, err
}

// page is a page while it is filled.
type page struct {
	c     *Call
	sel   *index.Selection
	want  int // logs on the page
	page  protocol.Page
	bytes int
	last  *index.Position // position of the last log
}

// lookMost is the largest number of logs read at a time for a caller that may not see all of them.
const lookMost = 1024

// page starts a page.
func (c *Call) page(sel *index.Selection) page {
	if sel.Limit <= 0 || sel.Limit > protocol.LogsMost {
		sel.Limit = protocol.LogsMost
	}
	return page{c: c, sel: sel, want: sel.Limit}
}

// on continues the page after a position. Each step reads more logs, since many of them may be hidden.
func (p *page) on(after *index.Position) {
	p.sel.After = after
	p.sel.Limit = max(p.sel.Limit, min(4*p.sel.Limit, lookMost))
}

// add adds those of list that are shown. full reports that the rest has no room.
func (p *page) add(list []index.Found) (full bool, err error) {
	seen, err := p.c.shown(list, p.sel)
	for i := range seen {
		l := &seen[i]
		if len(p.page.Logs) >= p.want || p.bytes > protocol.PageBytes {
			return true, nil
		}
		one := protocol.NewLog(l)
		p.page.Logs, p.last = append(p.page.Logs, one), l.PositionOf(p.sel.Order)
		p.bytes += len(one.Data) + 48*len(one.Spans) + len(one.Source)
	}
	return false, err
}

// send sends the page. next is the position where the next page begins.
func (p *page) send(next *index.Position) (err error) {
	if p.page.Logs == nil {
		p.page.Logs = []protocol.Log{}
	}
	if p.page.Next, err = protocol.Cursor(next); err != nil {
		return err
	}
	return p.c.Logs.Answer(p.c.Call, p.page)
}

// selects sends a page of logs. Only the last page is not full.
func selects(c *Call, x index.Shared) error {
	sel, _, err := c.asked(x, false)
	if err != nil {
		return err
	}
	p := c.page(&sel)
	for {
		list, err := x.Select(c.R.Context(), sel)
		if err != nil {
			return err
		}
		full, err := p.add(list)
		switch {
		case err != nil:
			return err
		case full:
			return p.send(p.last)
		case len(list) < sel.Limit:
			return p.send(nil)
		case len(p.page.Logs) >= p.want:
			return p.send(p.last)
		}
		p.on(list[len(list)-1].PositionOf(sel.Order))
	}
}

// search sends a page of logs that may match.
func search(c *Call, x index.Shared) error {
	sel, q, err := c.asked(x, true)
	if err != nil {
		return err
	}
	p := c.page(&sel)
	for {
		list, next, err := x.Search(c.R.Context(), sel, q)
		if err != nil {
			return err
		}
		full, err := p.add(list)
		switch {
		case err != nil:
			return err
		case full:
			return p.send(p.last)
		case next == nil:
			return p.send(nil)
		}
		// The cursor reveals the name of the log where a page ends.
		if known, err := c.mayKnow(x, next.Name, sel.Runs); known || err != nil {
			if err != nil {
				return err
			}
			return p.send(next)
		}
		p.on(next)
	}
}

// count counts. A limited caller gets no counts of terms: they would include sessions of its projects that are hidden from it.
func count(c *Call, x index.Shared) error {
	sel, q, err := c.asked(x, false)
	if err != nil {
		return err
	}
	sel.After = nil
	if c.View == nil {
		n, err := x.Count(c.R.Context(), sel, q)
		if err != nil {
			return err
		}
		return c.Logs.Answer(c.Call, protocol.Counts{Logs: n.Logs, Chunks: n.Chunks, Bytes: n.Bytes, Newest: n.Newest, With: append([]int{}, n.With...)})
	}
	n := protocol.Counts{With: []int{}}
	most := sel.Limit
	if q != nil {
		n.With, most = make([]int, q.Terms()), 0
	}
	for sel.Limit = lookMost; ; {
		list, err := x.Select(c.R.Context(), sel)
		if err != nil {
			return err
		}
		seen, err := c.shown(list, &sel)
		if err != nil {
			return err
		}
		n.Logs += len(seen)
		for i := range seen {
			n.Bytes, n.Newest = n.Bytes+seen[i].Stamp.Size, max(n.Newest, seen[i].Facts.Touched)
		}
		if most > 0 && n.Logs >= most {
			n.Logs = most
			return c.Logs.Answer(c.Call, n)
		}
		if len(list) < sel.Limit {
			return c.Logs.Answer(c.Call, n)
		}
		sel.After = list[len(list)-1].PositionOf(sel.Order)
	}
}

// ids sends the hashes of a log's entry ids. A log that is not shown has none, like one that does not exist.
func ids(c *Call, x index.Shared) error {
	var at protocol.Place
	if err := c.Logs.Question(c.Call, protocol.QuestionMost, &at); err != nil {
		return err
	}
	name := at.Source + "/" + at.Name
	if err := backend.CheckName(name); err != nil {
		return err
	}
	list := []protocol.IDs{}
	seen, err := c.stamp(x, name)
	if err != nil {
		return err
	}
	known, err := c.mayKnow(x, name, false)
	if err == nil && !known {
		known, err = c.mayKnow(x, name, true)
	}
	if err != nil {
		return err
	}
	if !known {
		return c.Logs.Answer(c.Call, list)
	}
	l := &index.Found{Source: at.Source, Log: index.Log{Name: at.Name}}
	err = x.IDs(c.R.Context(), l, at.Chunks, func(from int64, hash uint32) {
		if n := len(list); n == 0 || list[n-1].From != from {
			list = append(list, protocol.IDs{From: from})
		}
		one := &list[len(list)-1]
		one.Hashes = append(one.Hashes, int64(hash))
	})
	if err != nil {
		return err
	}
	// The log may have become one of another project since.
	if now, err := c.stamp(x, name); err != nil || now.Generation != seen.Generation {
		return cmp.Or(err, fmt.Errorf("%s: %w", name, backend.ErrChanged))
	}
	return c.Logs.Answer(c.Call, list)
}
