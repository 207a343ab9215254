package push

import (
	"bytes"
	"context"
	"io"
	"slices"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/logtree"
)

// growth says how a log has changed since its watermark.
type growth int

const (
	same      growth = iota // unchanged
	grown                   // bytes were appended
	rewritten               // any other change
)

// original is a log that is open for being copied.
type original struct {
	b     backend.Backend
	at    backend.Log
	r     backend.Reader
	lines bool
}

// openOriginal opens a log as it is now.
func openOriginal(ctx context.Context, b backend.Backend, name string) (*original, error) {
	at, r, err := backend.OpenNow(ctx, b, name)
	if err != nil {
		return nil, err
	}
	return &original{b: b, at: at, r: r, lines: backend.Lines(b, name)}, nil
}

func (o *original) close() { _ = o.r.Close() } // it was only read

// step returns the size of the pieces in which the log is read. A log that does not consist of lines is redacted as one text, because a
// secret may span lines.
func (o *original) step(usual int, redacted bool) int {
	if redacted && !o.lines {
		return max(usual, int(o.at.Size))
	}
	return usual
}

// since returns how the log has changed since its watermark, and the hash of the bytes that the copy holds.
func (o *original) since(ctx context.Context, w *watermark) (growth, *digest, error) {
	if o.at.Size < w.Of {
		return rewritten, nil, nil
	}
	state := same
	if o.at.Size > w.Of {
		state = grown
	}
	if !o.lines && state == grown {
		return rewritten, nil, nil // its program always writes the whole log
	}
	if w.Open != "" && o.lines {
		head := make([]byte, min(headMost, w.Of))
		if err := backend.ReadFull(o.r, o.at.Name, head, 0); err != nil {
			return rewritten, nil, err
		}
		tail := logtree.Tail{Backend: o.b, At: backend.Log{Name: o.at.Name, Generation: w.Open, Size: w.Size, Time: time.Unix(0, w.Nanos)}}
		change, err := tail.Compare(ctx, o.at)
		if err != nil {
			return rewritten, nil, err
		}
		if d, ok := w.resume(head); ok && (change == logtree.Same || change == logtree.Grown) && headSum(head) == w.Head {
			return state, d, nil
		}
	}
	// A different file may hold the same bytes: it was copied, compressed, or restored.
	d := newDigest()
	if _, err := io.Copy(d, io.NewSectionReader(o.r, 0, w.Of)); err != nil {
		return rewritten, nil, err
	}
	if d.sum() != w.Sum {
		return rewritten, nil, nil
	}
	return state, d, nil
}

// whole reports whether a log that does not match its watermark is the copy, byte for byte: it was pulled as a whole, and the watermark of
// that is lost. It moves the watermark, and returns the hash.
func (o *original) whole(ctx context.Context, copied backend.Backend, at backend.Log, w *watermark) (*digest, bool, error) {
	if o.at.Size != at.Size {
		return nil, false, nil
	}
	of, there, d, err := o.common(ctx, copied, at, false)
	if err != nil || of != o.at.Size || there != at.Size {
		return nil, false, err
	}
	w.mark = mark{V: markVersion, Of: of, At: there, CGen: at.Generation, Redacted: w.Redacted, Clean: w.Redacted > 0}
	w.Taken, w.Skip = 0, nil
	return d, true, nil
}

// note stores the current state of the log in a watermark.
func (o *original) note(w *watermark) {
	w.Open, w.Size, w.Nanos = o.at.Generation, o.at.Size, o.at.Time.UnixNano()
}

// noticeMost is the largest size that notice compares in memory. Larger growth is copied without the comparison.
const noticeMost = 64 << 20

