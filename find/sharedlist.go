package find

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/internal/sorting"
	"github.com/treeline-dev/treeline/place"
)

// ListOptions say which part of a list is wanted.
type ListOptions struct {
	RefreshOptions
	Filter place.Filter
	// Order is what the list is sorted by; "" is OrderWhen.
	Order place.Order
	// Limit is how many rows are wanted; 0 is all.
	Limit int
	// After is Page.Next of the page before; "" begins at the first row.
	After string
	// Total: Page.Total is wanted. In an archive it costs more than the page. TotalMost bounds that: Page.Total is then -1 if there are
	// more rows, or if the database alone cannot count them. 0 means no bound.
	Total     bool
	TotalMost int
}

// Page is a part of a list.
type Page struct {
	Rows []place.Row
	// Next is the ListOptions.After of the next page; "" if there is none.
	Next string
	// Total is how many rows all pages have, if it was wanted; see ListOptions.TotalMost.
	Total int
}

// ErrCursor is returned if ListOptions.After is not the Next of a Page.
var ErrCursor = errors.New("the cursor is not one that a page gave")

// List brings the catalogue up to date and returns a page of it: sessions that pass the filter, sorted. Rows with an Err are left out. In
// an archive it costs no more than the page, whatever the size of the archive, unless the filter has a title or a function: then all rows
// that fit otherwise are read.
func (f *Finder) List(ctx context.Context, opt ListOptions) (Page, error) {
	if beside, err := f.fresh(ctx, opt.RefreshOptions); err != nil {
		return Page{}, err
	} else if beside {
		return f.sharedPage(ctx, opt)
	}
	rows, err := f.Catalogue(ctx, opt.RefreshOptions)
	if err == nil {
		rows, err = f.m.Filter(rows, opt.Filter)
	}
	if err != nil {
		return Page{}, err
	}
	rows = place.Sort(place.Drop(rows, func(r *place.Row) bool { return r.Err != nil }), opt.Order)
	page := Page{Total: len(rows)}
	if opt.After != "" {
		at, err := readCursor[spot](opt.After)
		if err != nil {
			return Page{}, err
		}
		rows = rows[at.next(rows, opt.Order):]
	}
	if n := opt.Limit; n > 0 && n < len(rows) {
		last, then := spotOf(&rows[n-1], opt.Order), spotOf(&rows[n], opt.Order)
		if last.compare(then) == 0 {
			last.Then = then.Path
		}
		page.Next = cursor(last)
		rows = rows[:n:n]
	}
	page.Rows = rows
	return page, nil
}

// spot is the position of a row in a list of the machine. It stays valid when the session of the row is written or removed.
type spot struct {
	Key  place.Key
	When int64
	Path string
	Then string `json:",omitzero"` // the path of the next row, if only the order of the list distinguishes them
}

func spotOf(r *place.Row, by place.Order) *spot { return &spot{r.Key(by), nanos(r.When()), r.Path, ""} }

// compare orders spots, except those of the same time.
func (s *spot) compare(o *spot) int {
	return cmp.Or(s.Key.Compare(&o.Key), cmp.Compare(o.When, s.When))
}

// next returns the index of the first row after the spot. If its row and the next one are gone, rows of the same time may be repeated.
func (s *spot) next(rows []place.Row, by place.Order) int {
	from := len(rows)
	for i := range rows {
		r := spotOf(&rows[i], by)
		switch order := s.compare(r); {
		case order == 0 && r.Path == s.Path:
			return i + 1
		case order == 0 && r.Path == s.Then:
			return i
		case order == 0 && s.Then != "":
			from = min(from, i)
		case order < 0:
			return min(from, i)
		}
	}
	return from
}

// Paged reports whether List costs no more than its page.
func (f *Finder) Paged() bool { return f.beside() }

