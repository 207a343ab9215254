package push

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/internal/redact"
)

// PushOptions are the options of Push.
type PushOptions struct {
	Filter
	// Redact replaces secrets.
	Redact bool
	// Deletions removes the copies of logs that were removed here.
	Deletions bool
	// DryRun only reports what would be done.
	DryRun bool
	// Workers is the number of logs that are copied at once; 0 means a number that suits the machine.
	Workers int
	// Event, if set, is called for each log that is not unchanged, and Progress when it advances. There are no concurrent calls.
	Event    func(Event)
	Progress func(Progress)
}

// pusher is one Push.
type pusher struct {
	c     *Copier
	t     Target
	m     backend.Mirror
	opt   PushOptions
	marks *watermarks
	meter *meter
	// ahead is the list of local logs for the first pass; nil afterwards.
	ahead *local
	// there has the copies of this origin, by name.
	mu    sync.Mutex
	there map[string]backend.Marked
	blobs sync.Map // blobs that were copied; see carrier.done
	// forbidden counts the logs that the server refuses.
	forbidden atomic.Int64
	// absent has the logs that stays has reported.
	absent map[string]bool
	// looked is how long the search for local changes took.
	looked time.Duration
}

// version returns the version of the redaction rules; 0 means exact copies.
func (p *pusher) version() int {
	if p.opt.Redact {
		return redact.Version
	}
	return 0
}

// Push copies what is new on this machine to an archive. A problem with one source or log does not stop the rest: it is in the report. The
// error concerns the archive as a whole.
func (c *Copier) Push(ctx context.Context, t Target, opt PushOptions) (Report, error) {
	p, err := c.pusher(ctx, t, opt)
	if err != nil {
		return Report{}, err
	}
	err = p.pass(ctx)
	return p.meter.report, errors.Join(err, p.close(ctx))
}

// pusher begins a Push: it lists the archive once, and the local logs at the same time.
func (c *Copier) pusher(ctx context.Context, t Target, opt PushOptions) (*pusher, error) {
	m, err := t.mirror()
	if err != nil {
		return nil, err
	}
	if c.opt.Origin == "" {
		return nil, ErrNoOrigin
	}
	p := &pusher{c: c, t: t, m: m, opt: opt, meter: newMeter(opt.Event, opt.Progress), absent: map[string]bool{}}
	listing, cancel := context.WithCancel(ctx)
	defer cancel()
	var group sync.WaitGroup
	group.Go(func() { p.ahead = c.local(listing, &opt.Filter, p.meter) })
	if err = p.look(ctx); err != nil {
		cancel()
	}
	group.Wait()
	return p, err
}

// look reads what is known about the archive, and lists it.
func (p *pusher) look(ctx context.Context) error {
	id, err := p.t.identity(ctx)
	if err != nil {
		return err
	}
	if p.marks, err = openWatermarks(p.c.opt.State, id); err != nil {
		return err
	}
	p.there, err = listed(ctx, p.m, p.c.opt.Origin+"/")
	return err
}

// listed returns the copies below a prefix.
func listed(ctx context.Context, m backend.Mirror, prefix string) (map[string]backend.Marked, error) {
	there := map[string]backend.Marked{}
	for l, err := range m.Marks(ctx, prefix) {
		if err != nil {
			return nil, err
		}
		there[l.Name] = l
	}
	return there, nil
}

// close stores the watermarks. An archive that was empty has an identity only now.
func (p *pusher) close(ctx context.Context) error {
	if p.marks.path == "" && len(p.marks.known) > 0 && !p.opt.DryRun {
		id, err := p.t.identity(context.WithoutCancel(ctx))
		if err != nil {
			return err
		}
		marks, err := openWatermarks(p.c.opt.State, id)
		if err != nil {
			return err
		}
		for _, w := range p.marks.all() {
			marks.put(w)
		}
		p.marks = marks
	}
	return p.marks.close()
}

