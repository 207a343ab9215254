package logtree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"path"
	"path/filepath"
	"strings"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
)

// asking resolves the needs of one log's decoder.
type asking struct {
	ctx        context.Context
	r          Reader
	b          backend.Backend
	name, path string
	d          dialect.Dialect
	src        *Source // of the log; it also closes the other logs; may be nil
}

// file reads a file that the decoder of a log needs.
func (a *asking) file(n dialect.Need) ([]byte, error) {
	b, at, err := a.find(n)
	if err != nil {
		return nil, err
	}
	return backend.ReadAll(a.ctx, b, at)
}

// log opens another log that the decoder needs.
func (a *asking) log(n dialect.Need) (dialect.OtherLog, error) {
	b, at, err := a.find(n)
	if err != nil {
		return nil, err
	}
	o := &otherLog{LazySource(b, at), a.ctx}
	if a.src != nil {
		a.src.with(o.Source)
	}
	return o, nil
}

// find resolves a need. If the place of the log is unknown, the log's own backend serves as the folder of sessions.
func (a *asking) find(n dialect.Need) (b backend.Backend, at backend.Log, err error) {
	around := []Folder{{a.b, cmp.Or(strings.TrimSuffix(strings.TrimSuffix(filepath.ToSlash(a.path), a.name), "/"), ".")}}
	if n.Kind == dialect.NeedBeside {
		n.Name = path.Join(path.Dir(a.name), n.Name)
	} else if a.r.Around != nil {
		found, err := a.r.Around(a.d, a.path, n.Kind)
		if err != nil {
			return nil, backend.Log{}, err
		}
		if len(found) > 0 {
			around = found
		}
	}
	var looked []string
	for _, f := range around {
		name := n.Name
		looked = append(looked, f.Path)
		if n.Kind == dialect.NeedLog {
			if name, err = match(a.ctx, f.Backend, n.Name, a.name); err != nil {
				continue
			}
		}
		if at, err = f.Backend.Stat(a.ctx, name); err == nil {
			return f.Backend, at, nil
		}
		if !errors.Is(err, backend.ErrNotExist) {
			break
		}
	}
	// The decoder reports what it asked for; the folders say more than the pattern.
	if n.Kind == dialect.NeedLog && errors.Is(err, backend.ErrNotExist) {
		err = fmt.Errorf("%w in %s", backend.ErrNotExist, strings.Join(looked, " or "))
	}
	return nil, backend.Log{}, err
}

// belongings is the suffix of a folder whose logs belong to one log: b.d beside b.jsonl.
const belongings = ".d"

// match returns the log that matches a pattern of path.Match: the one in the folder of the asking log (b.d for b.jsonl), else
// the last in name order. Folders that belong to other logs are skipped.
func match(ctx context.Context, b backend.Backend, pattern, asks string) (found string, err error) {
	folder, own := path.Dir(asks), strings.TrimSuffix(asks, path.Ext(asks))+belongings
	err = backend.ErrNotExist
	list := b.List
	if g, ok := b.(backend.Glimpser); ok {
		list = g.Names
	}
	for log, failed := range list(ctx, "") {
		if failed != nil {
			err = failed // the error is about one folder; the log may be in another
			continue
		}
		name := log.Name
		if strings.IndexByte(pattern, '/') < 0 {
			name = path.Base(name)
		}
		if ok, _ := path.Match(pattern, name); !ok {
			continue
		}
		switch in := path.Dir(log.Name); {
		case in == own:
			return log.Name, nil
		case in == folder || path.Ext(in) != belongings:
			found = log.Name
		}
	}
	if found != "" {
		return found, nil
	}
	return "", err
}

// otherLog is a log that the decoder of another log reads.
type otherLog struct {
	*Source
	ctx context.Context
}

// Size implements dialect.OtherLog.
func (o *otherLog) Size() int64 { return o.at.Size }

// Records implements dialect.OtherLog.
func (o *otherLog) Records() iter.Seq2[dialect.Record, error] {
	return func(yield func(dialect.Record, error) bool) {
		o.mu.Lock()
		if o.r == nil {
			if err := o.open(o.ctx); err != nil {
				o.mu.Unlock()
				yield(dialect.Record{}, err)
				return
			}
		}
		r := o.r
		o.mu.Unlock()
		numbered(backend.Records(o.ctx, o.b, o.at, r, 0), o.at.Name, backend.Lines(o.b, o.at.Name))(yield)
	}
}
