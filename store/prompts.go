package store

import (
	"context"
	"iter"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// Prompt is something that a person typed in a session.
type Prompt struct {
	Entry session.EntryID
	Text  string
	// At is when, as far as anything tells: the entry, else the session, else the log.
	At time.Time
}

// Prompts gives what people typed in the session, on all branches, in the order of the log. What a tool answered, what
// the agent put in in the user's name, and the task that an agent gave to another are not typed by people. An entry that
// cannot be read is an error, after which it goes on.
func (s *Session) Prompts(ctx context.Context) iter.Seq2[Prompt, error] {
	return func(yield func(Prompt, error) bool) {
		t, log := s.Tree(), s.Log()
		// A prompt without a time gets that of the one before it, the first that of the session.
		last := log.Time
		if at, ok := t.Header().Timestamp.Time(); ok {
			last = at
		}
		// Logs of subagents: what stands there as the user's words is another agent's.
		if m, ok := s.dialect.Layout().(dialect.Placer); ok && log.Name != "" && !m.Main(log.Name) || startedByAgent(t) {
			return
		}
		for e := range t.Entries() {
			if ctx.Err() != nil {
				yield(Prompt{}, context.Cause(ctx))
				return
			}
			if e.Kind != session.KindMessage || e.Role != session.RoleUser {
				continue
			}
			p, ok, err := promptOf(e)
			if p.At.IsZero() {
				p.At = last
			}
			last = p.At
			if (ok || err != nil) && !yield(p, err) {
				return
			}
		}
	}
}

// startedByAgent says whether an agent began the session to give a task to another: then it speaks as the user.
func startedByAgent(t *session.Tree) bool {
	for e := range t.Entries() {
		if e.Kind != session.KindSessionInit {
			continue
		}
		body, err := e.Body()
		// oh-my-pi writes such an entry when it starts a subagent.
		if init, ok := body.(session.SessionInit); err == nil && ok && init.Task != "" {
			return true
		}
	}
	return false
}

// promptOf gives the texts of a user's message; ok is false where nobody typed it.
func promptOf(e session.Entry) (p Prompt, ok bool, err error) {
	p.Entry = e.ID
	body, err := e.Body()
	if err != nil {
		return p, false, err
	}
	m, ok := body.(session.Message)
	// Meta is what the agent said in the user's name.
	if !ok || m.Meta {
		return p, false, nil
	}
	// The message may say it itself, and more exactly than its entry.
	at, known := m.Time.Time()
	if !known {
		t, err := e.Time()
		if err != nil {
			return p, false, err
		}
		at, _ = t.Time()
	}
	p.At = at
	parts, err := e.Parts()
	if err != nil {
		return p, false, err
	}
	var texts []string
	for _, part := range parts {
		if t, ok := part.(session.Text); ok && strings.TrimSpace(t.Text) != "" {
			// Pictures and the like are no prompt that could be typed again.
			texts = append(texts, t.Text)
		}
	}
	p.Text = strings.Join(texts, "\n")
	return p, p.Text != "", nil
}
