package place

import (
	"cmp"
	"context"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// The names of folders and files tell what the records of some sessions do not.

// FindCWD sets the working directory of a session whose log does not name it, if it is certain. That is so if a file near the log names it,
// if the other logs in the folder all name the same one, or if it is the only directory on this machine whose sessions would lie there.
// Nothing is guessed: a hyphen in a folder's name may be a hyphen or a slash. If logs disagree, the directory stays unknown. A session with
// runs gets the directory of its last run.
func (m *Machine) FindCWD(ctx context.Context, builder *session.Builder, l Location, d dialect.Dialect) {
	h := builder.Header()
	if h.CWD != "" {
		return
	}
	if h.CWD = m.marked(ctx, d, l.Path, map[string]string{}); h.CWD != "" {
		builder.SetHeader(h)
		return
	}
	p, ok := placer(d)
	if !ok {
		if h.CWD = m.lastRuns().cwd(ctx, d, h.ID, func() []byte { return h.Raw }); h.CWD != "" {
			builder.SetHeader(h)
		}
		return
	}
	abs, err := Abs(l.Path)
	if err != nil {
		return
	}
	folder := Base(Dir(abs))
	// The folder's name must fit too: a log may have been copied here from elsewhere. The first name that settles the question ends the
	// search: one that does not fit, or a second one.
	first := ""
	named := m.cwdsIn(ctx, l, d, func(cwd string) bool {
		first = cmp.Or(first, cwd)
		return cwd != first || !m.encodes(p, d, cwd, folder)
	})
	if len(named) == 1 && m.encodes(p, d, named[0], folder) {
		h.CWD = named[0]
	} else if len(named) == 0 {
		h.CWD, _ = p.WorkDir(m.opt.Env, folder)
	}
	builder.SetHeader(h)
}

// encodes reports whether sessions of a working directory would lie in a folder. If another directory has taken the plain
// name, the layout's rule for collisions gives a second name, which counts too.
func (m *Machine) encodes(p dialect.Placer, d dialect.Dialect, cwd, folder string) bool {
	another := func(string) []string { return []string{cwd + "/another"} }
	return d.Layout().Dir(m.opt.Env, cwd) == folder || p.DirBeside(m.opt.Env, cwd, another) == folder
}

// cwdsIn returns the working directories that the logs in a log's folder name, each once. It ends when enough reports true. A log whose row
// is kept is not read.
func (m *Machine) cwdsIn(ctx context.Context, l Location, d dialect.Dialect, enough func(cwd string) bool) []string {
	prefix := ""
	if i := strings.LastIndexByte(l.Name, '/'); i >= 0 {
		prefix = l.Name[:i+1]
	}
	buf, kept := m.NewPeeker(), m.keptRows(d.Name(), false)
	var list []string
	for log, err := range l.Backend.List(ctx, prefix) {
		if err != nil || strings.Contains(log.Name[len(prefix):], "/") || path.Ext(log.Name) != path.Ext(l.Name) {
			continue
		}
		row, ok := kept.summaryOf(&Row{Path: Join(Dir(l.Path), log.Name[len(prefix):]), Log: log})
		cwd := row.CWD
		if !ok {
			head, _, err := buf.Ends(ctx, l.Backend, log, endSize, 0)
			if err != nil {
				continue
			}
			cwd = d.Peek(head, nil, int64(len(head)) >= log.Size).CWD
		}
		if cwd == "" || slices.Contains(list, cwd) {
			continue
		}
		list = append(list, cwd)
		if enough(cwd) {
			break
		}
	}
	return list
}

// dirFor returns the folder for new sessions of a working directory, below an agent's folder of sessions.
func (m *Machine) dirFor(d dialect.Dialect, root dialect.Root, cwd string) string {
	layout := d.Layout()
	p, ok := layout.(dialect.Placer)
	if !ok {
		return Join(root.Sessions, filepath.ToSlash(layout.Dir(m.opt.Env, cwd)))
	}
	// Only for layouts that avoid a folder which has sessions of another directory.
	owners := func(dir string) []string {
		folder, name := Join(root.Sessions, dir), layout.File(time.Time{}, "x")
		if cwd := m.marked(context.Background(), d, Join(folder, name), map[string]string{}); cwd != "" {
			return []string{cwd}
		}
		b, _, below, err := m.openFolder(folder)
		if err != nil {
			return nil
		}
		want := m.Resolved(cwd)
		return m.cwdsIn(context.Background(), Location{b, below + name, Join(folder, name)}, d, func(c string) bool { return m.Resolved(c) == want })
	}
	return Join(root.Sessions, p.DirBeside(m.opt.Env, cwd, owners))
}

// listNames fills in rows of sessions that are listed by their names alone. It reads logs only if the name of their folder may mean several
// directories: usually one log for each folder.
func (m *Machine) listNames(ctx context.Context, b backend.Backend, p dialect.Placer, src Source, rows []Row) {
	d := src.Dialect
	known := map[string]string{} // by folder
	for i := range rows {
		r := &rows[i]
		r.Dialect = d
		r.Summary = dialect.Summary{OK: true, Messages: -1} // not counted
		r.ID, r.Created = p.Named(r.Log.Name)
		folder := path.Dir(src.below + r.Log.Name)
		cwd, ok := known[folder]
		if !ok {
			var several bool
			if cwd, several = p.WorkDir(m.opt.Env, folder); several {
				first := func(string) bool { return true }
				if named := m.cwdsIn(ctx, Location{b, r.Log.Name, r.Path}, d, first); len(named) > 0 && m.encodes(p, d, named[0], folder) {
					cwd = named[0]
				}
			}
			known[folder] = cwd
		}
		r.CWD = cwd
	}
}

// PlaceRows fills in what the names of logs say, and working directories that all other logs of the folder, or the runs, name. It needs all
// rows of a folder at once, so it comes after PeekAll.
func (m *Machine) PlaceRows(ctx context.Context, rows []Row) {
	m.entitle(ctx, rows)
	marks := map[string]string{}
	runs := m.lastRuns()
	type folder struct{ path, dialect string }
	named := map[folder]string{} // "" where logs differ
	var silent []int
	for i := range rows {
		r := &rows[i]
		p, ok := placer(r.Dialect)
		if _, ran := r.Dialect.(dialect.Runner); ran && r.OK && r.CWD == "" {
			if l, err := m.Locate(r.Path); err == nil {
				r.CWD = runs.cwd(ctx, r.Dialect, r.ID, func() []byte { return runs.header(ctx, l) })
			}
		}
		// An empty log is a session as well: its name has the id.
		if !ok || !r.OK && (r.Err != nil || r.Log.Size > 0) {
			continue
		}
		if r.ID == "" {
			r.ID, _ = p.Named(r.Log.Name)
		}
		if k, ok := r.Dialect.Layout().(dialect.Kin); ok {
			id, parent := k.Kin(r.Log.Name, r.ID)
			r.ID, r.Parent = id, cmp.Or(parent, r.Parent)
		}
		r.CWD = cmp.Or(r.CWD, m.marked(ctx, r.Dialect, r.Path, marks))
		at := folder{Dir(r.Path), r.Dialect.Name()}
		switch cwd, ok := named[at]; {
		case r.CWD == "":
			silent = append(silent, i)
		case !ok:
			named[at] = r.CWD
		case cwd != r.CWD:
			named[at] = ""
		}
	}
	for _, i := range silent {
		r := &rows[i]
		p, _ := placer(r.Dialect)
		at := folder{Dir(r.Path), r.Dialect.Name()}
		base := Base(at.path)
		cwd, ok := named[at]
		switch {
		case !ok:
			cwd, _ = p.WorkDir(m.opt.Env, base)
			named[at] = cwd
		case cwd != "" && !m.encodes(p, r.Dialect, cwd, base):
			cwd = ""
		}
		r.CWD = cwd
	}
}

// placer returns the layout of a dialect whose logs do not contain everything about themselves.
func placer(d dialect.Dialect) (dialect.Placer, bool) {
	if d == nil {
		return nil, false
	}
	p, ok := d.Layout().(dialect.Placer)
	return p, ok
}

// placed reports whether a session that names no working directory lies in the folder for sessions of cwd.
func (m *Machine) placed(r *Row, cwd string) bool {
	if p, ok := placer(r.Dialect); ok {
		return m.encodes(p, r.Dialect, cwd, Base(Dir(r.Path)))
	}
	if r.Dialect == nil {
		return false
	}
	dir := filepath.ToSlash(r.Dialect.Layout().Dir(m.opt.Env, UTF8(cwd)))
	return dir != "" && dir == path.Dir(r.Log.Name)
}

// byNames returns the layout of a dialect whose sessions are listed by their names alone.
func byNames(d dialect.Dialect) (dialect.Placer, bool) {
	p, ok := placer(d)
	if !ok {
		return nil, false
	}
	o, ok := d.Layout().(dialect.Orderer)
	return p, ok && o.Order() == dialect.OrderNames
}

// shares reports whether other values keep logs below the same folder.
func shares(l dialect.Layout) bool {
	sharer, ok := l.(dialect.Sharer)
	return ok && sharer.Shares()
}
