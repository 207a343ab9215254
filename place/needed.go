package place

import (
	"context"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/session"
)

// NeededBy returns the paths of the logs that cannot be read whole without the log at l, because they continue it. It looks where the
// agent's logs may continue others, and reads the first record of each log there.
func (m *Machine) NeededBy(ctx context.Context, d dialect.Dialect, l Location) (by []string, err error) {
	if _, ok := d.NewDecoder(session.NewBuilder("", nil)).(dialect.LogNeeder); !ok {
		return nil, nil
	}
	own, err := Abs(l.Path)
	if err != nil {
		return nil, err
	}
	around, err := m.around(d, own, dialect.NeedLog)
	if err != nil {
		return nil, err
	}
	if len(around) == 0 {
		around = []logtree.Folder{{Backend: l.Backend, Path: strings.TrimSuffix(filepath.ToSlash(own), "/"+l.Name)}}
	}
	for _, f := range around {
		for log, err := range f.Backend.List(ctx, "") {
			// A log that cannot be read is taken to continue no other.
			if at := Join(f.Path, log.Name); err == nil && at != own && needs(ctx, d, f.Backend, log, path.Base(l.Name)) {
				by = append(by, at)
			}
		}
	}
	slices.Sort(by)
	return slices.Compact(by), ctx.Err()
}

// needs reports whether the first record of a log refers to another log of that name.
func needs(ctx context.Context, d dialect.Dialect, b backend.Backend, at backend.Log, name string) (found bool) {
	ask := func(n dialect.Need) error {
		if ok, _ := path.Match(n.Name, name); ok && n.Kind == dialect.NeedLog {
			found = true
		}
		return backend.ErrNotExist
	}
	dec := dialect.Supplies{
		File: func(n dialect.Need) ([]byte, error) { return nil, ask(n) },
		Log:  func(n dialect.Need) (dialect.OtherLog, error) { return nil, ask(n) },
	}.Meet(d.NewDecoder(session.NewBuilder("", nil)))
	for r, err := range logtree.Records(ctx, b, at) {
		if err == nil {
			dec.Decode(r)
		}
		break
	}
	return found
}
