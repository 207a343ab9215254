package export

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/page"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/transcript"
	"github.com/treeline-dev/treeline/wire"
)

// SiteOptions are the options of a site. Of Options, only Redact, Hide, Home and Zone are used.
type SiteOptions struct {
	Options
	// Open opens the session of a row.
	Open func(ctx context.Context, path string) (*store.Session, error)
	// Force replaces existing files. Otherwise they cause an error.
	Force bool
	// Progress, if set, is called with the number of sessions that are done, and their total.
	Progress func(done, all int)
}

// SiteReport describes a site.
type SiteReport struct {
	Report
	// Sessions is the number of pages. Failed says why those of other sessions are missing.
	Sessions int
	Failed   []error
}

const (
	indexName = "index.js"
	// Limits on the prompts and final answers of a session in the search index.
	mostIndexed     = 16 << 10
	mostIndexedText = 1000
)

// Site writes sessions as a site of static files: index.html lists and searches them, and each has a page s/KEY.html. The site works from a
// folder as well as from a server. The rows are those of a catalogue, in order.
func Site(ctx context.Context, dir string, rows []place.Row, o SiteOptions) (*SiteReport, error) {
	index := filepath.Join(dir, "index.html")
	if err := vacant(index, o.Force); err != nil { // before anything of another site changes
		return nil, err
	}
	o.Format, o.AllBranches, o.Leaf = HTML, true, nil
	b := &siteBuilder{SiteOptions: o, dir: dir, keys: map[session.ID]string{}}
	rows, depth := place.Forks(rows)
	taken, keys := map[string]bool{}, make([]string, len(rows))
	for i := range rows {
		keys[i] = key(rows[i].ID, taken)
		if _, twice := b.keys[rows[i].ID]; !twice {
			b.keys[rows[i].ID] = keys[i]
		}
	}
	tasks := make([][]place.Row, len(rows)) // sub-agents by the session that started them
	for i, parent := range place.Parents(rows) {
		if parent >= 0 && rows[i].IsTask() {
			tasks[parent] = append(tasks[parent], rows[i])
		}
	}
	for i := range rows {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err := b.session(ctx, &rows[i], tasks[i], keys[i], depth[i]); err != nil {
			b.report.Failed = append(b.report.Failed, fmt.Errorf("%s: %w", rows[i].Path, err))
		}
		if o.Progress != nil {
			o.Progress(i+1, len(rows))
		}
	}
	b.list.Matched, b.list.Total, b.list.Index = len(b.list.Rows), len(b.list.Rows), indexName
	err := write(filepath.Join(dir, indexName), o.Force, func(w io.Writer) error { return page.IndexScript(w, b.index) })
	if err == nil {
		site := &page.Site{Export: true, Base: ".", Home: o.Home, Zone: o.Zone}
		err = write(index, o.Force, func(w io.Writer) error { return site.Sessions(w, b.list) })
	}
	return &b.report, err
}

// siteBuilder is a site while it is written.
type siteBuilder struct {
	SiteOptions
	dir    string
	keys   map[session.ID]string
	list   page.SessionsPage
	index  []page.IndexEntry
	report SiteReport
}

// session writes the page of a session. tasks are its sub-agents.
func (b *siteBuilder) session(ctx context.Context, row *place.Row, tasks []place.Row, key string, depth int) error {
	s, err := b.Open(ctx, row.Path)
	if err != nil {
		return err
	}
	defer s.Close()
	x, err := newExporter(ctx, s, b.Options)
	if err != nil {
		return err
	}
	for i := range tasks {
		tasks[i].Title = x.scrub.short(tasks[i].Heading())
	}
	x.doc.SetChildren(append([]place.Row{*row}, tasks...))
	x.keyOf = func(id session.ID) string { return b.keys[id] }
	entry := page.IndexEntry{Href: "s/" + key + ".html", Dialect: s.Dialect().Name(), Texts: []page.IndexText{}}
	room := mostIndexed
	site := &page.Site{Export: true, Base: "..", Home: b.Home, Zone: b.Zone}
	err = write(filepath.Join(b.dir, "s", key+".html"), b.Force, func(w io.Writer) error {
		c := &counter{w: w}
		err := x.page(ctx, c, site, key, func(list []transcript.Block) {
			for i := range list {
				room = indexBlock(&entry, &list[i], room)
			}
		})
		b.report.Size += c.n
		return err
	})
	if err != nil {
		return err
	}
	r := wire.NewRow(row)
	r.Title, r.Prompt, r.Path, r.CWD, r.Depth = x.title(ctx), "", "", x.scrub.short(r.CWD), &depth
	entry.Title = screen.OneLine(r.Title, 120)
	b.list.Rows = append(b.list.Rows, page.Row{Row: r, Key: key, When: row.When(), Task: row.IsTask()})
	if row.Known != nil {
		b.list.Tokens += row.Known.Tokens.Total
		b.list.Cost += row.Known.Cost
	}
	b.index = append(b.index, entry)
	b.report.Sessions++
	b.report.Entries += x.report.Entries
	b.report.Redactions = append(b.report.Redactions, x.redactions()...)
	b.report.Problems = append(b.report.Problems, s.Tree().Problems()...)
	return nil
}

// indexBlock adds the text of a prompt or a final answer, if there is room.
func indexBlock(entry *page.IndexEntry, b *transcript.Block, room int) int {
	if !b.Prompt && !b.Final {
		return room
	}
	for _, p := range b.Pieces {
		t, ok := p.(transcript.Text)
		if !ok || room <= 0 {
			continue
		}
		text, _ := cut(t.Text, min(mostIndexedText, room))
		text = strings.Join(strings.Fields(screen.Clean(text)), " ")
		room -= len(text)
		entry.Texts = append(entry.Texts, page.IndexText{Anchor: page.Anchor(b.ID), Text: text})
	}
	return room
}
