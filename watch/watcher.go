package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/sorting"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
)

// watcher is one Watch. Only hints is used by other goroutines than the one that runs the loop over the changes.
type watcher struct {
	m       *place.Machine
	opt     Options
	yield   func(Change, error) bool
	left    bool // the loop over the changes ended
	sources []*source
	ids     map[session.ID]*followed
	wake    chan struct{} // there are hints
	start   time.Time
	seed    maphash.Seed
	looks   int             // number of looks at all sources so far
	every   int             // a source that gives hints is checked in one of so many looks
	pass    int             // number of lists so far
	holding []*followed     // logs held open, the one held longest first
	gone    []*followed     // logs that are removed, the one removed first first
	entries int             // number of known entries of these
	said    map[string]bool // problems of no particular log that were reported
}

// errLeft is returned through all calls once the loop over the changes has ended.
var errLeft = errors.New("the loop over the changes ended")

const (
	lookEvery = 2 * time.Second
	// looksHinted is how many intervals are between two looks at a source that gives hints: a minute.
	looksHinted = 30
	// share is the part of the time that looks may take, as a divisor.
	share = 100
)

func newWatcher(m *place.Machine, opt Options, yield func(Change, error) bool) *watcher {
	w := &watcher{
		m: m, yield: yield, wake: make(chan struct{}, 1), seed: maphash.MakeSeed(), every: 1,
		said: map[string]bool{}, ids: map[session.ID]*followed{},
	}
	if opt.Interval == 0 {
		opt.Interval, w.every = lookEvery, looksHinted
	}
	if opt.Clock == nil {
		opt.Clock = time.Now
	}
	if opt.After == nil {
		opt.After = time.After
	}
	w.opt = opt
	return w
}

// emit yields a change. Once the loop over the changes has ended, yield must not be called again: Go panics.
func (w *watcher) emit(c Change) error {
	if !w.left && !w.yield(c, nil) {
		w.left = true
	}
	if w.left {
		return errLeft
	}
	return nil
}

// problem reports a problem that concerns no particular log, once.
func (w *watcher) problem(ctx context.Context, path string, err error) error {
	if stops(ctx, err) {
		return err
	}
	if w.said[err.Error()] {
		return nil
	}
	w.said[err.Error()] = true
	return w.emit(Change{Kind: KindProblem, Path: path, Err: err})
}

// stops reports whether an error ends the watch, as opposed to an error of one log.
func stops(ctx context.Context, err error) bool {
	return errors.Is(err, errLeft) || errors.Is(err, backend.ErrClosed) || ctx.Err() != nil
}

// close ends the hints first, so that none comes for a closed log. The backends belong to the machine.
func (w *watcher) close() {
	for _, src := range w.sources {
		if src.watch != nil {
			_ = src.watch.Close() // nothing depends on it any more
		}
		for _, f := range src.logs {
			f.tail.Close()
		}
	}
}

// begin opens the places, finds out what is there, and yields KindStart.
func (w *watcher) begin(ctx context.Context) error {
	// Before anything is listed: an entry with a later time counts as new.
	w.start = w.opt.Clock()
	if err := w.open(ctx); err != nil {
		return err
	}
	problems, err := w.baselines(ctx)
	if err != nil {
		return err
	}
	sessions := w.followed()
	// With AllEntries, follow reads and reports all of them, in order.
	if w.opt.Last != AllEntries {
		if err := w.readNewest(ctx, sessions); err != nil {
			return err
		}
	}
	if err := w.emit(Change{Kind: KindStart, Sessions: len(sessions)}); err != nil {
		return err
	}
	for _, err := range problems {
		if err := w.problem(ctx, "", err); err != nil {
			return err
		}
	}
	for _, f := range sessions {
		if f.unread == nil {
			continue
		}
		if err := w.failed(f, f.unread); err != nil {
			return err
		}
	}
	switch {
	case w.opt.Last == AllEntries:
		for _, f := range slices.Backward(sessions) { // oldest first
			if err := w.follow(ctx, f); err != nil {
				return err
			}
		}
	case w.opt.Last > 0:
		return w.lastEntries(ctx, sessions)
	}
	return nil
}