// pass handles all logs once.
func (p *pusher) pass(ctx context.Context) error {
	began := time.Now()
	p.forbidden.Store(0)
	l := p.ahead
	if p.ahead = nil; l == nil {
		l = p.c.local(ctx, &p.opt.Filter, p.meter)
	}
	if l.err != nil {
		return l.err
	}
	var todo []*item
	here := map[string]bool{}
	for _, it := range l.items {
		here[it.name] = true
		if p.opt.Since.After(it.log.Time) {
			continue
		}
		p.meter.at.Total++
		if w := p.marks.brief(it.name); w.settled(stampOf(it.log), p.there[it.name].Log) && p.sameMode(w) && p.there[it.name].Removed.IsZero() {
			p.meter.done(Event{Name: it.name, Fate: Unchanged})
			continue
		}
		todo = append(todo, it)
		p.meter.at.OfBytes += p.estimate(it)
	}
	p.looked = time.Since(began)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	each(ctx, len(todo), workers(p.opt.Workers), func(i int) {
		e := p.log(ctx, todo[i])
		if errors.Is(e.Err, backend.ErrReadOnly) {
			stop(fmt.Errorf("%s: %w", p.t.Shown, e.Err)) // the archive refuses all other logs, too
		}
		if e.Err != nil && ctx.Err() != nil {
			return // cancelled: the error says nothing about the log
		}
		if e.Fate != "" {
			p.meter.done(e)
		}
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if n := int(p.forbidden.Load()); n > 0 && n == p.meter.at.Logs {
		return fmt.Errorf("%s: %w", p.t.Shown, backend.ErrForbidden)
	}
	if p.opt.Deletions {
		for _, s := range l.sources {
			if !l.partly[s.name] {
				p.deletions(ctx, s, here)
			}
		}
	}
	return nil
}

// estimate returns how many bytes of a log may have to be sent.
func (p *pusher) estimate(it *item) int64 {
	if w := p.marks.get(it.name); w != nil && p.sameMode(w) && it.log.Size >= w.Of {
		return it.log.Size - w.Of
	}
	return it.log.Size
}

// sameMode reports whether the copy is redacted, or exact, as this Push requires. A copy that older rules redacted is extended with newer
// ones.
func (p *pusher) sameMode(w *watermark) bool { return (w.Redacted > 0) == p.opt.Redact }

// mostTries is how often a log is tried again because its copy changed meanwhile.
const mostTries = 5

// changedMeanwhile reports whether an error says that the log or its copy has changed.
func changedMeanwhile(err error) bool {
	return errors.Is(err, backend.ErrConflict) || errors.Is(err, backend.ErrExist) || errors.Is(err, backend.ErrChanged)
}

// log copies one log.
func (p *pusher) log(ctx context.Context, it *item) (e Event) {
	e = Event{Name: it.name, Path: it.path()}
	w := p.marks.get(it.name)
	chosen, cwd := p.c.shares(ctx, &p.opt.Filter, it, w)
	if !chosen {
		return Event{}
	}
	for try := 0; ; try++ {
		err := p.try(ctx, it, cwd, &e)
		if err == nil {
			return e
		}
		if changedMeanwhile(err) && try < mostTries {
			if err = p.again(ctx, it.name); err == nil {
				continue
			}
		}
		switch {
		case errors.Is(err, backend.ErrNotExist):
			return Event{} // it was removed here meanwhile
		case errors.Is(err, backend.ErrForbidden):
			e.Fate, e.Why, e.Err = Withheld, err.Error(), nil
			p.forbidden.Add(1)
			return e
		case errors.Is(err, backend.ErrReadOnly):
			e.Err = err
			return e
		}
		e.Fate, e.Err = Failed, fmt.Errorf("%s: %w", e.Path, err)
		return e
	}
}

// again reads the current state of a copy.
func (p *pusher) again(ctx context.Context, name string) error {
	now, err := listed(ctx, p.m, name)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.there, name)
	if l, ok := now[name]; ok {
		p.there[name] = l
	}
	return nil
}

// copyOf returns the copy of a log.
func (p *pusher) copyOf(name string) (l backend.Marked, live, removed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l, found := p.there[name]
	return l, found && l.Removed.IsZero(), found && !l.Removed.IsZero()
}

// copied stores the new state of a copy.
func (p *pusher) copied(l backend.Marked) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.there[l.Name] = l
}

