package place

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/index"
)

// SourceInfo is a source and what is in it.
type SourceInfo struct {
	Source
	// Exists says whether the folder is there.
	Exists bool
	// Sessions counts them, Bytes is how large they are together, Newest when one was last changed; zero where there is none.
	Sessions int
	Bytes    int64
	Newest   time.Time
	// Dialects are those of the sessions, the most frequent first.
	Dialects []dialect.Dialect
	// Err says why it could not be read, or not all of it.
	Err error
}

// LookAtSources says of each source what is in it. Nothing is read of logs that the catalogue knows as they are now, and
// the two ends of others. What is not a session does not count.
func (m *Machine) LookAtSources(ctx context.Context, known *index.Catalogue) ([]SourceInfo, error) {
	var list []SourceInfo
	for _, src := range m.Sources() {
		info := SourceInfo{Source: src}
		if err := m.lookAt(ctx, &info, known.Logs(src.Key())); err != nil {
			return nil, err
		}
		list = append(list, info)
	}
	return list, nil
}

// lookAt fills in what is in a source, of whose logs some are known, in the order of their names.
func (m *Machine) lookAt(ctx context.Context, info *SourceInfo, known []index.Log) error {
	// A folder that is there and empty is told from one that is not.
	if m.opt.Env.Access != nil {
		info.Exists, _, _ = m.opt.Env.Access(info.Root.Sessions)
	}
	if info.Needs != "" {
		return nil
	}
	b, err := m.Open(info.Root.Sessions)
	if err != nil {
		return err
	}
	_, named := byNames(info.Dialect)
	counts := map[dialect.Dialect]int{}
	var unknown []Row
	for log, err := range b.List(ctx, "") {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			info.Err = err
			continue
		case !info.Owns(log.Name):
			continue
		}
		info.Exists = true
		// Such a source is listed without opening a log, and so it is counted.
		if named {
			info.count(counts, log, info.Dialect)
			continue
		}
		i, ok := slices.BinarySearchFunc(known, log.Name, func(l index.Log, name string) int { return strings.Compare(l.Name, name) })
		// The catalogue is not brought up to date for it: a look at the sources should cost no more than a list.
		if !ok || !known[i].Stamp.Same(log.Generation, log.Size, log.Time.UnixNano()) {
			unknown = append(unknown, Row{Source: info.Source, Path: info.PathOf(log.Name), Log: log})
			continue
		}
		if d, err := m.Dialect(known[i].Summary.Dialect); err == nil && (known[i].Summary.Session || log.Size == 0) {
			info.count(counts, log, d)
		}
	}
	m.PeekAll(ctx, b, unknown, ListOptions{})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for i := range unknown {
		if r := &unknown[i]; r.Err == nil {
			info.count(counts, r.Log, r.Dialect)
		}
	}
	// In their own order, so that equals stand the same way each time.
	for _, d := range m.opt.Dialects {
		if counts[d] > 0 {
			info.Dialects = append(info.Dialects, d)
		}
	}
	slices.SortStableFunc(info.Dialects, func(a, b dialect.Dialect) int { return cmp.Compare(counts[b], counts[a]) })
	return nil
}

// count adds a log that is a session of that dialect. Logs of runs are none, wherever they lie.
func (info *SourceInfo) count(counts map[dialect.Dialect]int, log backend.Log, d dialect.Dialect) {
	if IsRuns(d) {
		return
	}
	counts[d]++
	info.Sessions++
	info.Bytes += log.Size
	if log.Time.After(info.Newest) {
		info.Newest = log.Time
	}
}
