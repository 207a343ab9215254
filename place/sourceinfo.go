package place

import (
	"cmp"
	"context"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/internal/sorting"
)

// SourceInfo is a source and what is in it.
type SourceInfo struct {
	Source
	// Exists: the folder exists.
	Exists bool
	// Sessions is the number of sessions, Bytes their total size, Newest the time of the last change.
	Sessions int
	Bytes    int64
	Newest   time.Time
	// Dialects are the dialects of the sessions, the most frequent first.
	Dialects []dialect.Dialect
	// Err is why not all of it could be read.
	Err error
}

// LookAtSources returns what is in each source. A log that is up to date in the catalogue is not read; of any other log the two ends are
// read. Only sessions count.
func (m *Machine) LookAtSources(ctx context.Context, known *index.Catalogue) ([]SourceInfo, error) {
	var list []SourceInfo
	for _, src := range m.Sources() {
		info := SourceInfo{Source: src}
		if err := m.lookAt(ctx, &info, known.Logs(src.Key())); err != nil {
			return nil, err
		}
		if src.Why == WhyOwn && !info.Exists {
			continue // it appears with its first session
		}
		list = append(list, info)
	}
	return list, nil
}

// lookAt fills in what is in a source. known are the logs in the catalogue, sorted by name.
func (m *Machine) lookAt(ctx context.Context, info *SourceInfo, known *index.Logs) error {
	// An empty folder exists, too.
	if m.opt.Env.Access != nil {
		info.Exists, _, _ = m.opt.Env.Access(info.Root.Sessions)
	}
	if info.Needs != "" || info.Source.Err != nil {
		return info.Source.Err
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
		// Such a source is listed without opening a log.
		if named {
			info.count(counts, log, info.Dialect)
			continue
		}
		i, ok := known.Find(log.Name)
		var l index.Brief
		if ok {
			l = known.Brief(i)
		}
		// The catalogue is not brought up to date: that would cost more than the list.
		if !ok || !l.Same(log.Generation, log.Size, log.Time.UnixNano(), log.Changed) {
			unknown = append(unknown, Row{Source: info.Source, Path: info.PathOf(log.Name), Log: log})
			continue
		}
		if d, err := m.Dialect(l.Dialect); err == nil && (l.Session || log.Size == 0) {
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
	// In the order of the machine, so that ties have a fixed order.
	for _, d := range m.opt.Dialects {
		if counts[d] > 0 {
			info.Dialects = append(info.Dialects, d)
		}
	}
	sorting.By(info.Dialects, func(a, b dialect.Dialect) int { return cmp.Compare(counts[b], counts[a]) })
	return nil
}

// count counts a session of that dialect. Logs of runs do not count.
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