// try decides what a log needs, and does it.
func (p *pusher) try(ctx context.Context, it *item, cwd *string, e *Event) error {
	there, live, removed := p.copyOf(it.name)
	w := p.marks.get(it.name)
	if removed && w != nil && !w.Gone && w.Seen == stampOf(it.log) {
		e.Fate, e.Why = Withheld, "it was removed in the archive, and has not changed here since"
		return nil
	}
	o, err := openOriginal(ctx, it.src.b, it.log.Name)
	if err != nil {
		return err
	}
	defer o.close()
	s := &sending{p: p, it: it, o: o, e: e, there: there.Log, w: watermark{Name: it.name, CWD: cwd}, asked: map[blob.Ref]bool{}}
	if !live {
		s.there, e.Fate = backend.Log{Name: it.name}, Created
		return s.anew(ctx)
	}
	if w = w.current(it, there); w == nil {
		return s.meet(ctx)
	}
	s.w = *w
	s.w.CWD = cmp.Or(cwd, w.CWD)
	state, d, err := o.since(ctx, w)
	if err != nil {
		return err
	}
	if state == grown {
		if state, err = o.notice(ctx, p.t.Backend, there.Log, &s.w, d); err != nil {
			return err
		}
	}
	if state == rewritten {
		is := false
		if d, is, err = o.whole(ctx, p.t.Backend, there.Log, &s.w); err != nil {
			return err
		}
		if is {
			state = same
		}
	}
	s.digest = d
	return s.decide(ctx, state, s.w.copied(there.Log))
}

// current returns the watermark, or the one in the mark of the copy if that is newer: a push may have been killed before it stored the
// watermark, or the state folder is an old one. It returns nil if there is neither.
func (w *watermark) current(it *item, there backend.Marked) *watermark {
	if w != nil && w.copied(there.Log) {
		return w
	}
	if r := rebuilt(it, there); w == nil || w.Gone || r != nil && (r.At != w.At || r.CGen != w.CGen) {
		return r
	}
	return w
}

// rebuilt makes a watermark from the mark of a copy. It returns nil if the copy has none.
func rebuilt(it *item, there backend.Marked) *watermark {
	m, ok := readMark(there.Mark)
	if !ok || m.At < 0 || m.At > there.Size || m.CGen != "" && m.CGen != there.Generation {
		return nil
	}
	m.CGen = there.Generation
	w := &watermark{Name: it.name, mark: m}
	if m.Gen == it.log.Generation && m.Of == it.log.Size {
		w.Seen = stampOf(it.log)
	}
	return w
}

// stays reports, once, that the copy of a log is not removed because the log may be on a disk that is not mounted.
func (p *pusher) stays(s *source, name string) {
	if _, live, _ := p.copyOf(name); !live || p.absent[name] {
		return
	}
	p.absent[name] = true
	path := s.PathOf(strings.TrimPrefix(name, p.c.opt.Origin+"/"+s.name+"/"))
	p.meter.done(Event{Name: name, Path: path, Fate: Withheld, Why: "its copy was not removed: the folder of the log is missing, and may be on a disk that is not mounted"})
}

// deletions removes the copies of logs that no longer exist here. If all of several logs are gone, the folder is more likely missing than
// empty, so nothing is removed. The same holds for a missing part of a source.
func (p *pusher) deletions(ctx context.Context, s *source, here map[string]bool) {
	prefix := p.c.opt.Origin + "/" + s.name + "/"
	var gone []*watermark
	left := false
	for name := range here {
		left = left || strings.HasPrefix(name, prefix)
	}
	for _, w := range p.marks.all() {
		name, ours := strings.CutPrefix(w.Name, prefix)
		switch {
		case !ours || here[w.Name] || w.Gone || p.opt.Project != nil && (w.CWD == nil || !p.opt.Project(*w.CWD)):
		case !slices.ContainsFunc(s.absent, func(begin string) bool { return strings.HasPrefix(name, begin) }):
			gone = append(gone, w)
		default:
			p.stays(s, w.Name)
		}
	}
	if !left && len(gone) > 1 {
		p.meter.problem(fmt.Errorf("%s: all %d logs are gone; their copies were not removed, since the folder may be missing", s.Root.Sessions, len(gone)))
		return
	}
	for _, w := range gone {
		there, live, _ := p.copyOf(w.Name)
		e := Event{Name: w.Name, Path: s.PathOf(strings.TrimPrefix(w.Name, prefix)), Fate: Removed}
		switch {
		case !live:
		case !w.copied(there.Log):
			e.Fate, e.Why = Withheld, "it is removed here, but was changed in the archive since"
		case !p.opt.DryRun:
			if err := p.t.Backend.Remove(ctx, there.Log); err != nil {
				e.Fate, e.Err = Failed, fmt.Errorf("%s: %w", w.Name, err)
				break
			}
			delete(p.there, w.Name) // the log may be back before the archive is listed again
		}
		if e.Fate == Removed && !p.opt.DryRun {
			gone := *w
			gone.Gone = true
			p.marks.put(&gone)
		}
		if live {
			p.meter.done(e)
		}
	}
}
