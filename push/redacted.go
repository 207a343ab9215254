package push

import (
	"context"
	"io"

	"github.com/treeline-dev/treeline/backend"
)

// Reasons for withholding a redacted copy from the machine that it comes from.
const (
	whyLost = "secrets in it were redacted when it was pushed, and the original is not here; --redacted pulls the redacted copy"
	whyHere = "it was written elsewhere, but secrets in its copy are redacted, and the original is here; --into DIR pulls the copy into a folder"
)

// allowed reports whether a redacted copy is pulled to the machine that it comes from. If redaction changed nothing, it is as good as an
// exact copy. Otherwise it is pulled only if that is asked for, and never if the original is here.
func (f *fetching) allowed(ctx context.Context, w *watermark, m mark) (bool, error) {
	if w != nil && f.it != nil {
		m = w.mark
		if w.copied(f.there.Log) && len(w.fresh(f.there.Log)) == 0 {
			f.e.Fate = Unchanged // what is new here is for a push
			return false, nil
		}
	}
	clean, err := f.clean(ctx, m)
	switch {
	case err != nil:
		return false, err
	case clean:
		f.w.Clean = true
		return true, nil
	case f.it == nil && f.p.opt.Redacted:
		f.e.Redacted = true
		return true, nil
	case f.it == nil:
		f.e.Fate, f.e.Why = Withheld, whyLost
	case w != nil:
		f.e.Fate, f.e.Why = Withheld, whyHere
	default:
		f.e.Fate = Unchanged
	}
	return false, nil
}

// clean reports whether redaction changed nothing in the copy. A mark that does not say so has the hash of the original, which the copy
// then has, too, without what comes from elsewhere.
func (f *fetching) clean(ctx context.Context, m mark) (bool, error) {
	if m.At > f.there.Size || m.CGen != "" && m.CGen != f.there.Generation {
		return false, nil // it is the mark of another copy
	}
	if m.Clean {
		return true, nil
	}
	parts, size, at := []span{}, int64(0), int64(0)
	for _, s := range append(m.Elsewhere[:len(m.Elsewhere):len(m.Elsewhere)], span{m.At, m.At}) {
		parts = append(parts, span{at, s.From})
		size, at = size+s.From-at, s.To
	}
	if m.Loose || size != m.Of || m.Sum == "" {
		return false, nil
	}
	r, err := backend.OpenLog(ctx, f.p.t.Backend, f.there.Log)
	if err != nil {
		return false, err
	}
	defer r.Close()
	d := newDigest()
	for _, s := range parts {
		if _, err := io.Copy(d, io.NewSectionReader(r, s.From, s.To-s.From)); err != nil {
			return false, err
		}
	}
	return d.sum() == m.Sum, nil
}
