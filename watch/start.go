package watch

import (
	"context"
	"slices"
	"time"

	"github.com/treeline-dev/treeline/internal/sorting"
	"github.com/treeline-dev/treeline/session"
)

// readAtStart is how many bytes of logs are read before anything is reported. It keeps the start short on a machine with years of sessions.
const readAtStart = 32 << 20

// readNewest reads the logs that were written last, as many as are held open, up to readAtStart. Programs are most likely to write to
// these, and then their old entries are known for certain.
func (w *watcher) readNewest(ctx context.Context, sessions []*followed) error {
	budget := int64(readAtStart)
	for i, f := range sessions {
		if budget -= f.base.Size; (budget < 0 || i == mostHeld) && f.src.only == "" {
			return nil
		}
		if err := w.readBase(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// readBase reads a log as it was at the start, and reports nothing.
func (w *watcher) readBase(ctx context.Context, f *followed) error {
	// Read already, not there at the start, or empty then.
	if f.dec != nil || f.base.Generation == "" || f.base.Size == 0 {
		return nil
	}
	err := w.readWhole(ctx, f, f.base, f.atStart)
	switch {
	case err != nil && stops(ctx, err):
		return err
	case err != nil && f.src.only != "":
		f.unread = err
	}
	return nil // the problems of other logs are reported when they change
}

// readNow reads the log at a path that the caller asked for, if it is watched.
func (w *watcher) readNow(ctx context.Context, path string) error {
	for _, src := range w.sources {
		for _, f := range src.logs {
			if f.Path != path || f.elsewhere || f.gone {
				continue
			}
			if err := w.readBase(ctx, f); err != nil {
				return err
			}
			return w.follow(ctx, f) // it may have changed since the start
		}
	}
	return nil
}

// lastEntries reports the last entries that existed at the start.
func (w *watcher) lastEntries(ctx context.Context, sessions []*followed) error {
	type old struct {
		f  *followed
		e  session.Entry
		at time.Time
	}
	n := w.opt.Last
	var list []old // newest first, at most n
	for _, f := range sessions {
		if len(list) == n && list[n-1].at.After(f.listed.Time) {
			break // all other entries are older
		}
		if err := w.readBase(ctx, f); err != nil {
			return err
		}
		if f.dec == nil {
			continue
		}
		// Times of entries may be missing, or lie in the future. Within a session the order of the log counts: an entry is
		// not later than the one that follows it.
		at := f.listed.Time
		for i := f.tree.Len() - 1; i >= max(0, f.tree.Len()-n); i-- {
			e := f.tree.At(i)
			if t, err := e.Time(); err == nil {
				if own, ok := t.Time(); ok && own.Before(at) {
					at = own
				}
			}
			list = append(list, old{f, e, at})
		}
		sorting.By(list, func(a, b old) int { return b.at.Compare(a.at) })
		list = list[:min(n, len(list))]
	}
	for _, o := range slices.Backward(list) {
		raw, err := o.e.Raw()
		if err != nil {
			continue // the log has changed since: that is reported next
		}
		c := o.f.change(KindEntry)
		c.Entry, c.Raw = o.e, raw
		if err := w.emit(c); err != nil {
			return err
		}
	}
	return nil
}
