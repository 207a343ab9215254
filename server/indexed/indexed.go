// Package indexed answers the HTTP operations on the index that lies beside the logs of an archive, over any index.Shared; see package
// index/remote/protocol for what is said, and Rows for the list of operations.
//
// A caller that is limited to projects has a View. Logs that it does not show never leave the server, and neither do their names as
// the place where a page ends: such a page goes on until it ends at a log that is shown.
package indexed

import (
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
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/server/guard"
	"github.com/treeline-dev/treeline/server/logs"
)

// Call is a request that is being answered.
type Call struct {
	*logs.Call
	// Logs is the archive; nil if the server has none.
	Logs *logs.Logs
	// Root is how the server's own paths of logs begin.
	Root string
	// Index gives the index, as it is or brought up to date; nil if there is none.
	Index func(ctx context.Context, fresh bool) (index.Shared, error)
	// View gives what a caller that is limited to projects may see; nil is everything.
	View func(ctx context.Context) (*View, error)

	view *View
}

// View is what exists for a caller.
type View struct {
	// Projects are the working directories of the sessions that it may see, Models the models that answered in them, both in order.
	Projects, Models []string
	// Session reports whether a session is shown, and as whose child. Run reports whether a run is shown. The name is that of the archive.
	Session func(name string) (parent string, ok bool)
	Run     func(ctx context.Context, name string) bool
}

// NewView is a view of the sessions in some rows. at finds the row of a name in the archive, and run is View.Run.
func NewView(rows []place.Row, at func(name string) (int, bool), run func(ctx context.Context, name string) bool) *View {
	v := &View{Run: run}
	for i := range rows {
		v.Projects = append(v.Projects, rows[i].CWD)
		if rows[i].Known != nil {
			v.Models = append(v.Models, rows[i].Known.Models...)
		}
	}
	slices.Sort(v.Projects)
	slices.Sort(v.Models)
	v.Projects, v.Models = slices.Compact(v.Projects), slices.Compact(v.Models)
	v.Session = func(name string) (parent string, ok bool) {
		i, ok := at(name)
		if ok {
			parent = rows[i].Parent
		}
		return parent, ok
	}
	return v
}

// has reports whether a working directory is one of the projects, which are in order.
func (v *View) has(cwd string) bool {
	_, ok := slices.BinarySearch(v.Projects, cwd)
	return ok
}

// Row is an operation.
type Row struct {
	logs.Row
	// Do carries it out.
	Do func(c *Call) error
}

// noParams: what is asked for is in the body.
type noParams struct{}

func row[R any](method, path, name, doc string, f func(c *Call, x index.Shared) error) Row {
	r := Row{Row: logs.Row{Method: method, Path: protocol.Index + path, Name: name, Doc: doc, Media: "application/json",
		Params: reflect.TypeFor[noParams](), Result: reflect.TypeFor[R]()}}
	if method == http.MethodPost {
		r.Body = "application/json"
	}
	r.Do = func(c *Call) error {
		logs.Version(c.W.Header())
		return c.Plain(c.do(path == "", f))
	}
	return r
}

// do finds the index and what the caller may see of it.
func (c *Call) do(fresh bool, f func(c *Call, x index.Shared) error) error {
	if c.Logs == nil {
		return logs.ErrNoArchive
	}
	ctx := c.R.Context()
	x, err := c.Index(ctx, fresh)
	if err == nil && x == nil {
		err = fmt.Errorf("an index of this archive: %w", errors.ErrUnsupported)
	}
	if err == nil && c.View != nil {
		c.view, err = c.View(ctx)
	}
	if err != nil {
		return err
	}
	return f(c, x)
}

// Rows are all operations. A server without an index has them too, and answers that it has none.
func Rows() []Row {
	const get, post = http.MethodGet, http.MethodPost
	return []Row{
		row[protocol.State](get, "", "getIndex", "Brings the index of the archive up to date and describes it.", state),
		row[[]string](get, "/models", "listModels", "Lists the models that answered in any session.", models),
		row[protocol.Page](post, "/select", "selectLogs", "Gives what is known of logs that fit, page by page. It is for other programs of treeline: "+
			"what the body and the page have depends on their version.", selects),
		row[protocol.Page](post, "/search", "searchLogs", "Gives logs that may match a query, with the chunks of them that may. See selectLogs.", search),
		row[protocol.Counts](post, "/count", "countLogs", "Counts the logs that fit, and their chunks that may match. See selectLogs.", count),
		row[[]protocol.IDs](post, "/ids", "listIDs", "Gives hashes of the ids of a log's entries. See selectLogs.", ids),
	}
}

func state(c *Call, _ index.Shared) error {
	return c.Logs.Answer(c.Call, protocol.State{Version: index.EncodingVersion})
}

func models(c *Call, x index.Shared) error {
	if c.view != nil {
		return c.Logs.Answer(c.Call, append([]string{}, c.view.Models...))
	}
	list, err := x.Models(c.R.Context())
	if err != nil {
		return err
	}
	return c.Logs.Answer(c.Call, append([]string{}, list...))
}

// asked reads a question. needs says that it must have a query.
func (c *Call) asked(needs bool) (sel index.Selection, q *query.Query, err error) {
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
	if sel.Limit <= 0 || sel.Limit > protocol.LogsMost {
		sel.Limit = protocol.LogsMost
	}
	if c.view != nil && !sel.Runs {
		if sel.CWDs == nil {
			sel.CWDs = slices.Clone(c.view.Projects)
		} else {
			sel.CWDs = slices.DeleteFunc(sel.CWDs, func(cwd string) bool { return !c.view.has(cwd) })
		}
		if sel.CWDs == nil {
			sel.CWDs = []string{}
		}
	}
	return sel, q, nil
}

