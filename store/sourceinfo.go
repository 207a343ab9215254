package store

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

// LookAtSources says of each source what is in it. Of logs that the catalogue knows as they are now nothing is read, of
// others the two ends. What is no session does not count.
func (s *Store) LookAtSources(ctx context.Context) ([]SourceInfo, error) {
	var list []SourceInfo
	known := s.opt.Index.Catalogue()
	for _, src := range s.Sources() {
		info := SourceInfo{Source: src}
		if err := s.lookAt(ctx, &info, known.Logs(sourceKey(src))); err != nil {
			return nil, err
		}
		list = append(list, info)
	}
	return list, nil
}

// lookAt fills in what is in a source, of whose logs some are known, in the order of their names.
func (s *Store) lookAt(ctx context.Context, info *SourceInfo, known []index.Log) error {
	// A folder that is there and empty is told from one that is not.
	if s.opt.Env.Access != nil {
		info.Exists, _, _ = s.opt.Env.Access(info.Root.Sessions)
	}
	if info.Needs != "" {
		return nil
	}
	b, err := s.opt.OpenDir(info.Root.Sessions)
	if err != nil {
		return err
	}
	defer b.Close()
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
		case !info.owns(log.Name):
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
			unknown = append(unknown, Row{Source: info.Source, Path: pathIn(info.Source, log.Name), Log: log})
			continue
		}
		if d, err := s.Dialect(known[i].Summary.Dialect); err == nil && (known[i].Summary.Session || log.Size == 0) {
			info.count(counts, log, d)
		}
	}
	s.peekAll(ctx, b, unknown, ListOptions{})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for i := range unknown {
		if r := &unknown[i]; r.Err == nil {
			info.count(counts, r.Log, r.Dialect)
		}
	}
	// In their own order, so that equals stand the same way each time.
	for _, d := range s.opt.Dialects {
		if counts[d] > 0 {
			info.Dialects = append(info.Dialects, d)
		}
	}
	slices.SortStableFunc(info.Dialects, func(a, b dialect.Dialect) int { return cmp.Compare(counts[b], counts[a]) })
	return nil
}

// count adds a log that is a session of that dialect. Logs of runs are none, wherever they lie.
func (info *SourceInfo) count(counts map[dialect.Dialect]int, log backend.Log, d dialect.Dialect) {
	if isRuns(d) {
		return
	}
	counts[d]++
	info.Sessions++
	info.Bytes += log.Size
	if log.Time.After(info.Newest) {
		info.Newest = log.Time
	}
}
