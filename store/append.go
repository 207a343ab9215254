package store

import (
	"context"

	"github.com/treeline-dev/treeline/session"
)

// AppendMessage appends a message in the dialect's own JSON. The bytes are copied.
func (s *Session) AppendMessage(ctx context.Context, message []byte) (Appended, error) {
	role := s.dialect.Codec().Role(message)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.w == nil || s.w.maker == nil || !s.w.created {
		return s.append(ctx, session.Message{Role: role, JSON: message}, nil)
	}
	// The hot path: a body in an interface would be an allocation for each message. The session's lock guards said, and
	// propose copies it before the lock is let go.
	m := &s.w.said
	*m = session.Message{Role: role, JSON: message}
	// The caller's bytes are not kept alive until the next message.
	defer func() { m.JSON = nil }()
	return s.append(ctx, m, nil)
}

// AppendThinkingLevelChange sets how hard the model thinks from here on.
func (s *Session) AppendThinkingLevelChange(ctx context.Context, level string) (Appended, error) {
	return s.add(ctx, session.ThinkingLevelChange{Level: level})
}

// AppendModelChange sets the model of a role ("" is the default one) from here on, as "provider/id".
func (s *Session) AppendModelChange(ctx context.Context, role, provider, modelID string) (Appended, error) {
	return s.add(ctx, session.ModelChange{Role: role, Provider: provider, ModelID: modelID, Model: provider + "/" + modelID})
}

// AppendCustom keeps state of an extension that the model does not see. data is JSON, or nil.
func (s *Session) AppendCustom(ctx context.Context, kind string, data []byte) (Appended, error) {
	return s.add(ctx, session.Custom{Type: kind, Data: data})
}

// AppendCustomMessage adds a message of an extension, which the model sees and, with display set, people too. content
// is JSON: a string or a list of blocks.
func (s *Session) AppendCustomMessage(ctx context.Context, m session.CustomMessage) (Appended, error) {
	return s.add(ctx, m)
}

// AppendSessionInfo names the session by an entry.
func (s *Session) AppendSessionInfo(ctx context.Context, name string) (Appended, error) {
	return s.add(ctx, session.SessionInfo{Name: name})
}

// AppendModeChange switches the agent's mode. data is JSON, or nil.
func (s *Session) AppendModeChange(ctx context.Context, mode string, data []byte) (Appended, error) {
	return s.add(ctx, session.ModeChange{Mode: mode, Data: data})
}

// AppendTTSRInjection records rules that were injected.
func (s *Session) AppendTTSRInjection(ctx context.Context, rules []string) (Appended, error) {
	return s.add(ctx, session.TTSRInjection{Rules: rules})
}

// AppendSessionInit records what a subagent was started with.
func (s *Session) AppendSessionInit(ctx context.Context, init session.SessionInit) (Appended, error) {
	return s.add(ctx, init)
}
