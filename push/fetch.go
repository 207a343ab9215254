package push

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/blob"
)

// fetching is one log that is being pulled.
type fetching struct {
	p     *puller
	there backend.Marked
	src   *source
	name  string // name in the source
	it    *item  // nil if the log is not on this machine
	e     *Event
	asked map[blob.Ref]bool

	b      backend.Backend // the source's backend, for writing
	m      backend.Mirror
	o      *original // the log on this machine
	w      watermark
	digest *digest // of the first w.Of bytes of the log here
}

// now reads the current state of the log on this machine; nil means that it does not exist.
func (f *fetching) now(ctx context.Context) *item {
	name := f.name
	if f.it != nil {
		name = f.it.log.Name
	}
	for l, err := range f.src.b.List(ctx, name) {
		if err == nil && l.Name == name {
			return &item{src: f.src, log: l, name: f.there.Name}
		}
	}
	return nil
}

// try decides what the log needs, and does it.
func (f *fetching) try(ctx context.Context) error {
	origin, _, _, _ := backend.SplitArchived(f.there.Name)
	w := f.p.marks.get(f.there.Name)
	if !f.there.Removed.IsZero() {
		return f.tombstone(ctx, w)
	}
	m, marked := readMark(f.there.Mark)
	if f.it != nil && f.p.back(origin) {
		w = w.current(f.it, f.there)
	}
	if w != nil {
		f.w = *w
	}
	switch {
	case f.it != nil && w.settled(stampOf(f.it.log), f.there.Log) && w.Taken == len(w.Elsewhere):
		f.e.Fate = Unchanged
		return nil
	case f.it == nil && w != nil && !w.Gone && w.Seen != (stamp{}) && !f.p.opt.Removed:
		if w.copied(f.there.Log) {
			f.e.Fate = Absent
			return nil
		}
		f.e.Fate, f.e.Why = Withheld, "it was removed here, and has changed in the archive since; --removed pulls it"
		return nil
	case f.it == nil && f.p.back(origin) && f.p.moved(f.src, f.name) != "":
		f.e.Fate, f.e.Why = Withheld, "its session is here as "+f.p.moved(f.src, f.name)
		return nil
	case marked && m.Redacted > 0 && f.p.back(origin):
		if allowed, err := f.allowed(ctx, w, m); err != nil || !allowed {
			return err
		}
	}
	if f.it == nil {
		f.e.Fate = Created
		f.w = watermark{}
		return f.create(ctx, f.there.Log, f.name)
	}
	return f.compare(ctx, w)
}

// tombstone handles a log that was removed in the archive.
func (f *fetching) tombstone(ctx context.Context, w *watermark) error {
	// The files of a session's folder are removed with the session.
	if !f.p.opt.Deletions || f.it == nil || w == nil || w.Gone || f.p.c.opt.Trash == nil || !f.src.Owns(f.it.log.Name) {
		f.e.Fate = Unchanged
		return nil
	}
	o, err := openOriginal(ctx, f.src.b, f.it.log.Name)
	if err != nil {
		return err
	}
	state, _, err := o.since(ctx, w)
	o.close()
	if err != nil {
		return err
	}
	if state != same {
		f.e.Fate, f.e.Why = Withheld, "it was removed in the archive, but has changed here since"
		return nil
	}
	f.e.Fate = Removed
	if f.p.opt.DryRun {
		return nil
	}
	if err := f.p.c.opt.Trash(ctx, f.it.path()); err != nil {
		return err
	}
	gone := *w
	gone.Gone = true
	f.p.marks.put(&gone)
	return nil
}

// open opens the source for writing, or with DryRun only finds out whether it can.
func (f *fetching) open() error {
	if _, ok := f.src.b.(backend.Mirror); !ok {
		return fmt.Errorf("%s: %w", f.src.Root.Sessions, ErrNoMirror)
	}
	if f.p.opt.DryRun {
		return nil
	}
	b, err := f.p.c.m.OpenWriting(f.src.Root.Sessions, "")
	if err != nil {
		return err
	}
	m, ok := b.(backend.Mirror)
	if !ok {
		return fmt.Errorf("%s: %w", f.src.Root.Sessions, ErrNoMirror)
	}
	f.b, f.m = b, m
	return nil
}

