package store

import (
	"context"
	"iter"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// Prompt is a text that a person typed. At is the time of the message or, if it has none, of the prompt before it or of the session or its
// log.
type Prompt = session.Prompt

// Prompts returns what people typed in the session, on all branches, in the order of the log. It leaves out tool results, messages that the
// agent sent in the user's name, and the tasks of subagents. An entry that cannot be read yields an error, and the iteration goes on. The
// session may be appended to meanwhile.
func (s *Session) Prompts(ctx context.Context) iter.Seq2[Prompt, error] {
	return func(yield func(Prompt, error) bool) {
		var last time.Time
		skip := false
		_ = s.View(func(t *session.Tree) error {
			// A prompt without a time gets that of the one before it, the first that of the session.
			last = s.log.Time
			if at, ok := t.Header().Timestamp.Time(); ok {
				last = at
			}
			m, ok := s.dialect.Layout().(dialect.Placer)
			skip = ok && s.log.Name != "" && !m.Main(s.log.Name) || t.Delegated()
			return nil
		})
		// In the log of a subagent, the user's words are another agent's.
		if skip {
			return
		}
		for next := 0; next >= 0; {
			if ctx.Err() != nil {
				yield(Prompt{}, context.Cause(ctx))
				return
			}
			var list []Prompt
			var errs []error
			_ = s.View(func(t *session.Tree) error {
				list, errs, next = t.Prompts(next)
				return nil
			})
			for i, p := range list {
				if p.At.IsZero() {
					p.At = last
				}
				last = p.At
				if (p.Text != "" || errs[i] != nil) && !yield(p, errs[i]) {
					return
				}
			}
		}
	}
}
