package push

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/blob"
)

// sending is one log that is being pushed.
type sending struct {
	p      *pusher
	it     *item
	o      *original
	e      *Event
	there  backend.Log       // the copy
	w      watermark         // how far the copy has come
	digest *digest           // of the first w.Of bytes
	lead   []byte            // bytes before the first piece
	asked  map[blob.Ref]bool // see carrier
}

// decide handles a log whose watermark is known. untouched reports whether the copy has not changed since.
func (s *sending) decide(ctx context.Context, state growth, untouched bool) error {
	switch {
	case untouched && state == same && s.p.sameMode(&s.w):
		s.e.Fate = Unchanged
		s.keep()
		return nil
	case untouched && state == grown && s.p.sameMode(&s.w) && !s.w.Loose:
		s.e.Fate = Extended
		return s.extend(ctx, false)
	case untouched && len(s.w.Elsewhere) > s.w.Taken:
		return s.diverged(ctx, rewritten) // the copy would lose what was written to it elsewhere
	case untouched:
		s.e.Fate = Replaced
		return s.anew(ctx)
	case state == same:
		s.e.Fate = Ahead
		return nil
	}
	return s.diverged(ctx, state)
}

// meet handles a copy without a usable mark by comparing the contents.
func (s *sending) meet(ctx context.Context) error {
	state, m, d, err := s.o.meet(ctx, s.p.t.Backend, s.there, s.p.opt.Redact)
	if err != nil {
		return err
	}
	s.w.mark, s.digest = m, d
	s.w.Redacted = s.p.version()
	d.note(&s.w)
	return s.decide(ctx, state, m.At == s.there.Size)
}

// keep stores the watermark with the current state of the log.
func (s *sending) keep() {
	if s.p.opt.DryRun {
		return
	}
	w := s.w
	s.digest.note(&w)
	s.o.note(&w)
	w.V, w.Gen, w.Gone, w.Seen = markVersion, s.it.log.Generation, false, stamp{}
	if w.Of >= s.o.at.Size || w.Loose {
		w.Seen = stampOf(s.it.log) // only if nothing is left to send
	}
	s.w = w
	s.p.marks.put(&w)
	s.p.copied(backend.Marked{Log: s.there})
}

// anew creates or replaces the copy.
func (s *sending) anew(ctx context.Context) error {
	s.digest = newDigest()
	s.w.mark, s.w.Skip, s.w.Taken = mark{V: markVersion, Redacted: s.p.version(), Clean: s.p.opt.Redact}, nil, 0
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

// atOnce replaces a copy in one step, even with a log that does not fit into memory. The mark is sent before the content, so the log is
// read twice: once for the mark.
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
		out, data, secrets, loose := s.transform(piece)
		_, _ = whole.Write(data)
		s.w.Of, s.w.Loose, s.w.Clean = s.w.Of+int64(len(data)), loose, s.w.Clean && secrets == 0
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

// cutter returns a cutter for what the copy does not have, up to the bytes that were pulled from it.
func (s *sending) cutter() *cutter {
	end := s.o.at.Size
	if len(s.w.Skip) > 0 {
		end = s.w.Skip[0].From
	}
	return &cutter{r: s.o.r, name: s.o.at.Name, pos: s.w.Of, end: end, step: s.o.step(s.p.c.opt.Step, s.p.opt.Redact)}
}

// skip passes over the bytes that were pulled from the copy, and moves the cutter behind them.
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

// text returns the mark of a copy that will have that size. grows reports whether the copy keeps its generation.
func (s *sending) text(size int64, grows bool) (string, error) {
	s.w.V, s.w.At, s.w.CGen, s.w.Gen = markVersion, size, "", s.it.log.Generation
	if grows {
		s.w.CGen = s.there.Generation
	}
	s.w.Sum, s.w.Time = s.digest.sum(), s.p.c.opt.Clock().UTC().Format(time.RFC3339)
	return marshalMark(&s.w.mark)
}

// extend sends what the copy does not have, piece by piece. anew creates or replaces the copy with the first piece.
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

// transform returns what is sent of a piece, and the bytes of the original that count as sent. loose reports that the unterminated last
// line is sent, too, which does not count.
func (s *sending) transform(piece []byte) (out, data []byte, secrets int, loose bool) {
	if !s.p.opt.Redact {
		return piece, piece, 0, false
	}
	data = piece
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

// leadIn checks whether the copy needs a newline first: if it has parts from elsewhere, its last line may not be the line that continues
// here.
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

// prepare prepares a piece for sending: it redacts the piece if required, sends its blobs first, and moves the watermark.
func (s *sending) prepare(ctx context.Context, piece []byte) (out []byte, bytes int64, err error) {
	out, data, secrets, loose := s.transform(piece)
	s.w.Loose, s.w.Clean = loose, s.w.Clean && secrets == 0
	if v := s.p.version(); s.w.Redacted == 0 || v < s.w.Redacted {
		s.w.Redacted = v
	}
	m, path, d := s.p.c.m, s.it.path(), s.it.src.Dialect
	carrier := carrier{
		dir: m.BlobDir(path, d), from: m.Blobs(path, d), to: blobsOf(s.p.t.Backend, s.it.name),
		redact: s.p.opt.Redact, meter: s.p.meter, asked: s.asked, done: &s.p.blobs,
	}
	if err := carrier.carry(ctx, out); err != nil {
		return nil, 0, err
	}
	_, _ = s.digest.Write(data)
	s.w.Of += int64(len(data))
	s.p.meter.sent(int64(len(piece)), secrets)
	return out, int64(len(piece)), nil
}

// blobsOf returns the blobs of a log in an archive, or nil if the archive has none.
func blobsOf(b backend.Backend, name string) blob.Store {
	if k, ok := b.(blob.Keeper); ok {
		return k.Blobs(name)
	}
	return nil
}

// pieces reads the bytes to be sent of a log, for a copy that is replaced in one step.
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
