package push

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/internal/redact"
)

// PushOptions say what Push does.
type PushOptions struct {
	Filter
	// Redact replaces secrets.
	Redact bool
	// Deletions passes on that logs were removed here.
	Deletions bool
	// DryRun only tells what would be done.
	DryRun bool
	// Workers is how many logs are copied at once; 0 is a number that suits the machine.
	Workers int
	// Event, if set, is told of each log that is not unchanged, Progress how far it is. Both are called by one goroutine at a
	// time.
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
	// there are the copies of this origin, by name.
	mu    sync.Mutex
	there map[string]backend.Marked
	blobs sync.Map // that were carried
	// forbidden is how many logs the server does not take.
	forbidden atomic.Int64
}

// version is that of the rules that copies are redacted with; 0 for exact ones.
func (p *pusher) version() int {
	if p.opt.Redact {
		return redact.Version
	}
	return 0
}

// Push copies what is new on this machine to an archive. What is wrong with one source or log does not stop the rest: it is in
// the report. The error is one of the archive as a whole.
func (c *Copier) Push(ctx context.Context, t Target, opt PushOptions) (Report, error) {
	p, err := c.pusher(ctx, t, opt)
	if err != nil {
		return Report{}, err
	}
	err = p.pass(ctx)
	return p.meter.report, errors.Join(err, p.close(ctx))
}

// pusher begins a Push: it lists the archive once.
func (c *Copier) pusher(ctx context.Context, t Target, opt PushOptions) (*pusher, error) {
	m, err := t.mirror()
	if err != nil {
		return nil, err
	}
	if c.opt.Origin == "" {
		return nil, ErrNoOrigin
	}
	id, err := t.identity(ctx)
	if err != nil {
		return nil, err
	}
	p := &pusher{c: c, t: t, m: m, opt: opt, meter: newMeter(opt.Event, opt.Progress)}
	if p.marks, err = openWatermarks(c.opt.State, id); err != nil {
		return nil, err
	}
	p.there, err = listed(ctx, m, c.opt.Origin+"/")
	return p, err
}

// listed gives the copies below a prefix.
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

// close keeps the watermarks. An archive that was empty has an identity only now.
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

// pass looks at all logs once.
func (p *pusher) pass(ctx context.Context) error {
	sources, err := p.c.sources(&p.opt.Filter, p.meter)
	if err != nil {
		return err
	}
	var todo []*item
	here, partly := map[string]bool{}, map[string]bool{}
	for _, s := range sources {
		items, whole := p.c.items(ctx, s, p.meter)
		if !whole {
			partly[s.name] = true
		}
		for _, it := range items {
			here[it.name] = true
			if p.opt.Since.After(it.log.Time) {
				continue
			}
			p.meter.at.Total++
			if w := p.marks.get(it.name); w.settled(stampOf(it.log), p.there[it.name].Log) && p.sameMode(w) && p.there[it.name].Removed.IsZero() {
				p.meter.done(Event{Name: it.name, Fate: Unchanged})
				continue
			}
			todo = append(todo, it)
			p.meter.at.OfBytes += p.estimate(it)
		}
	}
	each(ctx, len(todo), workers(p.opt.Workers), func(i int) {
		e := p.log(ctx, todo[i])
		if e.Err != nil && ctx.Err() != nil {
			return // it is not the log's fault
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
		for _, s := range sources {
			if !partly[s.name] {
				p.deletions(ctx, s, here)
			}
		}
	}
	return nil
}

// estimate is how many bytes of a log may have to travel.
func (p *pusher) estimate(it *item) int64 {
	if w := p.marks.get(it.name); w != nil && p.sameMode(w) && it.log.Size >= w.Of {
		return it.log.Size - w.Of
	}
	return it.log.Size
}

// sameMode reports whether the copy is redacted as it is to be. A copy that older rules redacted is extended by newer ones.
func (p *pusher) sameMode(w *watermark) bool { return (w.Redacted > 0) == p.opt.Redact }

// mostTries is how often a log is looked at again because its copy changed meanwhile.
const mostTries = 5

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
		changed := errors.Is(err, backend.ErrConflict) || errors.Is(err, backend.ErrExist) || errors.Is(err, backend.ErrChanged)
		if changed && try < mostTries {
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
		}
		e.Fate, e.Err = Failed, fmt.Errorf("%s: %w", e.Path, err)
		return e
	}
}

