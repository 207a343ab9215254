package watch

import (
	"cmp"
	"context"
	"errors"
	"hash/maphash"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/session"
)

// watcher is one Watch. All but the hints is in the hands of the goroutine that goes through the changes.
type watcher struct {
	s       *Store
	opt     WatchOptions
	yield   func(Change, error) bool
	left    bool // nobody wants more
	sources []*watchedSource
	ids     map[session.ID]*followed
	wake    chan struct{} // there are hints
	start   time.Time
	seed    maphash.Seed
	pass    int // counts the looks at folders
	// It may name some whose file was closed since: hold leaves these out.
	holding []*followed     // whose files are held open, the one held longest first
	said    map[string]bool // problems that belong to no log
}

// errLeft goes up through all calls when the loop over the changes was left.
var errLeft = errors.New("nobody wants more changes")

// share is the part of the time that looking at logs may take, as a divisor.
const share = 100

// readAtStart is how much of the logs is read before anything is told, see Watch.
const readAtStart = 32 << 20

// newWatcher opens nothing yet. Its seed is its own: keys of entries are never kept.
func newWatcher(s *Store, opt WatchOptions, yield func(Change, error) bool) *watcher {
	return &watcher{
		s: s, opt: opt, yield: yield, wake: make(chan struct{}, 1), seed: maphash.MakeSeed(),
		said: map[string]bool{}, ids: map[session.ID]*followed{},
	}
}

// emit tells of a change. After the loop over the changes was left, yield must not be called again: Go panics.
func (w *watcher) emit(c Change) error {
	if !w.left && !w.yield(c, nil) {
		w.left = true
	}
	if w.left {
		return errLeft
	}
	return nil
}

// problem tells of what is wrong with no log in particular, once.
func (w *watcher) problem(path string, err error) error {
	if w.said[err.Error()] {
		return nil
	}
	w.said[err.Error()] = true
	return w.emit(Change{Kind: ChangeProblem, Path: path, Err: err})
}

// stops says whether an error ends the watching, rather than being about one log.
func stops(ctx context.Context, err error) bool {
	return errors.Is(err, errLeft) || ctx.Err() != nil
}

// close gives up what is open. The watch of a place goes first, so that no hint comes for what is closed.
func (w *watcher) close() {
	for _, src := range w.sources {
		if src.watch != nil {
			_ = src.watch.Close()
		}
		for _, f := range src.logs {
			f.close()
		}
		_ = src.b.Close()
	}
}

// begin opens the places, finds out what is there, and tells that it did.
func (w *watcher) begin(ctx context.Context) error {
	// Before anything is listed: an entry with a later time counts as new.
	w.start = w.opt.Clock()
	if err := w.open(); err != nil {
		return err
	}
	// What is written from here on is told, whenever it is read.
	problems, err := w.baselines(ctx)
	if err != nil {
		return err
	}
	sessions := w.followed()
	// Who wants all entries gets them from follow, in order: to read some before that would only mark them as known.
	if w.opt.Last != AllEntries {
		if err := w.readNewest(ctx, sessions); err != nil {
			return err
		}
	}
	if err := w.emit(Change{Kind: ChangeStart, Sessions: len(sessions)}); err != nil {
		return err
	}
	for _, err := range problems {
		if err := w.problem("", err); err != nil {
			return err
		}
	}
	switch {
	case w.opt.Last == AllEntries:
		for _, f := range slices.Backward(sessions) { // the oldest first
			if err := w.follow(ctx, f); err != nil {
				return err
			}
		}
	case w.opt.Last > 0:
		return w.lastEntries(ctx, sessions)
	}
	return nil
}

// open opens the places and begins to be told of them.
func (w *watcher) open() error {
	if w.opt.Path != "" {
		abs, err := filepath.Abs(w.opt.Path)
		if err != nil {
			return err
		}
		only := filepath.Base(abs)
		return w.openDir(filepath.Dir(abs), only, func(name string) bool { return name == only })
	}
	for _, src := range w.s.readable() {
		if err := w.openDir(src.Root.Sessions, "", src.owns); err != nil {
			return err
		}
	}
	return nil
}

// openDir begins to watch a folder; only is the one log in it that is wanted, "" for all that owns says yes to.
func (w *watcher) openDir(dir, only string, owns func(string) bool) error {
	b, err := w.s.opt.OpenDir(dir)
	if err != nil {
		return err
	}
	src := &watchedSource{b: b, dir: filepath.Clean(dir), owns: owns, only: only, logs: map[string]*followed{}}
	src.hints.wake = w.wake
	w.sources = append(w.sources, src)
	watcher, ok := b.(backend.Watcher)
	if !ok || w.opt.NoHints {
		return nil
	}
	// Before anything is listed, so that nothing is missed in between. A place that cannot be watched is looked at.
	if src.watch, err = watcher.Watch(src.hints.told); err != nil {
		src.watch = nil
		if !errors.Is(err, errors.ErrUnsupported) {
			src.hints.told("", err)
		}
	}
	return nil
}

