package place

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// marked returns the working directory that a file near a log names, if the agent has such files; see dialect.Marked. It is "" if the file
// is missing or cannot be read. known caches what was read before.
func (m *Machine) marked(ctx context.Context, d dialect.Dialect, log string, known map[string]string) (cwd string) {
	path, ok := "", false
	if l, marks := d.Layout().(dialect.Marked); marks {
		path = l.Mark(filepath.ToSlash(log))
	}
	if cwd, ok = known[path]; ok || path == "" {
		return cwd
	}
	if l, err := m.Locate(path); err == nil {
		if at, err := l.Backend.Stat(ctx, l.Name); err == nil && at.Size <= sideMost {
			content, _ := backend.ReadAll(ctx, l.Backend, at)
			cwd = strings.TrimSpace(string(content))
		}
	}
	known[path] = cwd
	return cwd
}

// Current drops the logs of a session that its agent does not continue; see dialect.Doubler. The rows are those of one source; the slice is
// reused.
func Current(rows []Row) []Row {
	best, kept := map[session.ID]int{}, map[string]bool{}
	for i := range rows {
		if r := &rows[i]; r.Doubles() {
			if k, ok := best[r.ID]; !ok || r.Summary.Later(&rows[k].Summary) {
				best[r.ID] = i
			}
		}
	}
	for _, i := range best {
		kept[rows[i].Path] = true
	}
	return Drop(rows, func(r *Row) bool { return r.Doubles() && !kept[r.Path] })
}

// Doubles reports whether the row is a session that may have several logs; see dialect.Doubler.
func (r *Row) Doubles() bool {
	if r.Dialect == nil || !r.OK || r.ID == "" {
		return false
	}
	l, ok := r.Dialect.Layout().(dialect.Doubler)
	return ok && l.Doubles()
}
