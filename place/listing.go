package place

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/session"
)

// ListingOptions say which sessions an agent's own list shows.
type ListingOptions struct {
	// Dialect is the agent's; nil is the default one.
	Dialect dialect.Dialect
	// CWD is the working directory whose sessions are wanted; "" means all.
	CWD string
	// Dir is the folder to look in, without those below; "" is where the agent keeps the sessions of CWD.
	Dir string
	// NoTexts leaves out the member that holds the texts of all messages.
	NoTexts bool
}

// Listings returns the sessions as the agent's own program lists them, in its format and order. It reads whole logs, so List is
// faster; with Options.Rows it reads only those that changed. Logs that are not sessions are left out.
func (m *Machine) Listings(ctx context.Context, opt ListingOptions) ([][]byte, error) {
	deep := opt.Dir == "" && opt.CWD == ""
	if opt.CWD != "" {
		opt.CWD = m.Absolute(opt.CWD)
	}
	var rows []*listed
	for _, d := range m.listedFor(cmp.Or(opt.Dialect, m.opt.Dialects[0])) {
		part, err := m.listingsOf(ctx, d, opt)
		if err != nil {
			return nil, err
		}
		rows = append(rows, part...)
	}
	slices.SortFunc(rows, func(a, b *listed) int {
		order := b.Modified.Compare(a.Modified)
		if order == 0 && deep && !a.named {
			order = b.log.Time.Compare(a.log.Time)
		}
		// Equal times, as those of a session and its fork, are ordered by name: names begin with the time of creation.
		return cmp.Or(order, strings.Compare(path.Base(b.log.Name), path.Base(a.log.Name)), strings.Compare(b.log.Name, a.log.Name))
	})
	list := make([][]byte, len(rows))
	for i, l := range rows {
		list[i] = l.JSON
		if opt.NoTexts && l.Plain != nil {
			list[i] = l.Plain
		}
	}
	return list, nil
}

// listedFor returns the dialects whose sessions an agent lists. The dialect of an agent's runs stands for its sessions and for the values
// after it in the family, whose sessions the program lists as well.
func (m *Machine) listedFor(d dialect.Dialect) []dialect.Dialect {
	if !IsRuns(d) {
		return []dialect.Dialect{d}
	}
	d = Sessions(d)
	list := m.opt.Dialects[max(slices.Index(m.opt.Dialects, d), 0):]
	return slices.DeleteFunc(slices.Clone(list), func(o dialect.Dialect) bool { return o.Family() != d.Family() })
}

// listingsOf returns the rows of one dialect.
func (m *Machine) listingsOf(ctx context.Context, d dialect.Dialect, opt ListingOptions) ([]*listed, error) {
	// own is the folder in which the agent itself would look.
	own := ""
	if opt.CWD != "" {
		own = m.Home(d, opt.CWD)
	}
	var dirs []string
	deep := false
	switch {
	case opt.Dir != "":
		dirs = []string{m.In(d, opt.Dir)}
	case own != "":
		dirs = append([]string{own}, m.elsewhere(d, opt.CWD, own)...)
	default:
		deep = true
		for _, r := range m.roots(d) {
			dirs = append(dirs, r.Sessions)
		}
	}
	w, _ := d.(dialect.Writer)
	shared := d.Layout().Dir(m.opt.Env, opt.CWD) == "" // one folder for all working directories
	// The agent's own folder of a directory holds that directory's sessions; in any other the header decides.
	filter := w != nil && w.Habits().ListsByCWD && own != "" && (shared || m.Resolved(own) != m.Resolved(dirs[0]))
	var rows []*listed
	for i, dir := range dirs {
		part, err := m.listingsIn(ctx, d, dir, deep, opt.NoTexts)
		if err != nil {
			return nil, err
		}
		strict := filter || i > 0 && !deep
		rows = append(rows, slices.DeleteFunc(part, func(l *listed) bool {
			return strict && (l.CWD == "" || m.Resolved(l.CWD) != m.Resolved(opt.CWD))
		})...)
	}
	return rows, nil
}

