package repair

import (
	"bytes"
	"context"
	"slices"

	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
)

// Check lists everything that is wrong with a log: the problems that the reader found, violations of its agent's rules, what the agent's
// program does not show the model at the leaf, impossible numbers in the usage of answers, and blobs that entries refer to but that cannot
// be read. It reads every entry. The log must not change during the call.
func Check(ctx context.Context, l *logtree.Log, blobs logtree.Blobs) ([]session.Problem, error) {
	problems := slices.Clone(l.Tree.Problems())
	// A header that is not in the log has no such limit.
	if h := l.Tree.Header(); h.Raw != nil && h.Span.Offset+h.Span.Length > place.HeadMost {
		problems = append(problems, session.Problem{
			File: l.Path, Line: h.Line, Offset: h.Span.Offset, Kind: session.ProblemField,
			Message: "the header does not end within the first 64 MB: lists and searches leave the session out",
			Advice:  "it can be opened by its path",
		})
	}
	if r, ok := l.Dialect.(dialect.Ruler); ok && l.Path != "" {
		for _, p := range r.Check(l.Tree, dialect.LogInfo{Name: l.Path, Size: l.At.Size, Changed: l.At.Time}) {
			p.File = l.Path
			problems = append(problems, p)
		}
	}
	unseen, err := lost(l.Tree)
	if err != nil {
		return problems, err
	}
	problems = beside(problems, unseen)
	// A blob is read once, and reported wherever it is named.
	known := map[string]*session.Problem{}
	get := func(e session.Entry, ref string) {
		p, seen := known[ref]
		if !seen {
			_, p = blobs.Get(ctx, ref)
			known[ref] = p
		}
		if p != nil {
			here := *p
			here.Line, here.Offset = e.Line, e.Span.Offset
			problems = append(problems, here)
		}
	}
	codec := l.Dialect.Codec()
	for e := range l.Tree.Entries() {
		if ctx.Err() != nil {
			return problems, context.Cause(ctx)
		}
		raw, err := e.Raw()
		if err != nil {
			return problems, err
		}
		if p, ok := usage(codec, e, raw).Problem(e); ok {
			p.File = l.Path
			problems = append(problems, p)
		}
		// Without the agent's blobs, text that looks like a reference is only text. Few entries refer to blobs, and decoding messages is
		// most of the cost.
		if blobs.Reader == nil || !bytes.Contains(raw, []byte(blob.Prefix)) {
			continue
		}
		// A string that was cut refers to its blob in a member outside of the message.
		_, cut, err := blobs.Whole(ctx, e)
		if err != nil {
			return problems, err
		}
		problems = append(problems, cut...)
		messages, err := codec.Messages(e, raw)
		if err != nil {
			return problems, err
		}
		for _, m := range messages {
			_, err := codec.ResolveBlobs(m, func(ref string) ([]byte, error) {
				get(e, ref)
				return nil, blob.ErrNotExist // the resolved message is not needed
			})
			if err != nil {
				return problems, err
			}
		}
	}
	return problems, nil
}

// usage returns the usage of an answer; nil for any other entry, and for one that cannot be decoded.
func usage(codec session.Codec, e session.Entry, raw []byte) *session.Usage {
	if e.Kind != session.KindMessage || e.Role != session.RoleAssistant {
		return nil
	}
	body, _ := codec.Body(e, raw)
	m, _ := body.(session.Message)
	return m.Usage
}

// beside adds problems to those that are known, without what is said of the same place already: a rule may have said the same.
func beside(known, more []session.Problem) []session.Problem {
	type what struct {
		kind   session.ProblemKind
		offset int64
	}
	said := make(map[what]bool, len(known)+len(more))
	for i := range known {
		said[what{known[i].Kind, known[i].Offset}] = true
	}
	for i := range more {
		if is := (what{more[i].Kind, more[i].Offset}); !said[is] {
			said[is] = true
			known = append(known, more[i])
		}
	}
	return known
}