// compare handles a log that exists both here and in the archive.
func (f *fetching) compare(ctx context.Context, w *watermark) error {
	o, err := openOriginal(ctx, f.src.b, f.it.log.Name)
	if err != nil {
		return err
	}
	defer o.close()
	f.o = o
	var state growth
	if w == nil || w.Sum == "" {
		if state, f.w.mark, f.digest, err = o.meet(ctx, f.p.t.Backend, f.there.Log, false); err != nil {
			return err
		}
	} else if state, f.digest, err = o.since(ctx, w); err != nil {
		return err
	}
	if state == grown {
		if state, err = o.notice(ctx, f.p.t.Backend, f.there.Log, &f.w, f.digest); err != nil {
			return err
		}
	}
	if state == rewritten {
		d, is, err := o.whole(ctx, f.p.t.Backend, f.there.Log, &f.w)
		if err != nil {
			return err
		}
		if is {
			state, f.digest = same, d
		}
	}
	f.w.Name = f.there.Name
	appended := f.there.Generation == f.w.CGen && f.there.Size >= f.w.At && f.o.lines
	fresh := f.w.fresh(f.there.Log)
	origin, _, _, _ := backend.SplitArchived(f.there.Name)
	switch {
	case appended && len(fresh) == 0 && state == same:
		f.e.Fate = Unchanged
		return f.keep(ctx)
	case appended && len(fresh) == 0, f.w.ForkedAt == f.there.Size && f.w.ForkedGen == f.there.Generation:
		f.e.Fate = Ahead
		return nil
	case appended && state == same:
		f.e.Fate = Extended
		return f.extend(ctx, fresh)
	case state == same && !f.p.back(origin):
		f.e.Fate = Replaced
		return f.create(ctx, f.there.Log, f.it.log.Name)
	}
	return f.diverged(ctx, state, appended, fresh)
}

// take reads a span of the copy, copies its blobs, and passes it to use.
func (f *fetching) take(ctx context.Context, r io.ReaderAt, s span, use func(piece []byte) error) error {
	cut := cutter{r: r, name: f.there.Name, pos: s.From, end: s.To, step: f.p.c.opt.Step}
	for {
		piece, err := cut.next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = f.carry(ctx, piece)
		}
		if err == nil {
			err = use(piece)
		}
		if err != nil {
			return err
		}
		f.p.meter.sent(int64(len(piece)), 0)
		f.e.Bytes += int64(len(piece))
	}
}

// create creates or replaces the log here with the whole copy.
func (f *fetching) create(ctx context.Context, from backend.Log, name string) error {
	if err := f.open(); err != nil {
		return err
	}
	if f.p.opt.DryRun {
		f.e.Bytes = from.Size
		return nil
	}
	at := backend.Log{Name: name}
	if f.it != nil {
		var err error
		if at, err = f.untouched(ctx); err != nil {
			return err
		}
	}
	r, err := backend.OpenLog(ctx, f.p.t.Backend, from)
	if err != nil {
		return err
	}
	defer r.Close()
	d := newDigest()
	pr, pw := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := f.take(ctx, r, span{0, from.Size}, func(piece []byte) error {
			_, _ = d.Write(piece)
			_, err := pw.Write(piece)
			return err
		})
		pw.CloseWithError(err)
		done <- err
	}()
	_, err = f.m.Overwrite(ctx, at, "", pr)
	pr.CloseWithError(errors.New("the log cannot be written"))
	if taken := <-done; taken != nil && err == nil {
		err = taken
	}
	if err != nil {
		return err
	}
	m, _ := readMark(f.there.Mark)
	f.w.mark = mark{V: markVersion, Of: from.Size, At: from.Size, CGen: from.Generation, Redacted: m.Redacted, Clean: m.Redacted > 0}
	f.w.Name, f.digest = f.there.Name, d
	f.w.Taken, f.w.Skip = 0, nil
	f.name = name
	return f.keep(ctx)
}

// untouched returns the log here for writing, or ErrConflict if it is not the one that was compared.
func (f *fetching) untouched(ctx context.Context) (backend.Log, error) {
	at, err := f.b.Stat(ctx, f.it.log.Name)
	if err == nil && (at.Generation != f.o.at.Generation || at.Size != f.o.at.Size) {
		err = fmt.Errorf("%s: %w", at.Name, backend.ErrConflict)
	}
	return at, err
}