// elsewhere returns the folders besides own in which sessions of a working directory may lie, because another version of the agent names
// them differently.
func (m *Machine) elsewhere(d dialect.Dialect, cwd, own string) (dirs []string) {
	e, ok := d.Layout().(dialect.Elsewhere)
	if !ok {
		return nil
	}
	for _, name := range e.OtherDirs(m.opt.Env, cwd) {
		if dir := Join(m.roots(d)[0].Sessions, name); dir != own && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// listed is a row and its log.
type listed struct {
	*dialect.Listing
	log   backend.Log
	named bool // the agent orders its sessions by their names
}

// listingsIn returns the rows of a folder.
func (m *Machine) listingsIn(ctx context.Context, d dialect.Dialect, dir string, deep, noTexts bool) ([]*listed, error) {
	b, root, logs, err := m.logsIn(ctx, d, dir, deep)
	if err != nil {
		return nil, err
	}
	lister, lists := d.(dialect.Lister)
	made, rows := make([]*dialect.Listing, len(logs)), make([]Row, len(logs))
	kept := m.keptRows(d.Name(), !noTexts)
	if !deep {
		kept.look(dir)
	}
	each(ctx, len(logs), 1, func() func(int) {
		return func(i int) {
			r := &rows[i]
			*r = Row{Path: Join(root, logs[i].Name), Log: logs[i]}
			if lists {
				made[i] = kept.listing(r, func() (*dialect.Listing, bool) { return m.listing(ctx, b, r, d, lister) })
			} else {
				kept.summary(r, d, func() bool { return m.known(ctx, b, r, d) })
			}
		}
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	kept.save()
	if !lists {
		rows = Drop(rows, func(r *Row) bool { return r.Dialect == nil })
		m.PlaceRows(ctx, rows)
	}
	_, named := byNames(d)
	var list []*listed
	for i := range rows {
		l := made[i]
		if !lists {
			l = plainListing(&rows[i])
		}
		if l != nil {
			list = append(list, &listed{l, rows[i].Log, named})
		}
	}
	return list, nil
}

// logsIn returns the logs of a folder that the agent may list, by name; with deep set, also those in folders below. Names are relative to
// root.
func (m *Machine) logsIn(ctx context.Context, d dialect.Dialect, dir string, deep bool) (b backend.Backend, root string, logs []backend.Log, err error) {
	b, root, below, err := m.openFolder(dir)
	if err != nil {
		return nil, "", nil, err
	}
	p, placed := placer(d)
	shows := func(name string) bool {
		return (deep || !strings.Contains(name, "/")) && (!placed || p.Main(name))
	}
	if l, ok := d.(dialect.Lister); ok {
		shows = func(name string) bool { return l.Shows(name, deep) }
	}
	src := m.folder(d, dir)
	for log, err := range b.List(ctx, below) {
		name := strings.TrimPrefix(log.Name, below)
		// A folder that cannot be read hides only its own sessions.
		if err == nil && src.Owns(name) && shows(name) {
			logs = append(logs, log)
		}
	}
	return b, root, logs, nil
}

// listing returns a session's row in the agent's own form, nil if it has none. A log that cannot be opened is left out, as in the agents'
// programs; then sure is false, since the log may be readable later.
func (m *Machine) listing(ctx context.Context, b backend.Backend, r *Row, d dialect.Dialect, lister dialect.Lister) (_ *dialect.Listing, sure bool) {
	l, err := m.OpenLog(ctx, Location{b, r.Log.Name, r.Path}, nil)
	if err != nil {
		return nil, errors.Is(err, logtree.ErrNotSession)
	}
	defer l.Close()
	// The program would not show a log of another agent.
	if l.Tree.Header().Raw == nil || l.Dialect.Family() != d.Family() {
		return nil, true
	}
	row, err := lister.List(l.Tree, r.Path, r.Log.Time)
	if err != nil {
		return nil, errors.Is(err, dialect.ErrNotShown)
	}
	return &row, true
}

// known fills in the row of a session from its whole log. If the log is not a session of the family, the row has no Dialect. sure is false
// if the log could not be read. PlaceRows adds the working directory of a session that does not name it.
func (m *Machine) known(ctx context.Context, b backend.Backend, r *Row, d dialect.Dialect) (sure bool) {
	// An empty log is a session if its name says all that a header would.
	var read dialect.Dialect
	if _, placed := placer(d); placed && r.Log.Size == 0 {
		read = d
	}
	l, err := m.Reader().Open(ctx, b, r.Log.Name, r.Path, read)
	if err != nil {
		return errors.Is(err, logtree.ErrNotSession)
	}
	defer l.Close()
	h := l.Tree.Header()
	if h.Raw == nil && read == nil || l.Dialect.Family() != d.Family() {
		return true
	}
	m.NewPeeker().Peek(ctx, b, r, ListOptions{Dialect: l.Dialect})
	r.Dialect, r.ID, r.CWD, r.Parent, r.Created, r.OK = d, h.ID, h.CWD, h.Parent, h.Timestamp, true
	// The session is listed even if its name cannot be read.
	r.Title, _ = logtree.Title(l.Dialect, l.Tree)
	r.Messages = 0
	for e := range l.Tree.Entries() {
		if e.IsMessage() {
			r.Messages++
		}
	}
	return true
}

// plainListing returns the row of a session whose agent has no form of its own for rows.
func plainListing(r *Row) *dialect.Listing {
	const iso = "2006-01-02T15:04:05.000Z"
	row := struct {
		Path     string  `json:"path"`
		ID       string  `json:"id"`
		CWD      string  `json:"cwd"`
		Title    string  `json:"title,omitempty"`
		Parent   string  `json:"parentSessionPath,omitempty"`
		Created  *string `json:"created"`
		Modified string  `json:"modified"`
		Messages int     `json:"messageCount"`
		First    string  `json:"firstMessage"`
		Size     int64   `json:"fileSize"`
	}{
		Path: r.Path, ID: string(r.ID), CWD: r.CWD, Title: r.Title, Parent: r.Parent,
		Messages: r.Messages, First: r.Prompt, Size: r.Log.Size,
	}
	modified := r.Log.Time
	if o, ok := r.Dialect.Layout().(dialect.Orderer); ok && o.Order() == dialect.OrderActive {
		modified = r.When()
	}
	row.Modified = modified.UTC().Format(iso)
	if at, ok := r.Created.Time(); ok {
		created := at.UTC().Format(iso)
		row.Created = &created
	}
	text, err := json.Marshal(row)
	if err != nil {
		return nil
	}
	return &dialect.Listing{JSON: text, CWD: r.CWD, Modified: r.When()}
}

// RecentSession is a session among the recent ones of a folder.
type RecentSession struct {
	Path string
	// Changed is when its log was last written.
	Changed time.Time
	dialect.Recent
}

// Recent returns the newest sessions of a folder, at most limit, under the names that the agent shows. Usually it reads only the beginning
// of each log, and the end if the agent sorts by the last message; with Options.Rows only logs that changed. d nil is the dialect of the
// folder.
func (m *Machine) Recent(ctx context.Context, d dialect.Dialect, dir string, limit int) ([]RecentSession, error) {
	if d == nil {
		d = m.dialectOf(ctx, dir)
	}
	d = Sessions(d)
	dir = m.In(d, dir)
	b, root, logs, err := m.logsIn(ctx, d, dir, false)
	if err != nil {
		return nil, err
	}
	rows := make([]Row, len(logs))
	for i, log := range logs {
		rows[i] = Row{Dialect: d, Path: Join(root, log.Name), Log: log}
	}
	when, order := continues(d)
	if p, ok := placer(d); ok && order == dialect.OrderNames {
		for i := range rows {
			rows[i].ID, rows[i].Created = p.Named(rows[i].Log.Name)
		}
	}
	buf, kept := m.NewPeeker(), m.keptRows(d.Name()+".recent", false)
	kept.look(dir)
	heads := map[string]recentHead{}
	var unknown []Row
	var at []int
	for i := range rows {
		head, ok := kept.recentOf(&rows[i])
		if !ok && order == dialect.OrderActive {
			unknown, at = append(unknown, rows[i]), append(at, i)
		}
		rows[i].Active = session.Time{Text: head.Active}
		heads[rows[i].Path] = head
	}
	m.PeekAll(ctx, b, unknown, ListOptions{Dialect: d})
	for i, r := range unknown {
		rows[at[i]] = r
		heads[r.Path] = recentHead{Active: r.Active.Text}
		if r.Err == nil || errors.Is(r.Err, logtree.ErrNotSession) {
			kept.keepRecent(&r, heads[r.Path])
		}
	}
	var list []RecentSession
	// The sort is stable: among equals the first name stays first.
	for _, row := range NewestFirst(rows, when) {
		if len(list) >= limit {
			break
		}
		head := heads[row.Path]
		if !head.Named {
			at := row // as it was listed
			head.Named = true
			var sure bool
			if head.Recent, head.Shown, sure = recentName(ctx, b, &row, d, buf); sure {
				kept.keepRecent(&at, head)
			}
		}
		if head.Shown {
			list = append(list, RecentSession{Path: row.Path, Changed: row.Log.Time, Recent: head.Recent})
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	kept.save()
	return list, nil
}

// dialectOf returns the dialect of a folder: that of its first log, since several values may share the agent's place.
func (m *Machine) dialectOf(ctx context.Context, dir string) dialect.Dialect {
	if b, root, below, err := m.openFolder(dir); err == nil {
		for log, err := range b.List(ctx, below) {
			if err == nil {
				return m.DialectAt(Join(root, log.Name))
			}
		}
	}
	return m.DialectAt(dir)
}

// recentName returns the name of one log among the recent ones. ok is false if it is not a session of that family; sure is false if the log
// could not be read.
func recentName(ctx context.Context, b backend.Backend, row *Row, d dialect.Dialect, buf *Peeker) (r dialect.Recent, ok, sure bool) {
	if l, ok := d.(dialect.Lister); ok {
		head, _, err := buf.Ends(ctx, b, row.Log, dialect.RecentHead, 0)
		if err != nil {
			return r, false, false
		}
		if r, ok = l.Recent(head, row.Path); ok {
			return r, true, true
		}
	}
	// The header is longer than the piece that was read, or the agent has no such list.
	buf.Peek(ctx, b, row, ListOptions{})
	p, placed := placer(d)
	empty := placed && row.Log.Size == 0 // a session that has only a name
	if row.Err != nil || !empty && (!row.OK || row.Dialect.Family() != d.Family()) {
		return r, false, row.Err == nil || errors.Is(row.Err, logtree.ErrNotSession)
	}
	if placed && row.ID == "" {
		row.ID, _ = p.Named(row.Log.Name)
	}
	return dialect.NameRecent(row.Title, row.Prompt, string(row.ID)), true, true
}
