package place

import (
	"cmp"
	"context"
	"path/filepath"
	"strings"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// markMost is how long a file may be that names a working directory.
const markMost = 64 << 10

// markOf gives the path of the file that names the working directory of a log, "" where the agent has none.
func markOf(d dialect.Dialect, log string) string {
	if d == nil {
		return ""
	}
	if l, ok := d.Layout().(dialect.Marked); ok {
		return l.Mark(filepath.ToSlash(log))
	}
	return ""
}

// readMark gives the working directory in such a file. A file that is missing, or cannot be read, names none.
func (m *Machine) readMark(ctx context.Context, path string) string {
	if path == "" {
		return ""
	}
	l, err := m.Locate(path)
	if err != nil {
		return ""
	}
	at, err := l.Backend.Stat(ctx, l.Name)
	if err != nil || at.Size > markMost {
		return ""
	}
	content, err := backend.ReadAll(ctx, l.Backend, at)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(content))
}

// marks fills in the working directories that files near the logs name.
func (m *Machine) marks(ctx context.Context, rows []Row) {
	known := map[string]string{} // by the file's path
	for i := range rows {
		r := &rows[i]
		if !r.OK || r.CWD != "" {
			continue
		}
		path := markOf(r.Dialect, r.Path)
		cwd, ok := known[path]
		if !ok {
			cwd = m.readMark(ctx, path)
			known[path] = cwd
		}
		r.CWD = cwd
	}
}

// Current drops the logs of a session that its agent does not go on with, where it may leave several of one session. See
// dialect.Doubler. The rows are those of one source; the slice is used again.
func Current(rows []Row) []Row {
	type key struct {
		dialect string
		id      session.ID
	}
	best := map[key]int{}
	doubles := func(r *Row) bool {
		if r.Dialect == nil || !r.OK || r.ID == "" {
			return false
		}
		l, ok := r.Dialect.Layout().(dialect.Doubler)
		return ok && l.Doubles()
	}
	of := func(r *Row) key { return key{r.Dialect.Name(), r.ID} }
	for i := range rows {
		if r := &rows[i]; doubles(r) {
			if k, ok := best[of(r)]; !ok || later(r, &rows[k]) {
				best[of(r)] = i
			}
		}
	}
	if len(best) == 0 {
		return rows
	}
	kept := make(map[string]bool, len(best))
	for _, i := range best {
		kept[rows[i].Path] = true
	}
	return Drop(rows, func(r *Row) bool { return doubles(r) && !kept[r.Path] })
}

// later reports whether an agent goes on with a and not with b, two logs of one session.
func later(a, b *Row) bool {
	if (a.Prompt == "") != (b.Prompt == "") {
		return a.Prompt != ""
	}
	x, _ := a.Active.Time()
	y, _ := b.Active.Time()
	return cmp.Or(x.Compare(y), strings.Compare(a.Log.Name, b.Log.Name)) > 0
}