// shown takes from a log what the caller may not know. ok is false if it may not know the log.
func (c *Call) shown(l *index.Found) (ok bool) {
	facts := *l.Facts
	l.Facts, ok = &facts, true
	name := l.Source + "/" + l.Name
	switch {
	case c.view == nil:
	case facts.Run:
		ok = c.view.Run(c.R.Context(), name)
	default:
		var parent string
		parent, ok = c.view.Session(name)
		ok = ok && c.view.has(facts.CWD)
		facts.Parent, l.Summary.Parent = parent, parent
	}
	facts.Problem = strings.ReplaceAll(facts.Problem, c.Root, "")
	for _, parent := range []*string{&facts.Parent, &l.Summary.Parent} {
		if rest, inside := strings.CutPrefix(*parent, c.Root); inside {
			*parent = protocol.Inside + rest
		}
	}
	return ok
}

// mayEnd reports whether a page may end at a position: its name is told.
func (c *Call) mayEnd(p *index.Position, runs bool) bool {
	switch {
	case c.view == nil:
		return true
	case runs:
		return c.view.Run(c.R.Context(), p.Name)
	}
	_, ok := c.view.Session(p.Name)
	return ok
}

// page is a page that is being made.
type page struct {
	c     *Call
	want  int // logs
	order index.Order
	page  protocol.Page
	bytes int
	last  *index.Position // of the last log
}

// lookMost is how many logs are looked at together for a caller that may not see all.
const lookMost = 1024

// page begins a page.
func (c *Call) page(sel *index.Selection) page {
	p := page{c: c, want: sel.Limit, order: sel.Order}
	if c.view != nil {
		sel.Limit = max(sel.Limit, lookMost) // most of them may be hidden
	}
	return p
}

// add adds logs that are shown. full says that there is no room for the rest.
func (p *page) add(list []index.Found) (full bool) {
	for i := range list {
		l := &list[i]
		at := l.PositionOf(p.order)
		if !p.c.shown(l) {
			continue
		}
		if len(p.page.Logs) >= p.want || p.bytes > protocol.PageBytes {
			return true
		}
		one := protocol.NewLog(l)
		p.page.Logs, p.last = append(p.page.Logs, one), at
		p.bytes += len(one.Data) + 48*len(one.Spans) + len(one.Source)
	}
	return false
}

// send sends the page. next is where the following one begins.
func (p *page) send(next *index.Position) (err error) {
	if p.page.Logs == nil {
		p.page.Logs = []protocol.Log{}
	}
	if p.page.Next, err = protocol.Cursor(next); err != nil {
		return err
	}
	return p.c.Logs.Answer(p.c.Call, p.page)
}

// selects gives a page of logs. It is full unless there are no more.
func selects(c *Call, x index.Shared) error {
	sel, _, err := c.asked(false)
	if err != nil {
		return err
	}
	p := c.page(&sel)
	for {
		list, err := x.Select(c.R.Context(), sel)
		if err != nil {
			return err
		}
		if p.add(list) {
			return p.send(p.last)
		}
		if len(list) < sel.Limit {
			return p.send(nil)
		}
		if len(p.page.Logs) >= p.want {
			return p.send(p.last)
		}
		sel.After = list[len(list)-1].PositionOf(sel.Order)
	}
}

// search gives logs that may match.
func search(c *Call, x index.Shared) error {
	sel, q, err := c.asked(true)
	if err != nil {
		return err
	}
	p := c.page(&sel)
	for {
		list, next, err := x.Search(c.R.Context(), sel, q)
		if err != nil {
			return err
		}
		if p.add(list) {
			return p.send(p.last)
		}
		if next == nil || c.mayEnd(next, sel.Runs) {
			return p.send(next)
		}
		sel.After = next
	}
}

// count counts. A limited caller learns nothing of how common a term is: other sessions of its projects may be hidden from it.
func count(c *Call, x index.Shared) error {
	sel, q, err := c.asked(false)
	if err != nil {
		return err
	}
	sel.After = nil
	if c.view == nil {
		n, err := x.Count(c.R.Context(), sel, q)
		if err != nil {
			return err
		}
		return c.Logs.Answer(c.Call, protocol.Counts{Logs: n.Logs, Chunks: n.Chunks, With: append([]int{}, n.With...)})
	}
	n := protocol.Counts{With: []int{}}
	if q != nil {
		n.With = make([]int, q.Terms())
	}
	for sel.Limit = protocol.LogsMost; ; {
		list, err := x.Select(c.R.Context(), sel)
		if err != nil {
			return err
		}
		for i := range list {
			at := list[i].PositionOf(sel.Order)
			if sel.After = at; c.shown(&list[i]) {
				n.Logs++
			}
		}
		if len(list) < sel.Limit {
			return c.Logs.Answer(c.Call, n)
		}
	}
}

// ids gives the hashes of ids of a log. A log that is not shown has none, as one that does not exist.
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
	if c.view != nil {
		if _, ok := c.view.Session(name); !ok && !c.view.Run(c.R.Context(), name) {
			return c.Logs.Answer(c.Call, list)
		}
	}
	l := &index.Found{Source: at.Source, Log: index.Log{Name: at.Name}}
	err := x.IDs(c.R.Context(), l, at.Chunks, func(from int64, hash uint32) {
		if n := len(list); n == 0 || list[n-1].From != from {
			list = append(list, protocol.IDs{From: from})
		}
		one := &list[len(list)-1]
		one.Hashes = append(one.Hashes, int64(hash))
	})
	if err != nil {
		return err
	}
	return c.Logs.Answer(c.Call, list)
}