// again looks at a copy again.
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

// copyOf gives the copy of a log.
func (p *pusher) copyOf(name string) (l backend.Marked, live, removed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l, found := p.there[name]
	return l, found && l.Removed.IsZero(), found && !l.Removed.IsZero()
}

// copied notes what a copy is now.
func (p *pusher) copied(l backend.Marked) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.there[l.Name] = l
}

// try decides what a log needs, and does it.
func (p *pusher) try(ctx context.Context, it *item, cwd *string, e *Event) error {
	there, live, removed := p.copyOf(it.name)
	w := p.marks.get(it.name)
	if removed && w != nil && w.Seen == stampOf(it.log) {
		e.Fate, e.Why = Withheld, "it was removed in the archive, and has not changed here since"
		return nil
	}
	o, err := openOriginal(ctx, it.src.b, it.log.Name)
	if err != nil {
		return err
	}
	defer o.close()
	s := &sending{p: p, it: it, o: o, e: e, there: there.Log, w: watermark{Name: it.name, CWD: cwd}}
	if !live {
		s.there, e.Fate = backend.Log{Name: it.name}, Created
		return s.anew(ctx)
	}
	if w == nil || !w.copied(there.Log) {
		// A push may have been killed before it kept the watermark, or the state folder is an old one.
		if r := rebuilt(it, there); w == nil || w.Gone || r != nil && (r.At != w.At || r.CGen != w.CGen) {
			w = r
		}
	}
	if w == nil {
		return s.meet(ctx)
	}
	s.w = *w
	s.w.CWD = cmp.Or(cwd, w.CWD)
	state, d, err := o.since(ctx, w)
	if err != nil {
		return err
	}
	s.digest = d
	return s.decide(ctx, state, w.copied(there.Log))
}

// rebuilt makes a watermark from the mark of a copy; nil if it has none.
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

// sending is one log on its way.
type sending struct {
	p      *pusher
	it     *item
	o      *original
	e      *Event
	there  backend.Log // the copy
	w      watermark   // how far it is
	digest *digest     // of the first w.Of bytes
	lead   []byte      // goes before the first piece
}

// decide does what is to be done with a log whose watermark is known. untouched: the copy is as it was left.
func (s *sending) decide(ctx context.Context, state growth, untouched bool) error {
	switch {
	case untouched && state == same && s.p.sameMode(&s.w):
		s.e.Fate = Unchanged
		s.keep()
		return nil
	case untouched && state == grown && s.p.sameMode(&s.w) && !s.w.Loose:
		s.e.Fate = Extended
		return s.extend(ctx, false)
	case untouched:
		s.e.Fate = Replaced
		return s.anew(ctx)
	case state == same:
		s.e.Fate = Ahead
		return nil
	}
	return s.diverged(ctx, state)
}

// meet handles a copy that has no usable mark: what it holds decides.
func (s *sending) meet(ctx context.Context) error {
	of, there, d, err := s.o.common(ctx, s.p.t.Backend, s.there, s.p.opt.Redact)
	if err != nil {
		return err
	}
	s.digest = d
	s.w.mark = mark{V: markVersion, Of: of, At: there, CGen: s.there.Generation, Redacted: s.p.version()}
	d.note(&s.w)
	state := same
	if of < s.o.at.Size {
		state = grown
	}
	if !s.o.lines && (state == grown || there < s.there.Size) {
		state = rewritten
	}
	return s.decide(ctx, state, there == s.there.Size)
}

// keep keeps the watermark as it is, with the log as it is now.
func (s *sending) keep() {
	if s.p.opt.DryRun {
		return
	}
	w := s.w
	s.digest.note(&w)
	s.o.note(&w)
	w.V, w.Gen, w.Gone, w.Seen = markVersion, s.it.log.Generation, false, stamp{}
	if w.Of >= s.o.at.Size || w.Loose {
		w.Seen = stampOf(s.it.log) // otherwise there is more to send
	}
	s.w = w
	s.p.marks.put(&w)
	s.p.copied(backend.Marked{Log: s.there})
}