// open begins to watch the places.
func (w *watcher) open(ctx context.Context) error {
	if w.opt.Path != "" {
		l, err := w.m.Locate(w.opt.Path)
		if err != nil {
			return err
		}
		w.add(&source{
			b: l.Backend, dir: place.Dir(l.Path), only: l.Name,
			path: func(string) string { return l.Path },
			owns: func(name string) bool { return name == l.Name },
		})
		return nil
	}
	shelves, err := w.m.Shelves(ctx)
	for _, s := range shelves {
		w.add(&source{b: s.Backend, dir: s.Dir, path: s.Path, owns: s.Owns, inSource: s.InSource})
	}
	return err
}

// add begins to watch a place. The hints begin before anything is listed, so that nothing is missed in between.
func (w *watcher) add(src *source) {
	src.logs, src.hints.wake = map[string]*followed{}, w.wake
	w.sources = append(w.sources, src)
	if !w.opt.NoHints {
		src.listen()
	}
}

// baselines records the present state of each log: everything that is written from here on is reported. Problems with folders are returned,
// since nothing is reported before the start.
func (w *watcher) baselines(ctx context.Context) (problems []error, err error) {
	for _, src := range w.sources {
		for log, err := range src.b.List(ctx, src.only) {
			switch {
			case err != nil && stops(ctx, err):
				return nil, err
			case err != nil:
				problems = append(problems, err)
			case src.owns(log.Name):
				f := w.addLog(src, log.Name)
				f.listed = log
				if w.opt.Last != AllEntries {
					f.base = log
				}
			}
		}
		if src.only != "" && src.logs[src.only] == nil {
			return nil, logtree.Named(w.opt.Path, backend.ErrNotExist)
		}
		src.empty = len(src.logs) == 0
		if err := w.elsewhere(ctx, src); err != nil {
			return nil, err
		}
	}
	return problems, nil
}

// elsewhere marks the logs of working directories other than the wanted one. It reads only their ends.
func (w *watcher) elsewhere(ctx context.Context, src *source) error {
	if w.opt.CWD == "" || src.only != "" {
		return nil
	}
	if w.opt.Here != nil && w.opt.Dialect == nil {
		// After the logs were listed: here then knows all of them.
		here, err := w.opt.Here(ctx)
		if err != nil {
			return err
		}
		for _, f := range src.logs {
			f.elsewhere = !here[f.Path]
		}
		if here != nil {
			return nil
		}
	}
	rows := make([]place.Row, 0, len(src.logs))
	for _, f := range src.logs {
		rows = append(rows, place.Row{Path: f.Path, Log: f.listed})
		f.elsewhere = true
	}
	w.m.PeekAll(ctx, src.b, rows, place.ListOptions{Dialect: w.opt.Dialect})
	names := map[string]string{} // names in the backend, by path
	for i := range rows {
		r := &rows[i]
		names[r.Path], r.Log.Name = r.Log.Name, src.inSource(r.Log.Name)
	}
	w.m.PlaceRows(ctx, rows)
	for _, r := range w.m.InDir(w.opt.CWD, rows) {
		src.logs[names[r.Path]].elsewhere = false
	}
	return nil
}

// addLog begins to follow a log. Without a base all of its content is new.
func (w *watcher) addLog(src *source, name string) *followed {
	f := &followed{src: src, Location: place.Location{Backend: src.b, Name: name, Path: src.path(name)}}
	f.tail = logtree.Tail{Backend: src.b, At: backend.Log{Name: name}, Wait: true}
	src.logs[name] = f
	return f
}

