package repair

import (
	"bytes"
	"context"

	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// Check lists all that is wrong with the session: the problems that reading it found, and blobs that its entries name
// and that cannot be had. It reads the whole log again.
func (s *Session) Check(ctx context.Context) ([]session.Problem, error) {
	// A copy: the list is the tree's.
	problems := append([]session.Problem(nil), s.tree.Problems()...)
	if r, ok := s.dialect.(dialect.Ruler); ok && s.path != "" {
		for _, p := range r.Check(s.tree, dialect.LogInfo{Name: s.path, Size: s.log.Size, Changed: s.log.Time}) {
			p.File = s.path
			problems = append(problems, p)
		}
	}
	if s.blobs == nil {
		return problems, nil // what looks like a reference is one only to agents that keep blobs
	}
	// A picture that is named a hundred times is read once, and reported at each place.
	known := map[string]*session.Problem{}
	for e := range s.tree.Entries() {
		if ctx.Err() != nil {
			return problems, context.Cause(ctx)
		}
		raw, err := e.Raw()
		if err != nil {
			return problems, err
		}
		// Decoding every message would take most of the time, and hardly any has a blob.
		if !bytes.Contains(raw, []byte(blob.Prefix)) {
			continue
		}
		// Strings that were cut name their rest in a member of their own, which is no part of a message.
		_, cut, err := s.Whole(ctx, e)
		if err != nil {
			return problems, err
		}
		problems = append(problems, cut...)
		messages, err := s.dialect.Codec().Messages(e, raw)
		if err != nil {
			return problems, err
		}
		for _, m := range messages {
			_, err := s.dialect.Codec().ResolveBlobs(m, func(ref string) ([]byte, error) {
				p, seen := known[ref]
				if !seen {
					_, p = s.Blob(ctx, ref)
					known[ref] = p
				}
				if p != nil {
					here := *p
					here.Line, here.Offset = e.Line, e.Span.Offset
					problems = append(problems, here)
				}
				return nil, blob.ErrNotExist // nobody wants the message
			})
			if err != nil {
				return problems, err
			}
		}
	}
	return problems, nil
}

// MessageParts gives what is inside a message of a context in neutral form. A dialect that cannot say so gives the
// message as it is.
func (s *Session) MessageParts(m []byte) []session.Part {
	if d, ok := s.dialect.(dialect.Parter); ok {
		return d.MessageParts(m)
	}
	return []session.Part{session.OpaquePart{Type: "message", JSON: m}}
}
