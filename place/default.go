package place

import (
	"context"

	"github.com/treeline-dev/treeline/dialect"
)

// Default is where a session goes if no dialect is named.
type Default struct {
	Dialect dialect.Dialect
	// Dir is the folder of the log; "" is where the dialect's agent would keep it.
	Dir string
}

// Default chooses for a new session of a working directory. It is the first dialect if its agent's folder exists; otherwise the dialect of
// the directory's newest session that can be written, unless that lies in Options.Own; otherwise the first dialect, in Options.Own.
func (m *Machine) Default(ctx context.Context, cwd string) (Default, error) {
	first := m.opt.Dialects[0]
	if len(m.opt.Roots) > 0 || m.opt.Env.Access == nil || m.opt.Own == "" || m.hasAgent(first) {
		return Default{Dialect: first}, nil
	}
	cwd = m.Absolute(cwd)
	rows, err := m.List(ctx, ListOptions{CWD: cwd})
	if err != nil {
		return Default{}, err
	}
	own := first.Layout().RootAt(m.opt.Own)
	for i := range rows {
		if _, ok := dialect.AsWriter(rows[i].Dialect); !ok || rows[i].Err != nil || !rows[i].OK {
			continue
		}
		if Within(own.Sessions, rows[i].Path) {
			break
		}
		return Default{Dialect: rows[i].Dialect}, nil
	}
	return Default{Dialect: first, Dir: m.dirFor(first, own, cwd)}, nil
}

// hasAgent reports whether a folder of a dialect's agent exists.
func (m *Machine) hasAgent(d dialect.Dialect) bool {
	for _, r := range d.Layout().Roots(m.opt.Env) {
		if exists, _, _ := m.opt.Env.Access(Dir(r.Sessions)); exists {
			return true
		}
	}
	return false
}
