// Package remote uses the index that a treeline server keeps beside the logs of its archive: an index.Shared over HTTPS. Package protocol
// describes the requests.
//
// The server brings the index up to date, so a client puts nothing: Changes asks the server to do it and has no changes. A server
// without an index, or with one of another version, is index.ErrNone.
//
// # Checks
//
// Every answer is checked: names, sizes, places of chunks, and that each page follows the one before. An impossible answer is
// remote.ErrNotServer.
package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/treeline-dev/treeline/backend"
	server "github.com/treeline-dev/treeline/backend/remote"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/query"
	"github.com/treeline-dev/treeline/index/remote/protocol"
)

// Asker sends questions to a server; see the Backend of package backend/remote.
type Asker interface {
	Ask(ctx context.Context, path string, question, into any) error
	Close() error
}

// Index is the index of a server.
type Index struct {
	server Asker
	root   string // prefix of the paths of its logs
}

// New returns the index of a server. Close closes the server's connections. root is the prefix of the paths of its logs.
func New(a Asker, root string) *Index { return &Index{a, root} }

// Drivers returns the drivers for the servers that some backends reach. They share their connections and tokens.
func Drivers(backends []backend.Driver) (list []index.Driver) {
	for _, d := range backends {
		if d.Scheme != "https" && d.Scheme != "http" {
			continue
		}
		list = append(list, index.Driver{Scheme: d.Scheme, Open: func(root string) (index.Shared, error) {
			shown, err := d.Shown(root)
			if err != nil {
				return nil, err
			}
			b, err := d.Open(root, backend.OpenOptions{ReadOnly: true})
			if err != nil {
				return nil, err
			}
			a, ok := b.(Asker)
			if !ok {
				return nil, b.Close()
			}
			return New(a, shown), nil
		}})
	}
	return list
}

// Close implements index.Shared.
func (x *Index) Close() error { return x.server.Close() }

// Changes implements index.Shared. It makes the server bring the index up to date.
func (x *Index) Changes(ctx context.Context, _ int) (index.Changes, error) {
	var state protocol.State
	err := x.server.Ask(ctx, protocol.Index, nil, &state)
	switch {
	case errors.Is(err, errors.ErrUnsupported), errors.Is(err, server.ErrNotServer), err == nil && state.Version != index.EncodingVersion:
		return index.Changes{}, index.ErrNone // if it is no server at all, reading the logs reports that
	}
	return index.Changes{}, err
}

// Put implements index.Shared.
func (x *Index) Put(context.Context, index.Mark, ...index.Update) error { return index.ErrReadOnly }

// Values implements index.Shared.
func (x *Index) Values(ctx context.Context, v index.Value, cwds []string) (list []string, err error) {
	err = x.server.Ask(ctx, protocol.Index+"/values", protocol.Values{Of: v, CWDs: cwds}, &list)
	return list, err
}

// selectMost is the most pages of a Select, and the most logs if it has no limit of its own: a server may send them without end.
const selectMost = 1 << 17

// Select implements index.Shared.
func (x *Index) Select(ctx context.Context, sel index.Selection) (list []index.Found, err error) {
	want := sel.Limit
	for pages := 1; ; pages++ {
		if want > 0 {
			sel.Limit = want - len(list)
		}
		page, next, err := x.page(ctx, "/select", sel, nil)
		if err != nil {
			return nil, err
		}
		if want > 0 && len(page) > sel.Limit || len(page) > protocol.LogsMost || pages > selectMost || want <= 0 && len(list) > selectMost {
			return nil, wrong("/select", errors.New("more logs than were asked for"))
		}
		if list = append(list, page...); next == nil || want > 0 && len(list) >= want {
			return list, nil
		}
		sel.After = next
	}
}

// Search implements index.Shared.
func (x *Index) Search(ctx context.Context, sel index.Selection, q *query.Query) ([]index.Found, *index.Position, error) {
	sel.Order = index.OrderUsed
	return x.page(ctx, "/search", sel, q)
}