// cursor encodes a position as a text.
func cursor(p any) string {
	data, err := json.Marshal(p)
	if err != nil {
		return "" // the cost is not a number
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

func readCursor[T any](text string) (p T, err error) {
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	if err != nil {
		return p, ErrCursor
	}
	return p, nil
}

// orders maps orders of lists to those of a shared index.
var orders = map[place.Order]index.Order{
	place.OrderWhen: index.OrderWhen, place.OrderCreated: index.OrderMade, place.OrderSize: index.OrderSize,
	place.OrderMessages: index.OrderMessages, place.OrderTokens: index.OrderTokens, place.OrderCost: index.OrderCost,
	place.OrderTitle: index.OrderHeading, place.OrderProject: index.OrderCWD,
}

// pageSize is how many rows are requested at a time if all are wanted.
const pageSize = 1000

// selection makes a selection with all rows that pass a filter. exact: it has no other rows.
func (f *Finder) selection(ctx context.Context, filter place.Filter) (sel index.Selection, exact bool, err error) {
	sel = index.Selection{Below: f.m.ArchiveFolder(), Has: filter.Has}
	exact = filter.Title == "" && filter.Only == nil
	if filter.Source != "" {
		if err := f.m.CheckSource(filter.Source); err != nil {
			return sel, false, err
		}
		exact = false
		if d, err := f.m.Dialect(filter.Source); err == nil {
			sel.Dialects = f.family(place.Sessions(d))
		} else if folder, ok := f.m.ArchivedFolder(f.m.Absolute(filter.Source)); ok {
			sel.Below = folder
		}
	}
	if filter.CWD != "" {
		// A log that names no directory may belong to it by its folder.
		clean := place.Clean(filter.CWD)
		sel.CWDs, exact = []string{filter.CWD, f.m.Resolved(filter.CWD), clean, clean + "/", ""}, false
	}
	if filter.Project != nil {
		if sel.CWDs == nil {
			if sel.CWDs, err = f.Projects(ctx); err != nil {
				return sel, false, err
			}
		}
		sel.CWDs = append([]string{}, slices.DeleteFunc(sel.CWDs, func(cwd string) bool { return !filter.Project(cwd) })...)
	}
	if !filter.Since.IsZero() {
		sel.Since = nanos(filter.Since)
	}
	if !filter.Until.IsZero() {
		sel.Until = nanos(filter.Until)
	}
	if filter.Model != "" {
		models, err := f.shared.Values(ctx, index.ValueModel, nil)
		if err != nil {
			return sel, false, err
		}
		fits := place.ModelPattern(filter.Model)
		sel.Models = slices.DeleteFunc(models, func(m string) bool { return !fits(m) })
		if sel.Models == nil {
			sel.Models = []string{}
		}
	}
	return sel, exact, nil
}

// family returns the names of the dialects of a family.
func (f *Finder) family(d dialect.Dialect) (names []string) {
	for _, other := range f.m.Dialects() {
		if other.Family() == d.Family() {
			names = append(names, other.Name())
		}
	}
	return names
}

// sharedPage is List on a shared index.
func (f *Finder) sharedPage(ctx context.Context, opt ListOptions) (page Page, err error) {
	sel, exact, err := f.selection(ctx, opt.Filter)
	if err != nil {
		return page, err
	}
	sel.Sessions, sel.Order = true, orders[opt.Order]
	if opt.After != "" {
		at, err := readCursor[index.Position](opt.After)
		if err != nil || !at.Fits(sel.Order) {
			return page, ErrCursor
		}
		sel.After = &at
	}
	sel.Limit = pageSize
	if opt.Limit > 0 {
		sel.Limit = min(opt.Limit+1, pageSize)
	}
	var last *index.Found
	err = f.eachShared(ctx, sel, opt.Filter, func(l *index.Found, r *place.Row) bool {
		if opt.Limit > 0 && len(page.Rows) == opt.Limit {
			page.Next = cursor(last.PositionOf(sel.Order))
			return false
		}
		page.Rows, last = append(page.Rows, *r), l
		return true
	})
	if err == nil && opt.Total {
		page.Total, err = f.total(ctx, sel, &opt, exact)
	}
	if err == nil {
		err = f.shortenShared(ctx, page.Rows, opt.Filter.Project)
	}
	return page, err
}

// eachShared calls take with the rows that pass a filter, until it returns false. sel.Limit is how many logs are requested first; further
// steps are larger.
func (f *Finder) eachShared(ctx context.Context, sel index.Selection, filter place.Filter, take func(*index.Found, *place.Row) bool) error {
	for {
		list, err := f.shared.Select(ctx, sel)
		if err != nil {
			return err
		}
		for i := range list {
			r, ok := f.sharedRow(&list[i])
			if !ok {
				continue
			}
			rows, err := f.m.Filter([]place.Row{r}, filter)
			if err != nil {
				return err
			}
			if len(rows) == 1 && !take(&list[i], &rows[0]) {
				return nil
			}
		}
		if len(list) < sel.Limit {
			return nil
		}
		sel.After = list[len(list)-1].PositionOf(sel.Order)
		sel.Limit = max(sel.Limit, min(4*sel.Limit, pageSize))
	}
}

// total counts the rows of all pages.
func (f *Finder) total(ctx context.Context, sel index.Selection, opt *ListOptions, exact bool) (n int, err error) {
	most := opt.TotalMost
	if exact {
		if sel.Limit = 0; most > 0 {
			sel.Limit = most + 1
		}
		counts, err := f.shared.Count(ctx, sel, nil)
		if most > 0 && counts.Logs > most {
			return -1, err
		}
		return counts.Logs, err
	}
	if most > 0 {
		return -1, nil
	}
	sel.After, sel.Limit = nil, pageSize
	err = f.eachShared(ctx, sel, opt.Filter, func(*index.Found, *place.Row) bool { n++; return true })
	return n, err
}

// sharedCatalogue is Catalogue on a shared index.
func (f *Finder) sharedCatalogue(ctx context.Context) (rows []place.Row, err error) {
	sel := index.Selection{Below: f.m.ArchiveFolder(), Order: index.OrderWhen, Limit: pageSize}
	err = f.eachShared(ctx, sel, place.Filter{}, func(l *index.Found, r *place.Row) bool {
		if !l.Facts.Left {
			rows = append(rows, *r)
		}
		return true
	})
	place.Shorten(rows)
	return rows, err
}

// shortenShared fills in short ids that are unique in the archive or, if may is set, in the part that the caller may see.
func (f *Finder) shortenShared(ctx context.Context, rows []place.Row, may func(cwd string) bool) error {
	list := make([]*place.Row, len(rows))
	for i := range rows {
		list[i] = &rows[i]
	}
	ids, all, err := f.similar(ctx, list, may)
	if err != nil {
		return err
	}
	place.ShortenSome(list, ids)
	if !all {
		unshorten(list)
	}
	return nil
}

// unshorten gives rows their whole ids: too many other ids begin alike.
func unshorten(rows []*place.Row) {
	for _, r := range rows {
		r.Short = string(r.ID)
	}
}

// similarMost is how many sessions are read for short ids.
const similarMost = 2000

// similar returns the ids of sessions in the archive that begin like those of some rows. may, if set, is Options.Project. all is false if
// they are too many; then it returns only those that some row has.
func (f *Finder) similar(ctx context.Context, rows []*place.Row, may func(cwd string) bool) (ids []string, all bool, err error) {
	var like, own []string
	for _, r := range rows {
		like, own = append(like, index.LikeID(string(r.ID))), append(own, string(r.ID))
	}
	slices.Sort(like)
	if like = slices.Compact(like); len(like) == 0 {
		return nil, true, nil
	}
	sel, _, err := f.selection(ctx, place.Filter{Project: may})
	if err != nil {
		return nil, false, err
	}
	sel.Like, sel.Limit = like, similarMost+1
	list, err := f.shared.Select(ctx, sel)
	if all = len(list) <= similarMost; err == nil && !all {
		sel.Like, sel.IDs = nil, own
		list, err = f.shared.Select(ctx, sel)
	}
	for i := range list {
		if !list[i].Facts.Left {
			ids = append(ids, list[i].Facts.ID)
		}
	}
	return ids, all, err
}

// Sources returns what is in each source of an archive. The index counts the sessions.
func (f *Finder) Sources(ctx context.Context, opt RefreshOptions) (list []place.SourceInfo, err error) {
	if beside, err := f.fresh(ctx, opt); !beside {
		return nil, cmp.Or(err, index.ErrNone)
	}
	for _, src := range f.m.Sources() {
		info := place.SourceInfo{Source: src}
		folder, ok := f.m.ArchivedFolder(src.Root.Sessions)
		if !ok || src.Needs != "" || src.Err != nil {
			list = append(list, info)
			continue
		}
		counts := map[dialect.Dialect]int{}
		for _, name := range f.family(src.Dialect) {
			n, err := f.shared.Count(ctx, index.Selection{Sources: []string{folder}, Dialects: []string{name}, Sessions: true}, nil)
			if err != nil {
				return nil, err
			}
			d, err := f.m.Dialect(name)
			if err != nil || n.Logs == 0 {
				continue
			}
			counts[d], info.Dialects = n.Logs, append(info.Dialects, d)
			info.Exists, info.Sessions, info.Bytes = true, info.Sessions+n.Logs, info.Bytes+n.Bytes
			if at := time.Unix(0, n.Newest); at.After(info.Newest) {
				info.Newest = at
			}
		}
		sorting.By(info.Dialects, func(a, b dialect.Dialect) int { return cmp.Compare(counts[b], counts[a]) })
		list = append(list, info)
	}
	return list, nil
}
