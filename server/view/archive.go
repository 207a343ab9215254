package view

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/access"
	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
)

// Archive makes lists of the sessions in an archive with an index of its own. Each list has the sessions that one request is about and
// those that they depend on: the others with the same id, and relatives. So the cost of a list does not depend on the size of the archive.
type Archive struct {
	Store *treeline.Store
	// Grant limits the lists to its projects; nil means no limit.
	Grant *access.Grant
}

// May returns a function that reports whether a working directory may be seen, or nil if all may.
func (a Archive) May() func(cwd string) bool {
	if !a.Grant.Limited() {
		return nil
	}
	return a.Grant.Allows
}

// Part is a page of the sessions in an archive, with a list of what they depend on.
type Part struct {
	*List
	// Page are the rows of the page, in its order.
	Page []place.Row
	// Next is the cursor of the next page, or "". Total counts the rows of all pages; it is -1 if counting would cost too much.
	Next  string
	Total int
}

// TotalMost is the largest number of sessions or runs that are counted for a page.
const TotalMost = 10_000

// Page returns a page of the sessions that pass a filter. below adds their forks and sub-agents to the list.
func (a Archive) Page(ctx context.Context, f treeline.Filter, opt treeline.PageOptions, below bool) (Part, error) {
	var problems []string
	opt.Problem = func(err error) { problems = append(problems, err.Error()) }
	opt.Filter.Project, opt.Total, opt.TotalMost = a.May(), !a.Grant.Limited(), TotalMost
	page, err := a.Store.Page(ctx, f, opt)
	if err != nil {
		return Part{}, err
	}
	l, err := a.list(ctx, page.Rows, below)
	if err != nil {
		return Part{}, err
	}
	p := Part{List: l, Next: page.Next, Total: page.Total}
	for i := range page.Rows {
		// A row that continues a hidden one is not in the list.
		if at, ok := l.ByPath[page.Rows[i].Path]; ok {
			row := page.Rows[i]
			row.Parent = l.Rows[at].Parent
			p.Page = append(p.Page, row)
		}
	}
	if a.Grant.Limited() {
		// The index does not know which rows are hidden because they continue a hidden one, so it cannot count the others.
		if p.Total = -1; opt.After == "" && p.Next == "" {
			p.Total = len(p.Page)
		}
	} else {
		l.Problems = problems
	}
	return p, nil
}

// All returns a list of all sessions that the grant shows. Its cost grows with their number.
func (a Archive) All(ctx context.Context) (*List, error) {
	p, err := a.Page(ctx, treeline.Filter{}, treeline.PageOptions{}, false)
	return p.List, err
}

// Of returns a list with the sessions that k names. below adds their forks and sub-agents.
func (a Archive) Of(ctx context.Context, k find.Keys, below bool) (*List, error) {
	rows, err := a.Store.LookUp(ctx, k)
	if err != nil {
		return nil, err
	}
	return a.list(ctx, rows, below)
}

// Shown returns those of the named sessions that the grant shows, each with the parent that it is shown with. Names are those of the
// archive.
func (a Archive) Shown(ctx context.Context, names []string) (parents map[string]string, err error) {
	paths := make([]string, len(names))
	for i, name := range names {
		paths[i] = a.Store.ArchivedPath(name)
	}
	l, err := a.Of(ctx, find.Keys{Paths: paths}, false)
	if err != nil {
		return nil, err
	}
	parents = make(map[string]string, len(names))
	for i, path := range paths {
		if at, ok := l.ByPath[path]; ok {
			parents[names[i]] = l.Rows[at].Parent
		}
	}
	return parents, nil
}

// Find returns a list with the session that a request's key names; see List.Find.
func (a Archive) Find(ctx context.Context, key string) (*List, error) {
	var k find.Keys
	if id, _, _ := strings.Cut(key, "@"); id != "" {
		k.IDs = []session.ID{session.ID(id)}
	} else if name, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(key, oddKey)); err == nil {
		k.Paths = []string{a.Store.ArchivedPath(string(name))}
	}
	return a.Of(ctx, k, true)
}

// oddKey begins the key of a session in an archive whose id cannot be a key. The name of its log follows: unlike a hash, it can be looked
// up.
const oddKey = "@."

// key is longKey for a session in an archive.
func (a Archive) key(r *place.Row) string {
	if !addressable(string(r.ID)) {
		if name, ok := a.Store.ArchivedFolder(r.Path); ok {
			return oddKey + base64.RawURLEncoding.EncodeToString([]byte(name))
		}
	}
	return longKey(r)
}

// list makes a list of rows and of what they depend on: all ancestors for a limited client, and the parents for other clients.
func (a Archive) list(ctx context.Context, rows []place.Row, below bool) (*List, error) {
	all, err := a.Store.Kin(ctx, rows, find.KinOptions{Ancestors: a.Grant.Limited(), Below: below})
	if err != nil {
		return nil, err
	}
	l := a.listed(all)
	l.Tag = l.sum()
	return l, nil
}

// listed makes a list of those rows that the client may see.
func (a Archive) listed(rows []place.Row) *List {
	l := &List{long: a.key}
	if a.Grant.Limited() {
		l.fill(Rows(rows, a.Grant.Allows))
		l.orphan()
	} else {
		l.fill(rows)
	}
	return l
}

// Each calls take with the sessions that pass a filter, in batches. all also has the sessions on which it depends what of them counts; see
// package usage. Sessions without activity since a time may be left out.
func (a Archive) Each(ctx context.Context, f treeline.Filter, since time.Time, take func(rows, all []place.Row)) error {
	kin := find.KinOptions{Repeats: true, Ancestors: a.Grant.Limited()}
	return a.Store.Each(ctx, f, find.EachOptions{Filter: place.Filter{Project: a.May()}, Kin: kin, Since: since}, func(rows, all []place.Row) error {
		l := a.listed(all)
		seen := make([]place.Row, 0, len(rows))
		for i := range rows {
			if at, ok := l.ByPath[rows[i].Path]; ok {
				seen = append(seen, l.Rows[at])
			}
		}
		take(seen, l.Rows)
		return nil
	})
}

// sum returns a tag that is a hash of the rows.
func (l *List) sum() string {
	sum := sha256.New()
	for i := range l.Rows {
		log := &l.Rows[i].Log
		fmt.Fprintf(sum, "%s\x00%s\x00%d\x00%d\n", l.Rows[i].Path, log.Generation, log.Size, log.Time.UnixNano())
	}
	return hex.EncodeToString(sum.Sum(nil)[:12])
}