// page requests a page.
func (x *Index) page(ctx context.Context, path string, sel index.Selection, q *query.Query) (list []index.Found, next *index.Position, err error) {
	var page protocol.Page
	if err := x.server.Ask(ctx, protocol.Index+path, question(sel, q), &page); err != nil {
		return nil, nil, err
	}
	for i := range page.Logs {
		l, err := x.found(&page.Logs[i])
		if err == nil && sel.Below != "" && !strings.HasPrefix(l.Source+"/", sel.Below+"/") {
			err = fmt.Errorf("%.80q is not below %q", l.Source, sel.Below)
		}
		if err != nil {
			return nil, nil, wrong(path, err)
		}
		list = append(list, l)
	}
	if next, err = protocol.ReadCursor(page.Next, sel.Order); err == nil && next != nil && !follows(sel.After, next) {
		err = errors.New("a page does not end after the one before it")
	}
	if err != nil {
		return nil, nil, wrong(path, err)
	}
	return list, next, nil
}

func question(sel index.Selection, q *query.Query) protocol.Question {
	asked := protocol.Question{Selection: sel}
	if q != nil {
		form := q.Form()
		asked.Query = &form
	}
	return asked
}

func wrong(path string, err error) error {
	return fmt.Errorf("%w: its answer to %s is not what it should be: %v", server.ErrNotServer, protocol.Index+path, err)
}

// found checks a log of a page.
func (x *Index) found(said *protocol.Log) (l index.Found, err error) {
	if l, err = said.Found(); err != nil {
		return l, err
	}
	origin, source, ok := strings.Cut(l.Source, "/")
	if !ok || origin == "" || source == "" || backend.CheckName(l.Source) != nil || backend.CheckName(l.Name) != nil {
		return l, fmt.Errorf("%.80q is no log", l.Source+"/"+l.Name)
	}
	if l.Stamp.Size < 0 {
		return l, fmt.Errorf("%.80q has a size of %d", l.Name, l.Stamp.Size)
	}
	for _, parent := range []*string{&l.Facts.Parent, &l.Summary.Parent} {
		if name, inside := strings.CutPrefix(*parent, protocol.Inside); inside {
			if err := backend.CheckName(name); err != nil {
				return l, err
			}
			*parent = x.root + "/" + name
		}
	}
	at := int64(0)
	for _, s := range l.Spans {
		if s.From < at || s.To <= s.From || s.To > l.Stamp.Size {
			return l, fmt.Errorf("%.80q has no bytes from %d to %d", l.Name, s.From, s.To)
		}
		at = s.To
	}
	return l, nil
}

// follows reports whether a position is after another one. Texts are ordered by the server's rules, so for them only the names must differ.
func follows(before, next *index.Position) bool {
	if before == nil {
		return true
	}
	order := 0
	switch a := before.Key.(type) {
	case string:
		return before.Name != next.Name
	case int64:
		b, ok := next.Key.(int64)
		if order = cmp.Compare(b, a); !ok {
			order = cmp.Compare(number(next.Key), float64(a))
		}
	default:
		order = cmp.Compare(number(next.Key), number(a))
	}
	return cmp.Or(order, cmp.Compare(next.When, before.When), cmp.Compare(before.Name, next.Name)) < 0
}

func number(key any) float64 {
	switch n := key.(type) {
	case int64:
		return float64(n)
	case float64:
		return n
	}
	return 0
}

// Count implements index.Shared.
func (x *Index) Count(ctx context.Context, sel index.Selection, q *query.Query) (index.Counts, error) {
	var n protocol.Counts
	if err := x.server.Ask(ctx, protocol.Index+"/count", question(sel, q), &n); err != nil {
		return index.Counts{}, err
	}
	terms := 0
	if q != nil {
		terms = q.Terms()
	}
	if n.Logs < 0 || n.Chunks < 0 || n.Bytes < 0 || len(n.With) != terms {
		return index.Counts{}, wrong("/count", errors.New("the counts cannot be"))
	}
	return index.Counts{Logs: n.Logs, Chunks: n.Chunks, Bytes: n.Bytes, Newest: n.Newest, With: n.With}, nil
}

// IDs implements index.Shared.
func (x *Index) IDs(ctx context.Context, l *index.Found, n int, take func(from int64, hash uint32)) error {
	var list []protocol.IDs
	if err := x.server.Ask(ctx, protocol.Index+"/ids", protocol.Place{Source: l.Source, Name: l.Name, Chunks: n}, &list); err != nil {
		return err
	}
	for _, one := range list {
		for _, hash := range one.Hashes {
			take(one.From, uint32(hash))
		}
	}
	return nil
}

var _ index.Shared = (*Index)(nil)
