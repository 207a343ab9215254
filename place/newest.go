package place

import (
	"context"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/dialect"
)

// Newest finds the session of a working directory that its agent would go on with, in one folder or, with dir "", in all
// of the dialect's places. ok is false if there is none.
func (m *Machine) Newest(ctx context.Context, d dialect.Dialect, dir, cwd string) (row Row, ok bool, err error) {
	roots := []dialect.Root{{Sessions: dir}}
	// Only the depth of this name counts: how many folders the agent puts its sessions into.
	usual := filepath.ToSlash(d.Layout().File(time.Time{}, "x"))
	if dir == "" {
		roots = m.roots(d)
		usual = path.Join(filepath.ToSlash(d.Layout().Dir(m.opt.Env, cwd)), usual)
	}
	depth := strings.Count(usual, "/")
	shown, lists := d.(dialect.Lister)
	var rows []Row
	for _, r := range roots {
		part, err := m.listSource(ctx, Source{Dialect: d, Root: r, Needs: m.needs(r)}, ListOptions{})
		if err != nil {
			return Row{}, false, err
		}
		// Logs that lie deeper are those of subagents.
		part = slices.DeleteFunc(part, func(r Row) bool {
			p, ok := placer(r.Dialect)
			return strings.Count(r.Log.Name, "/") > depth || ok && !p.Main(r.Log.Name) || lists && !shown.Shows(r.Log.Name, dir == "")
		})
		rows = append(rows, part...)
	}
	// Most agents go on with the log that was written last, whatever their lists show.
	when := func(r *Row) time.Time { return r.Log.Time }
	if w, ok := d.(dialect.Writer); ok && w.Habits().ContinuesListed {
		when = (*Row).When
	}
	for _, r := range NewestFirst(m.InDir(cwd, rows), when) {
		if r.Err == nil && r.OK {
			return r, true, nil
		}
	}
	return Row{}, false, nil
}
