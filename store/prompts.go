package store

import (
	"context"
	"iter"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// Prompt is what a person typed.
type Prompt struct {
	Entry session.EntryID
	Text  string
	// At is the time of the message, else of the prompt before it, else of the session or its log.
	At time.Time
}

// Prompts gives what people typed in the session, on all branches, in the order of the log. Tool results, messages that
// the agent sent in the user's name, and the tasks of subagents are not among them. An entry that cannot be read is an
// error, after which it goes on. The session may be appended to meanwhile.
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
			skip = ok && s.log.Name != "" && !m.Main(s.log.Name) || startedByAgent(t)
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
				list, errs, next = somePrompts(t, next)
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

// somePrompts looks at a batch of entries from next on. next is then the index after them, -1 at the end. Messages that
// are not prompts have no text.
func somePrompts(t *session.Tree, next int) (list []Prompt, errs []error, after int) {
	const batch = 1000
	for end := min(next+batch, t.Len()); next < end; next++ {
		if e := t.At(next); e.Kind == session.KindMessage && e.Role == session.RoleUser {
			p, err := promptOf(e)
			list, errs = append(list, p), append(errs, err)
		}
	}
	if next >= t.Len() {
		next = -1
	}
	return list, errs, next
}

// startedByAgent reports whether an agent began the session to give a task to another.
func startedByAgent(t *session.Tree) bool {
	if t.Header().Task {
		return true
	}
	for e := range t.Entries() {
		if e.Kind != session.KindSessionInit {
			continue
		}
		body, err := e.Body()
		if init, ok := body.(session.SessionInit); err == nil && ok && init.Task != "" {
			return true
		}
	}
	return false
}

// promptOf gives the texts of a user's message. Text is "" if the agent wrote it; At is zero if its time is unknown.
func promptOf(e session.Entry) (p Prompt, err error) {
	p.Entry = e.ID
	body, err := e.Body()
	if err != nil {
		return p, err
	}
	m, ok := body.(session.Message)
	if !ok || m.Meta {
		return p, nil
	}
	// The message may tell the time more exactly than its entry.
	at, known := m.Time.Time()
	if !known {
		t, err := e.Time()
		if err != nil {
			return p, err
		}
		at, _ = t.Time()
	}
	p.At = at
	parts, err := e.Parts()
	if err != nil {
		return p, err
	}
	var texts []string
	for _, part := range parts {
		if t, ok := part.(session.Text); ok && strings.TrimSpace(t.Text) != "" {
			texts = append(texts, t.Text)
		}
	}
	p.Text = strings.Join(texts, "\n")
	return p, nil
}