// anew makes the copy, or replaces it.
func (s *sending) anew(ctx context.Context) error {
	s.digest = newDigest()
	s.w.mark, s.w.Skip, s.w.Taken = mark{V: markVersion, Redacted: s.p.version()}, nil, 0
	if s.p.opt.DryRun {
		s.e.Bytes = s.o.at.Size
		return nil
	}
	created := s.there.Generation == ""
	if created && s.o.lines || s.o.at.Size <= int64(s.p.c.opt.Step) {
		return s.extend(ctx, true)
	}
	return s.atOnce(ctx)
}

// atOnce replaces a copy by a log that may be longer than the memory. That is one step, and its mark comes first; so the log is read
// twice.
func (s *sending) atOnce(ctx context.Context) error {
	whole, size := newDigest(), int64(0)
	for cut := s.cutter(); ; {
		piece, err := cut.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		out, data, _, loose := s.transform(piece)
		_, _ = whole.Write(data)
		s.w.Of, s.w.Loose = s.w.Of+int64(len(data)), loose
		size += int64(len(out))
	}
	s.digest = whole
	text, err := s.text(size, false)
	if err != nil {
		return err
	}
	s.digest, s.w.Of = newDigest(), 0
	now, err := s.p.m.Overwrite(ctx, s.there, text, &pieces{s: s, ctx: ctx, next: s.cutter(), sum: whole.sum()})
	if err != nil {
		return err
	}
	s.there, s.w.CGen = now, now.Generation
	s.keep()
	return nil
}

// cutter cuts what the copy does not have, up to what was pulled from it.
func (s *sending) cutter() *cutter {
	end := s.o.at.Size
	if len(s.w.Skip) > 0 {
		end = s.w.Skip[0].From
	}
	return &cutter{r: s.o.r, name: s.o.at.Name, pos: s.w.Of, end: end, step: s.p.c.opt.Step}
}

// skip leaves out what was pulled from the copy, and sets the cutter to what comes after it.
func (s *sending) skip(cut *cutter) error {
	if len(s.w.Skip) == 0 {
		return nil
	}
	to := s.w.Skip[0].To
	if _, err := io.Copy(s.digest, io.NewSectionReader(s.o.r, s.w.Of, to-s.w.Of)); err != nil {
		return err
	}
	s.w.Of, s.w.Skip = to, s.w.Skip[1:]
	*cut = *s.cutter()
	s.keep()
	return nil
}

// text gives the mark for a copy that will have that size. grows: it keeps its generation.
func (s *sending) text(size int64, grows bool) (string, error) {
	s.w.V, s.w.At, s.w.CGen, s.w.Gen = markVersion, size, "", s.it.log.Generation
	if grows {
		s.w.CGen = s.there.Generation
	}
	s.w.Sum, s.w.Time = s.digest.sum(), s.p.c.opt.Clock().UTC().Format(time.RFC3339)
	return marshalMark(&s.w.mark)
}

// extend sends what the copy does not have, piece by piece. anew makes the copy with the first one, or replaces it.
func (s *sending) extend(ctx context.Context, anew bool) error {
	if s.p.opt.DryRun {
		s.e.Bytes = s.o.at.Size - s.w.Of
		return nil
	}
	if err := s.leadIn(ctx, anew); err != nil {
		return err
	}
	cut, first := s.cutter(), anew
	for {
		piece, err := cut.next()
		if err == io.EOF && !first {
			if err := s.skip(cut); err != nil {
				return err
			}
			if cut.pos == cut.end {
				break
			}
			continue
		}
		if err != nil && err != io.EOF {
			return err
		}
		out, n, err := s.prepare(ctx, piece)
		if err != nil {
			return err
		}
		if !first && len(out) == 0 {
			break // the rest waits
		}
		out = append(s.lead, out...)
		size, step := s.there.Size, s.p.m.Extend
		if first {
			size, step = 0, s.p.m.Overwrite
		}
		text, err := s.text(size+int64(len(out)), !first)
		if err != nil {
			return err
		}
		now, err := step(ctx, s.there, text, bytes.NewReader(out))
		if err != nil {
			return err
		}
		first, s.lead = false, nil
		s.there, s.w.CGen = now, now.Generation
		s.e.Bytes += n
		s.keep()
	}
	if s.e.Bytes == 0 {
		s.keep()
	}
	return nil
}

