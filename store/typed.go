package store

import (
	"context"
	"fmt"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// Typed appends: the caller gives texts, images, calls and results, and the dialect makes its own messages of them. A caller
// that has messages in the dialect's own JSON uses AppendMessage.

// Answer says what is known of an answer besides its parts.
type Answer struct {
	// Provider and Model name the model that answered; if both are "", it is the model in use at the leaf.
	Provider, Model string
	// Usage is the tokens and cost of the answer; nil if unknown.
	Usage *session.Usage
	// Stop is why the answer ended: one of the reasons of package dialect, or the word of a provider that dialect.StopOf knows, such as
	// "end_turn" or "max_tokens". "" is inferred from the parts; any other word is refused with a *RefusedError.
	Stop Stop
	// Error is the error message of an answer that failed.
	Error string
}

// Stop says why an answer ended; package dialect names the reasons.
type Stop = dialect.Stop

// AppendUser appends a message of the user: a text, images, or both. Bytes that are not UTF-8 become U+FFFD. A message that says nothing
// is ErrSilent; see also AppendAssistant.
func (s *Session) AppendUser(ctx context.Context, text string, images ...session.Image) (Appended, error) {
	parts := dialect.TextParts(text)
	for _, i := range images {
		parts = append(parts, i)
	}
	return s.say(ctx, dialect.NewMessage{Role: session.RoleUser, Parts: parts})
}

// AppendAssistant appends an answer of the model: texts, thinking and tool calls, in order. Results of its calls may be among the parts. If
// the agent keeps thinking or results in entries of their own, or names the model by an entry, all these entries are written together, and
// AppendAssistant returns the Appended of the last.
//
// A call without an id or a name is a *RefusedError, a part that the format cannot hold ErrUnsupported, and an answer without parts ErrSilent,
// unless it failed. Arguments that are not JSON, as a model may write them, are kept as a text.
func (s *Session) AppendAssistant(ctx context.Context, parts []session.Part, a Answer) (Appended, error) {
	return s.say(ctx, dialect.NewMessage{
		Role: session.RoleAssistant, Parts: parts, Provider: a.Provider, Model: a.Model, Usage: a.Usage, Stop: a.Stop, Error: a.Error,
	})
}

// AppendToolResult appends the result of a tool call on the path to the leaf: texts and images. It fails with ErrUnsupported in a format
// that keeps results in the messages with their calls (dialect.Habits.ResultsInCalls): there AppendAssistant takes both. A result without its
// call is a *RefusedError.
func (s *Session) AppendToolResult(ctx context.Context, callID string, parts []session.Part, isError bool) (Appended, error) {
	name, err := s.toolName(callID)
	if err != nil {
		return Appended{}, err
	}
	result := session.ToolResult{CallID: callID, Name: name, Parts: parts, IsError: isError}
	return s.say(ctx, dialect.NewMessage{Role: session.RoleTool, Parts: []session.Part{result}})
}

// AppendText appends a message of plain text. For users and models it is AppendUser or AppendAssistant with one text; it also works for
// other roles if the agent has such messages.
func (s *Session) AppendText(ctx context.Context, role session.Role, text string) (Appended, error) {
	return s.say(ctx, dialect.NewMessage{Role: role, Parts: []session.Part{session.Text{Text: text}}})
}

// toolName returns the name of the tool of a call on the path to the leaf.
func (s *Session) toolName(callID string) (string, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	path, err := s.tree.Path(s.tree.LeafID())
	if err != nil {
		return "", err
	}
	for i := path.Len() - 1; i >= 0; i-- {
		e := path.At(i)
		if e.Kind != session.KindMessage || e.Role != session.RoleAssistant {
			continue
		}
		parts, err := e.Parts()
		if err != nil {
			return "", err
		}
		for _, p := range parts {
			if call, ok := p.(session.ToolCall); ok && call.ID == callID {
				return call.Name, nil
			}
		}
	}
	if s.w != nil && s.w.opt.Force {
		return "", nil
	}
	return "", s.refuse("no entry on the path to the leaf has the tool call %q", callID)
}

// say composes the messages of m and appends them together.
func (s *Session) say(ctx context.Context, m dialect.NewMessage) (Appended, error) {
	d, ok := dialect.AsComposer(s.dialect)
	if !ok {
		return Appended{}, s.named(fmt.Errorf("making messages of %s is %w", s.dialect.Name(), ErrUnsupported))
	}
	if m.Role == session.RoleTool && d.Habits().ResultsInCalls {
		return Appended{}, s.named(fmt.Errorf("a tool result without its call in a session of %s is %w; append the answer together with its results",
			s.dialect.Name(), ErrUnsupported))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w, err := s.writable()
	if err != nil {
		return Appended{}, err
	}
	if wrong := m.Settle(); wrong != "" && !w.opt.Force {
		return Appended{}, s.refuse("%s", wrong)
	}
	var bodies []session.Body
	if m.Role == session.RoleAssistant {
		if bodies, err = s.answering(&m); err != nil {
			return Appended{}, err
		}
	}
	m.Time = w.opt.Clock()
	seed, err := s.freshID()
	if err != nil {
		return Appended{}, s.named(err)
	}
	m.ID = fmt.Sprint(s.tree.Header().ID, " ", seed)
	list, err := d.Compose(m)
	if err != nil {
		return Appended{}, s.named(err)
	}
	var kept []session.Part
	for _, message := range list {
		kept = append(kept, d.MessageParts(message)...)
		bodies = append(bodies, session.Message{Role: s.dialect.Codec().Role(message), JSON: message})
	}
	if what := dialect.Lost(m.Parts, kept); what != "" {
		return Appended{}, s.named(fmt.Errorf("%s in a message of the role %s of %s is %w", what, m.Role, s.dialect.Name(), ErrUnsupported))
	}
	return s.appendAll(ctx, bodies)
}

// answering fills in the model of an answer that does not name one. If the agent names models by entries and the model changed, answering
// returns the entry to append first. The caller holds the lock.
func (s *Session) answering(m *dialect.NewMessage) ([]session.Body, error) {
	byEntry := s.dialect.Codec().Rules().ModelByEntry
	if !byEntry && (m.Provider != "" || m.Model != "") {
		return nil, nil // the path need not be read
	}
	now, err := s.tree.DefaultModel(s.tree.LeafID(), &s.model)
	if err != nil {
		return nil, err
	}
	if m.Provider == "" && m.Model == "" {
		m.Provider, m.Model = now.Provider, now.Model
	}
	if !byEntry || m.Model == "" || m.Provider == now.Provider && m.Model == now.Model {
		return nil, nil
	}
	return []session.Body{session.ModelChange{Provider: m.Provider, ModelID: m.Model, Model: m.Provider + "/" + m.Model}}, nil
}
