package logtree

import (
	"context"
	"errors"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/session"
)

// Renew reads what was appended to the log since it was read. It returns Same or Grown; after any other change the tree stays
// as it was, and the log must be opened again. Nothing may read the tree meanwhile.
func (l *Log) Renew(ctx context.Context) (Change, error) {
	t := &l.tail
	switch {
	case l.halved:
		return Replaced, nil
	case t.Backend == nil:
		// The tail is set up at the first call, since most logs are read only once.
		head, err := l.Source.Bytes(session.Span{Length: min(l.Tree.Header().Span.End(), HeadMost)})
		if err != nil {
			return Replaced, nil //nolint:nilerr // it is another log by now
		}
		*t = Tail{Backend: l.Source.Backend(), At: l.At, Head: head, Pos: l.At.Size, Line: l.Lines, Unterminated: l.Torn}
	}
	now, change, err := t.Look(ctx)
	switch {
	case err != nil || change != Grown:
		return change, err
	case t.Unterminated, l.Long != nil:
		return Replaced, nil // the last record may have been continued
	}
	for record, err := range t.Records(ctx, now) {
		if err != nil {
			l.halved = true
			if _, long := errors.AsType[*backend.LongLineError](err); long {
				return Replaced, nil // opened again, the log has it as a Problem
			}
			return Replaced, err
		}
		l.Decoder.Decode(record)
	}
	l.Builder.Finish()
	l.At = now
	l.Source.Grown(now)
	return Grown, nil
}