// keep stores the watermark with the current state of the log here.
func (f *fetching) keep(ctx context.Context) error {
	if f.p.opt.DryRun {
		return nil
	}
	name := f.name
	if f.it != nil {
		name = f.it.log.Name
	}
	w := f.w
	w.V, w.Gone, w.Seen = markVersion, false, stamp{}
	f.digest.note(&w)
	o, err := openOriginal(ctx, f.src.b, name)
	if err != nil {
		return err
	}
	o.note(&w)
	o.close()
	if it := f.now(ctx); it != nil && it.log.Size == w.Of && o.at.Size == w.Of {
		w.Seen = stampOf(it.log)
		w.Gen = it.log.Generation
	}
	f.w = w
	f.p.marks.put(&w)
	return nil
}

// extend appends spans of the copy to the log here.
func (f *fetching) extend(ctx context.Context, fresh []span) error {
	if err := f.open(); err != nil {
		return err
	}
	if f.p.opt.DryRun {
		for _, s := range fresh {
			f.e.Bytes += s.To - s.From
		}
		return nil
	}
	at, err := f.untouched(ctx)
	if err != nil {
		return err
	}
	r, err := backend.OpenLog(ctx, f.p.t.Backend, f.there.Log)
	if err != nil {
		return err
	}
	defer r.Close()
	behind := f.w.Of == f.o.at.Size // the copy has all of the local log
	start, lead := at.Size, []byte(nil)
	if endsLine(f.p.t.Backend, f.there.Name, r, fresh[0].From) && !endsLine(f.src.b, at.Name, f.o.r, at.Size) {
		// The span does not continue the last line here.
		if f.p.c.opt.Clock().Sub(at.Time) < tornWait {
			f.e.Fate, f.e.Why = Withheld, "its last line is being written; pull again"
			return nil
		}
		lead = []byte{'\n'}
	}
	for _, s := range fresh {
		err := f.take(ctx, r, s, func(piece []byte) error {
			piece = append(lead, piece...)
			lead = nil
			now, err := f.m.Extend(ctx, at, "", bytes.NewReader(piece))
			if err != nil {
				return err
			}
			at = now
			if behind {
				_, _ = f.digest.Write(piece)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if err := backend.Sync(ctx, f.b, at); err != nil {
		return err
	}
	if f.w.At < f.there.Size {
		if !behind {
			f.w.Elsewhere = append(slices.Clip(f.w.Elsewhere), span{f.w.At, f.there.Size})
		}
		f.w.At = f.there.Size
	}
	f.w.Taken = len(f.w.Elsewhere)
	if behind {
		f.w.Of = at.Size
	} else {
		f.w.Skip = append(slices.Clip(f.w.Skip), span{start, at.Size})
	}
	return f.keep(ctx)
}

// diverged handles a log that has changed here and in the archive.
func (f *fetching) diverged(ctx context.Context, state growth, appended bool, fresh []span) error {
	theirs, err := backend.ReadAll(ctx, f.p.t.Backend, f.there.Log)
	if err != nil {
		return err
	}
	if appended && state == grown && f.o.lines && isTree(f.src.Dialect) {
		ours := make([]byte, f.o.at.Size)
		if err := backend.ReadFull(f.o.r, f.o.at.Name, ours, 0); err != nil {
			return err
		}
		if disjoint(f.src.Dialect, ours, f.w.Of, theirs, fresh[0].From) {
			f.e.Fate = Branched
			return f.extend(ctx, fresh)
		}
	}
	f.e.Fate = Forked
	if err := f.open(); err != nil {
		return err
	}
	_, err = keepFork(f.src.Dialect, f.there.Name, theirs, min(f.w.At, int64(len(theirs))), func(made fork) (bool, error) {
		_, _, name, _ := backend.SplitArchived(made.name)
		if f.e.Fork = f.src.PathOf(name); f.p.opt.DryRun {
			return true, nil
		}
		if err := f.carry(ctx, made.content); err != nil {
			return false, err
		}
		return putFork(ctx, f.b, f.m, name, "", made.content)
	})
	if err != nil || f.p.opt.DryRun {
		return err
	}
	w := f.w
	w.V, w.ForkedAt, w.ForkedGen, w.Seen = markVersion, f.there.Size, f.there.Generation, stamp{}
	if f.digest != nil {
		f.digest.note(&w)
	}
	f.o.note(&w)
	f.p.marks.put(&w)
	return nil
}