// baselines notes what each log is now. Problems with folders are given back: nothing is told before the start.
func (w *watcher) baselines(ctx context.Context) (problems []error, err error) {
	for _, src := range w.sources {
		for log, err := range src.b.List(ctx, src.only) {
			switch {
			case ctx.Err() != nil:
				return nil, context.Cause(ctx)
			case err != nil:
				problems = append(problems, err)
			case src.owns(log.Name):
				f := w.add(src, log.Name)
				f.listed = log
				if w.opt.Last != AllEntries {
					f.base = log
				}
			}
		}
		if src.only != "" && src.logs[src.only] == nil {
			return nil, named(w.opt.Path, backend.ErrNotExist)
		}
		w.elsewhere(ctx, src)
	}
	return problems, nil
}

// elsewhere marks the logs of other working directories than the one that is wanted. Only their ends are read.
func (w *watcher) elsewhere(ctx context.Context, src *watchedSource) {
	if w.opt.CWD == "" || src.only != "" {
		return
	}
	rows := make([]Row, 0, len(src.logs))
	for _, f := range src.logs {
		rows = append(rows, Row{Path: f.path, Log: f.listed})
	}
	w.s.peekAll(ctx, src.b, rows, ListOptions{Dialect: w.opt.Dialect})
	w.s.placeRows(rows)
	// All first, then those of the directory back: of drops the rows that it does not keep.
	for i := range rows {
		src.logs[rows[i].Log.Name].elsewhere = true
	}
	for _, r := range w.s.of(w.opt.CWD, rows) {
		src.logs[r.Log.Name].elsewhere = false
	}
}

// add begins to follow a log. With no base all that it holds is new.
func (w *watcher) add(src *watchedSource, name string) *followed {
	f := &followed{src: src, name: name, path: src.dir + string(filepath.Separator) + filepath.FromSlash(name)}
	if src.only != "" {
		f.path = w.opt.Path // as it was given
	}
	src.logs[name] = f
	return f
}

// followed gives the logs that are watched, the newest first.
func (w *watcher) followed() []*followed {
	var list []*followed
	for _, src := range w.sources {
		for _, f := range src.logs {
			if !f.elsewhere {
				list = append(list, f)
			}
		}
	}
	slices.SortFunc(list, func(a, b *followed) int {
		return cmp.Or(b.listed.Time.Compare(a.listed.Time), strings.Compare(a.path, b.path))
	})
	return list
}

// loop follows the logs until ctx is cancelled.
func (w *watcher) loop(ctx context.Context) error {
	pause := w.opt.Interval
	timer := w.opt.After(pause)
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-w.wake:
			err = w.hinted(ctx)
		case <-timer:
			began := w.opt.Clock()
			err = w.look(ctx)
			// A look that took long is followed by a long rest, however many logs there are.
			pause = max(w.opt.Interval, share*w.opt.Clock().Sub(began))
			timer = w.opt.After(pause)
		}
		if err != nil {
			return err
		}
	}
}

// hinted follows what was told of.
func (w *watcher) hinted(ctx context.Context) error {
	for _, src := range w.sources {
		names, errs := src.hints.take()
		for _, err := range errs {
			if err := w.problem(src.dir, err); err != nil {
				return err
			}
		}
		for _, name := range names {
			var err error
			switch {
			// A folder: the system lost count, or it is new and what came into it before it was watched was not told.
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

// look looks at everything.
func (w *watcher) look(ctx context.Context) error {
	for _, src := range w.sources {
		if err := w.list(ctx, src, ""); err != nil {
			return err
		}
	}
	return nil
}

// touch follows a log that may have changed, or may be new.
func (w *watcher) touch(ctx context.Context, src *watchedSource, name string) error {
	f := src.logs[name]
	// A name that was told may be gone already, as those of files in the making are.
	if f == nil {
		if _, err := src.b.Stat(ctx, name); errors.Is(err, backend.ErrNotExist) {
			return nil
		}
		f = w.add(src, name)
	}
	return w.follow(ctx, f)
}

// list looks which logs with that prefix changed, came or went.
func (w *watcher) list(ctx context.Context, src *watchedSource, prefix string) error {
	if src.only != "" {
		if f := src.logs[src.only]; f != nil && !f.gone {
			return w.follow(ctx, f)
		}
		prefix = src.only
	}
	w.pass++
	var list []*followed
	for log, err := range src.b.List(ctx, prefix) {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			if err := w.problem(src.dir, err); err != nil {
				return err
			}
			continue
		case !src.owns(log.Name):
			continue
		}
		f := src.logs[log.Name]
		if f == nil {
			f = w.add(src, log.Name)
		}
		f.pass = w.pass
		// What failed the last time is tried again even if nothing changed: a permission may have been given.
		if f.listed != log || f.failure != "" || f.gone {
			f.listed = log
			list = append(list, f)
		}
	}
	// What is gone is told first: it may come again under another name.
	for _, f := range slices.Concat(w.missing(src, prefix), list) {
		if err := w.follow(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// missing gives the logs that the last list should have shown and did not. That need not mean that they are gone: their
// folder may not be readable just now. They are followed like any other: Stat then says whether they are gone.
func (w *watcher) missing(src *watchedSource, prefix string) []*followed {
	var list []*followed
	for name, f := range src.logs {
		if f.pass != w.pass && !f.gone && strings.HasPrefix(name, prefix) {
			list = append(list, f)
		}
	}
	slices.SortFunc(list, func(a, b *followed) int { return strings.Compare(a.name, b.name) })
	return list
}
