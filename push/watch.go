package push

import (
	"context"
	"io"
	"sync/atomic"
	"time"

	"github.com/treeline-dev/treeline/backend"
)

// Times of Watch.
const (
	// settle is how long Watch waits after a hint, because agents write several records in a row.
	settle = time.Second
	// hinted is how often all logs are checked although their backends report changes; unhinted is how often if they do not.
	hinted, unhinted = time.Minute, 2 * time.Second
	// relist is how often the archive is listed again, to see changes of others.
	relist = 10 * time.Minute
	// patience is the longest pause after an error of the archive.
	patience = time.Minute
)

// Watching connects Watch with its caller.
type Watching struct {
	// Told, if set, is called with the report of each pass that did something, or with the error that ended a pass. Watch goes on after
	// errors.
	Told func(Report, error)
	// After replaces time.After; nil means time.After.
	After func(time.Duration) <-chan time.Time
}

// Watch pushes, and keeps pushing what is written, until ctx ends. Between passes it waits for hints from the backends, so that it costs
// almost nothing while nothing is written. Checking all logs takes at most a twentieth of the time while logs are written, and otherwise a
// hundredth.
func (c *Copier) Watch(ctx context.Context, t Target, opt PushOptions, w Watching) error {
	if w.After == nil {
		w.After = time.After
	}
	hints := make(chan struct{}, 1)
	var covered atomic.Bool // the backends report all changes
	done, err := c.hints(&opt.Filter, &covered, func() {
		select {
		case hints <- struct{}{}:
		default:
		}
	})
	if err != nil {
		return err
	}
	defer done()
	pause := settle
	for ctx.Err() == nil {
		err := c.watch(ctx, t, opt, w, &covered, hints)
		if ctx.Err() != nil {
			break
		}
		if err == nil {
			pause = settle
			continue
		}
		if w.Told != nil {
			w.Told(Report{}, err)
		}
		select {
		case <-ctx.Done():
		case <-w.After(pause):
		}
		pause = min(2*pause, patience)
	}
	return nil
}

// watch pushes until it is time to list the archive again, or until an error.
func (c *Copier) watch(ctx context.Context, t Target, opt PushOptions, w Watching, covered *atomic.Bool, hints <-chan struct{}) error {
	p, err := c.pusher(ctx, t, opt)
	if err != nil {
		return err
	}
	defer func() { _ = p.close(ctx) }() // lost watermarks are rebuilt from the marks
	again := w.After(relist)
	for {
		if p.ahead == nil { // otherwise the meter has the problems of the list
			p.meter = newMeter(opt.Event, opt.Progress)
		}
		err := p.pass(ctx)
		if r := p.meter.report; w.Told != nil && err == nil && (r.Bytes > 0 || len(r.Problems) > 0 || r.Logs[Failed] > 0 || r.Logs[Removed] > 0) {
			w.Told(r, nil)
		}
		if err != nil {
			return err
		}
		every := unhinted
		if covered.Load() {
			every = hinted
		}
		select {
		case <-ctx.Done():
			return nil
		case <-again:
			return nil
		case <-hints:
			select {
			case <-ctx.Done():
			case <-w.After(max(settle, 20*p.looked)):
			}
			drain(hints)
		case <-w.After(max(every, 100*p.looked)):
		}
	}
}

func drain(hints <-chan struct{}) {
	select {
	case <-hints:
	default:
	}
}

// hints calls hint whenever a log may have changed. covered becomes false if a backend reports no changes, or no longer all of them.
func (c *Copier) hints(f *Filter, covered *atomic.Bool, hint func()) (done func(), err error) {
	sources, err := c.sources(f, newMeter(nil, nil))
	if err != nil {
		return nil, err
	}
	var open []io.Closer
	covered.Store(true)
	for _, s := range sources {
		watcher, ok := s.b.(backend.Watcher)
		if ok {
			var w io.Closer
			if w, err = watcher.Watch(func(_ string, err error) {
				if err != nil {
					covered.Store(false)
				}
				hint()
			}); err == nil {
				open = append(open, w)
				continue
			}
		}
		covered.Store(false)
	}
	return func() {
		for _, w := range open {
			_ = w.Close() // nothing is lost
		}
	}, nil
}