// notice checks whether the new part of the copy is already here: a pull was killed before it kept its watermark, or another process kept
// the watermark. If so, it moves the watermark and the digest of a log that has grown. It returns the remaining growth.
func (o *original) notice(ctx context.Context, copied backend.Backend, at backend.Log, w *watermark, d *digest) (growth, error) {
	from, spans := w.Of, w.fresh(at)
	if n := len(w.Skip); n > 0 {
		from = w.Skip[n-1].To
	}
	if !o.lines || w.Redacted > 0 && !w.Clean || len(spans) == 0 || from >= o.at.Size || at.Generation != w.CGen || at.Size < w.At {
		return grown, nil
	}
	size := o.at.Size - from
	for _, s := range spans {
		size += s.To - s.From
	}
	if size > noticeMost {
		return grown, nil
	}
	r, err := backend.OpenLog(ctx, copied, at)
	if err != nil {
		return grown, err
	}
	defer r.Close()
	var theirs []byte
	for _, s := range spans {
		part := make([]byte, s.To-s.From)
		if err := backend.ReadFull(r, at.Name, part, s.From); err != nil {
			return grown, err
		}
		theirs = append(theirs, part...)
	}
	ours := make([]byte, o.at.Size-from)
	if err := backend.ReadFull(o.r, o.at.Name, ours, from); err != nil {
		return grown, err
	}
	i := lineIndex(ours, theirs)
	switch {
	case from == w.Of && i == 0:
		_, _ = d.Write(theirs)
		w.Of += int64(len(theirs))
		w.took(int64(len(theirs)))
	case i >= 0:
		if w.At < at.Size {
			w.Elsewhere = append(slices.Clip(w.Elsewhere), span{w.At, at.Size})
		}
		w.At, w.Taken = at.Size, len(w.Elsewhere)
		w.Skip = append(slices.Clip(w.Skip), span{from + int64(i), from + int64(i+len(theirs))})
	case from == w.Of && bytes.HasPrefix(theirs, ours): // the pull did not finish
		_, _ = d.Write(ours)
		w.Of += int64(len(ours))
		w.took(int64(len(ours)))
	default:
		return grown, nil
	}
	if w.Of == o.at.Size {
		return same, nil
	}
	return grown, nil
}

// lineIndex returns the offset of lines in all, at the beginning or after a newline, or -1.
func lineIndex(all, lines []byte) int {
	if bytes.HasPrefix(all, lines) {
		return 0
	}
	if i := bytes.Index(all, slices.Concat([]byte{'\n'}, lines)); i >= 0 {
		return i + 1
	}
	return -1
}

// meet compares the log with a copy whose mark is lost, and returns the mark that an exact copy would have.
func (o *original) meet(ctx context.Context, copied backend.Backend, at backend.Log, redacted bool) (state growth, m mark, d *digest, err error) {
	of, there, d, err := o.common(ctx, copied, at, redacted)
	if err != nil {
		return rewritten, mark{}, nil, err
	}
	switch {
	case !o.lines && (of < o.at.Size || there < at.Size):
		state = rewritten
	case of < o.at.Size:
		state = grown
	}
	return state, mark{V: markVersion, Of: of, At: there, CGen: at.Generation}, d, nil
}

// common compares the log with a copy whose mark is lost. It returns how many bytes of each agree: whole lines, or all of the shorter one.
func (o *original) common(ctx context.Context, copied backend.Backend, at backend.Log, redacted bool) (of, there int64, d *digest, err error) {
	r, err := backend.OpenLog(ctx, copied, at)
	if err != nil {
		return 0, 0, nil, err
	}
	defer r.Close()
	d = newDigest()
	cut := cutter{r: o.r, name: o.at.Name, end: o.at.Size, step: o.step(1<<20, redacted)}
	for {
		piece, err := cut.next()
		if err == io.EOF {
			return of, there, d, nil
		}
		if err != nil {
			return of, there, d, err
		}
		for rest := piece; len(rest) > 0; {
			n := len(rest)
			if i := bytes.IndexByte(rest, '\n'); i >= 0 && o.lines {
				n = i + 1
			}
			line := rest[:n]
			rest = rest[n:]
			sent := line
			if redacted {
				sent, _ = redactPiece(line, o.lines)
			}
			have := make([]byte, min(int64(len(sent)), at.Size-there))
			if err := backend.ReadFull(r, at.Name, have, there); err != nil {
				return of, there, d, err
			}
			if !bytes.Equal(have, sent[:len(have)]) || len(have) < len(sent) && redacted {
				return of, there, d, nil
			}
			there += int64(len(have))
			if len(have) < len(sent) { // an exact copy that ends within the line
				of += int64(len(have))
				_, _ = d.Write(line[:len(have)])
				return of, there, d, nil
			}
			of += int64(len(line))
			_, _ = d.Write(line)
		}
	}
}