// transform gives what is sent of a piece, and the bytes of the original that count as sent. loose: the unterminated last line is
// sent besides.
func (s *sending) transform(piece piece) (out, data []byte, secrets int, loose bool) {
	if !s.p.opt.Redact {
		return piece.data, piece.data, 0, false
	}
	data = piece.data
	var rest []byte
	if s.o.lines {
		data, rest = cutLoose(data)
	}
	out, secrets = redactPiece(data, s.o.lines)
	if len(rest) > 0 && s.p.c.opt.Clock().Sub(s.o.at.Time) > looseWait {
		line, n := redactLoose(rest)
		return append(out[:len(out):len(out)], line...), data, secrets + n, true
	}
	return out, data, secrets, false
}

// leadIn finds out whether the copy needs a newline first: its last line need not be the one that goes on here if it has parts
// from elsewhere.
func (s *sending) leadIn(ctx context.Context, anew bool) error {
	if anew || len(s.w.Elsewhere) == 0 || len(s.lead) > 0 || !endsLine(s.o.b, s.o.at.Name, s.o.r, s.w.Of) {
		return nil
	}
	last := make([]byte, 1)
	_, n, err := backend.Ends(ctx, s.p.t.Backend, s.there, nil, last)
	if err == nil && n == 1 && last[0] != '\n' {
		s.lead = []byte{'\n'}
	}
	return err
}

// prepare makes a piece ready to be sent: redacted if that is wanted, with its blobs sent before it. It moves the watermark.
func (s *sending) prepare(ctx context.Context, piece piece) (out []byte, bytes int64, err error) {
	out, data, secrets, loose := s.transform(piece)
	s.w.Loose = loose
	if v := s.p.version(); s.w.Redacted == 0 || v < s.w.Redacted {
		s.w.Redacted = v
	}
	carrier := carrier{from: s.p.c.blobs(s.it), to: blobsOf(s.p.t.Backend, s.it.name), redact: s.p.opt.Redact, meter: s.p.meter, done: &s.p.blobs}
	if err := carrier.carry(ctx, out); err != nil {
		return nil, 0, err
	}
	_, _ = s.digest.Write(data)
	s.w.Of += int64(len(data))
	s.p.meter.sent(int64(len(piece.data)), secrets)
	return out, int64(len(piece.data)), nil
}

// blobsOf gives the blobs of an archive; nil if it has none.
func blobsOf(b backend.Backend, name string) blob.Store {
	if k, ok := b.(blob.Keeper); ok {
		return k.Blobs(name)
	}
	return nil
}

// pieces reads what is sent of a log, for a copy that is replaced in one step.
type pieces struct {
	s    *sending
	ctx  context.Context
	next *cutter
	rest []byte
	sum  string // of all bytes
}

// Read implements io.Reader.
func (r *pieces) Read(b []byte) (int, error) {
	for len(r.rest) == 0 {
		piece, err := r.next.next()
		if err == io.EOF && r.s.digest.sum() != r.sum {
			err = fmt.Errorf("%s: %w", r.s.o.at.Name, backend.ErrChanged)
		}
		if err != nil {
			return 0, err
		}
		var n int64
		if r.rest, n, err = r.s.prepare(r.ctx, piece); err != nil {
			return 0, err
		}
		r.s.e.Bytes += n
	}
	n := copy(b, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// deletions removes the copies of logs that are gone here. If all are, the folder is more likely missing than empty: nothing is
// removed.
func (p *pusher) deletions(ctx context.Context, s *source, here map[string]bool) {
	prefix := p.c.opt.Origin + "/" + s.name + "/"
	var gone []*watermark
	left := false
	for name := range here {
		left = left || strings.HasPrefix(name, prefix)
	}
	for _, w := range p.marks.all() {
		if strings.HasPrefix(w.Name, prefix) && !here[w.Name] && !w.Gone && (p.opt.Project == nil || w.CWD != nil && p.opt.Project(*w.CWD)) {
			gone = append(gone, w)
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
			}
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
