package treeline

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/treeline-dev/treeline/llm"
	"github.com/treeline-dev/treeline/session"
)

// ErrNoProvider is returned by NewRequest if neither the options nor the session name a provider.
var ErrNoProvider = errors.New("the session names no provider")

// ErrTool is wrapped by the error for a tool that providers refuse, such as one with a space in its name.
var ErrTool = llm.ErrTool

// Tool is a tool that the model may call, as NewRequest describes it to the provider.
type Tool = llm.Tool

// RequestOptions say which provider a request is for, and what it asks.
type RequestOptions struct {
	// Provider is "anthropic", "openai" (chat completions, which other providers offer, too) or "responses" (OpenAI's newer
	// API); "" for the one that the agent uses, or else that of the last answer.
	Provider string
	// Model is the model to ask; "" for that of the last answer, if it is a model of the provider.
	Model string
	// MaxTokens limits the answer; 0 means 8192. It is sent only to a provider that requires a limit.
	MaxTokens int
	// System is the system prompt; "" for none. System messages of the session follow it.
	System string
	// Tools are the tools that the model may call. Without them, a request that must define the tools of its calls has only their names.
	Tools []Tool
	// Prompt is what the user says next; "" for nothing.
	Prompt string
	// Context chooses the messages.
	Context ContextOptions
}

// Request is a request to a language model.
type Request struct {
	// Provider is "anthropic", "openai" or "responses". Model is "" if the body lacks one; it must be added before the body is sent.
	Provider, Model string
	// Body is for POST /v1/messages (anthropic), POST /v1/chat/completions (openai) or POST /v1/responses (responses).
	Body []byte
	// Answered: the last message is the model's. Some models refuse such a request: add a message of the user with Prompt.
	Answered bool
}

// NewRequest returns the request that continues a session at leaf. The provider accepts its body, whichever agent wrote the
// session: what the provider would refuse is left out. The session itself is not changed.
func NewRequest(ctx context.Context, s *Session, leaf session.EntryID, opt RequestOptions) (r Request, err error) {
	opt.Context.LLM = true
	seen, err := s.Context(ctx, leaf, opt.Context)
	if err != nil {
		return r, err
	}
	c, err := llm.Collect(seen, s.Dialect())
	if err != nil {
		return r, fmt.Errorf("%s: %w", s.Path(), err)
	}
	api := llm.For(c)
	if opt.Provider != "" {
		if api, err = llm.Named(opt.Provider); err != nil {
			return r, err
		}
	}
	if api == nil {
		return r, fmt.Errorf("%s: %w", s.Path(), ErrNoProvider)
	}
	if opt.Prompt != "" {
		c.Messages = append(c.Messages, llm.Message{Role: session.RoleUser, Parts: []session.Part{session.Text{Text: opt.Prompt}}})
	}
	r.Provider, r.Model = api.Name(), api.Model(c, opt.Model)
	r.Body, r.Answered, err = api.Body(c, llm.Options{Model: r.Model, MaxTokens: opt.MaxTokens, System: opt.System, Tools: opt.Tools})
	if err != nil {
		return r, fmt.Errorf("%s: %w", s.Path(), err)
	}
	return r, nil
}

// Message is a message of a context in neutral form: a role and parts.
type Message = llm.Message

// Messages returns what the model would see at leaf in neutral form, as the agent would send it, so that a program can
// read the sessions of every agent. Messages are read as the loop asks for them; the first error ends it.
func Messages(ctx context.Context, s *Session, leaf session.EntryID, opt ContextOptions) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		opt.LLM = true
		c, err := s.Context(ctx, leaf, opt)
		if err != nil {
			yield(Message{}, err)
			return
		}
		for m, err := range llm.Messages(c, s.Dialect()) {
			if err != nil {
				err = fmt.Errorf("%s: %w", s.Path(), err)
			}
			if !yield(m, err) {
				return
			}
		}
	}
}
