package logtree

import (
	"context"
	"fmt"
	"path"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
)

// supply reads what the decoder of a log asks for. If the place of the log is not known, the log's own backend stands for
// the folder of sessions.
func (r Reader) supply(ctx context.Context, b backend.Backend, name, at string, d dialect.Dialect, n dialect.Need) ([]byte, error) {
	if n.Kind == dialect.NeedBeside {
		n.Name = path.Join(path.Dir(name), n.Name)
	} else if r.Around != nil {
		around, err := r.Around(d, at, n.Kind)
		if err != nil {
			return nil, err
		}
		if around != nil {
			b = around
		}
	}
	if n.Kind == dialect.NeedLog {
		found, err := lastMatch(ctx, b, n.Name)
		if err != nil {
			return nil, err
		}
		n.Name = found
	}
	log, err := b.Stat(ctx, n.Name)
	if err != nil {
		return nil, err
	}
	return backend.ReadAll(ctx, b, log)
}

// lastMatch gives the last log, in name order, that matches a pattern of path.Match.
func lastMatch(ctx context.Context, b backend.Backend, pattern string) (found string, err error) {
	err = fmt.Errorf("%s: %w", pattern, backend.ErrNotExist)
	for log, failed := range b.List(ctx, "") {
		if failed != nil {
			err = failed // of one folder: the log may be in another
		} else if ok, _ := path.Match(pattern, log.Name); ok {
			found = log.Name
		}
	}
	if found != "" {
		return found, nil
	}
	return "", err
}