// followed returns the logs that are watched, newest first.
func (w *watcher) followed() []*followed {
	var list []*followed
	for _, src := range w.sources {
		for _, f := range src.logs {
			if !f.elsewhere {
				list = append(list, f)
			}
		}
	}
	sorting.By(list, func(a, b *followed) int {
		return cmp.Or(b.listed.Time.Compare(a.listed.Time), strings.Compare(a.Path, b.Path))
	})
	return list
}

// loop follows the logs until ctx is cancelled.
func (w *watcher) loop(ctx context.Context) error {
	timer := w.opt.After(w.opt.Interval)
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-w.wake:
			err = w.hinted(ctx)
		case path := <-w.opt.Read:
			err = w.readNow(ctx, path)
		case <-timer:
			began := w.opt.Clock()
			err = w.look(ctx)
			// A long look is followed by a long rest, however many logs there are.
			timer = w.opt.After(max(w.opt.Interval, share*w.opt.Clock().Sub(began)))
		}
		if err != nil {
			return err
		}
	}
}

// hinted follows the logs that the backends reported.
func (w *watcher) hinted(ctx context.Context) error {
	for _, src := range w.sources {
		names, errs := src.hints.take()
		for _, err := range errs {
			src.hinted, src.failed = false, true // something is not reported any more
			err = fmt.Errorf("%w; changes are looked for every %v instead", err, w.opt.Interval)
			if err := w.problem(ctx, src.dir, err); err != nil {
				return err
			}
		}
		for _, name := range names {
			var err error
			switch {
			// A folder: hints were lost, or the folder is new and was not watched when logs came into it.
			case name == "" || strings.HasSuffix(name, "/"):
				err = w.list(ctx, src, name)
			case src.owns(name):
				err = w.touch(ctx, src, name)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// look checks the sources. Those that give hints are checked less often. A source without logs may be a folder that does not exist yet, for
// which no backend gives hints. A backend whose hints failed is asked again equally rarely.
func (w *watcher) look(ctx context.Context) error {
	w.looks++
	for _, src := range w.sources {
		if src.failed && w.looks%looksHinted == 0 {
			src.listenAgain()
		}
		if src.hinted && !src.empty && w.looks%w.every != 0 {
			continue
		}
		if err := w.list(ctx, src, ""); err != nil {
			return err
		}
	}
	return nil
}

// touch follows a log that may have changed, or may be new.
func (w *watcher) touch(ctx context.Context, src *source, name string) error {
	f := src.logs[name]
	if f == nil {
		// The log may be gone already, as temporary files are.
		if _, err := src.b.Stat(ctx, name); errors.Is(err, backend.ErrNotExist) {
			return nil
		}
		f = w.addLog(src, name)
	}
	return w.follow(ctx, f)
}

// list finds out which logs with that prefix changed, appeared or disappeared.
func (w *watcher) list(ctx context.Context, src *source, prefix string) error {
	if src.only != "" {
		if f := src.logs[src.only]; f != nil && !f.gone {
			src.empty = false
			return w.follow(ctx, f)
		}
		prefix = src.only
	}
	w.pass++
	count := 0
	var list []*followed
	for log, err := range src.b.List(ctx, prefix) {
		switch {
		case err != nil:
			if err := w.problem(ctx, src.dir, err); err != nil {
				return err
			}
			continue
		case !src.owns(log.Name):
			continue
		}
		count++
		f := src.logs[log.Name]
		if f == nil {
			f = w.addLog(src, log.Name)
		}
		f.pass = w.pass
		// What failed the last time is tried again even if nothing changed: permission may have been granted.
		if f.listed != log || f.failure != "" || f.gone {
			f.listed = log
			list = append(list, f)
		}
	}
	if prefix == src.only || count > 0 {
		src.empty = count == 0
	}
	// Removed logs are reported first: a log may come back under another name.
	for _, f := range slices.Concat(w.missing(src, prefix), list) {
		if err := w.follow(ctx, f); err != nil {
			return err
		}
	}
	return nil
}
