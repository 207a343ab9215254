// Package llm makes the bodies of requests to language models from the messages of a session.
//
// A Conversation is neutral: roles and parts. An API knows how one provider encodes a request, and what it refuses. All
// get the same turns: empty texts are left out, each result follows the message with its call, and calls without a result and
// results without a call are left out. What only one provider refuses, such as an id or an image, is handled in that provider's
// file.
package llm

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Message is one message of a conversation.
type Message struct {
	// Role is that of the user, the model, a tool or the system. Any other role counts as the user's.
	Role  session.Role
	Parts []session.Part
	// Provider and Model are those of an answer, "" if they are unknown. A provider accepts only thinking that it signed itself.
	Provider, Model string
	// Failed: the answer was cut off. Its thinking has no valid signature.
	Failed bool
}

// Conversation is what the model sees.
type Conversation struct {
	Messages []Message
	// Provider and Model are those of the last answer or, without one, those chosen for the next answer; "" if there are none.
	Provider, Model string
	// API names the API that the agent uses for every model; "" if it depends on the model.
	API string
}

// Tool is a tool that the model may call.
type Tool struct {
	// Name has letters, digits, "_" and "-", at most 64 of them. Description tells the model when and how to use the tool.
	Name, Description string
	// Parameters is the JSON schema of the arguments, an object; nil if there are none.
	Parameters session.Raw
}

// Options complete a request.
type Options struct {
	// System is the system prompt; "" for none. System messages of the conversation follow it.
	System string
	// Tools are the tools that the model may call.
	Tools []Tool
	// Model is the model to ask. A body without one must get it before it is sent.
	Model string
	// MaxTokens limits the answer, for providers that require a limit; 0 means 8192.
	MaxTokens int
}

const defaultMaxTokens = 8192

// ErrEmpty is returned for a conversation without a message that can be sent.
var ErrEmpty = errors.New("there is no message to send")

// API is the API of one provider.
type API struct {
	name string
	body func(r request) []byte
	// own reports whether the provider made an answer, by the names that agents record.
	own func(provider, model string) bool
	ids rule
	// thinks: the provider takes back the thinking that it signed. nativeThinks: it does so only from an agent that uses this API
	// itself; other agents record the signature in their own forms.
	thinks, nativeThinks bool
	// joins: one answer of the model is several items. Agents that use this API record them as several messages.
	joins bool
	// opaque are the types of opaque parts that the provider takes back from an agent that uses this API.
	opaque []string
}

// The APIs. OpenAI's is that of chat completions, which most other providers offer, too; Responses is its newer one.
var (
	Anthropic = &API{name: "anthropic", body: anthropicBody, own: ofAnthropic, ids: rule{most: 64}, thinks: true}
	OpenAI    = &API{name: "openai", body: openaiBody, own: ofOthers, ids: rule{most: 40}}
	Responses = &API{
		name: "responses", body: responsesBody, own: ofOpenAI, ids: rule{most: 64}, nativeThinks: true, joins: true,
		opaque: []string{"compaction", "web_search_call"},
	}
)

// apis are the APIs in the order in which they are tried.
func apis() []*API { return []*API{Anthropic, OpenAI, Responses} }

// Names are the names of the APIs.
func Names() (names []string) {
	for _, a := range apis() {
		names = append(names, a.name)
	}
	return names
}

// Name is the name that users type.
func (a *API) Name() string { return a.name }

// Named returns the API with the given name.
func Named(name string) (*API, error) {
	for _, a := range apis() {
		if a.name == name {
			return a, nil
		}
	}
	return nil, fmt.Errorf("unknown provider %q: use %s", name, strings.Join(Names(), ", "))
}

// For returns the API for a conversation: the one that its agent uses, or else the one for its model; nil if it names
// neither.
func For(c Conversation) *API {
	for _, a := range apis() {
		if c.API == a.name || c.API == "" && a.own(c.Provider, c.Model) {
			return a
		}
	}
	return nil
}

// ofAnthropic reports whether a model is one of Anthropic's, even if another company runs it.
func ofAnthropic(provider, model string) bool {
	if provider == "" {
		provider = dialect.ProviderOf(model)
	}
	switch provider = strings.ToLower(provider); {
	case strings.Contains(provider, "anthropic"):
		return true
	case strings.Contains(provider, "bedrock"), strings.Contains(provider, "vertex"):
		return strings.Contains(strings.ToLower(model), "claude")
	}
	return false
}

// ofOthers reports whether a model is known and not one of Anthropic's.
func ofOthers(provider, model string) bool {
	return provider+model != "" && !ofAnthropic(provider, model)
}

// ofOpenAI reports whether a model is one of OpenAI's.
func ofOpenAI(provider, model string) bool {
	if provider == "" {
		provider = dialect.ProviderOf(model)
	}
	return strings.Contains(strings.ToLower(provider), "openai")
}

// Model returns the model to ask: wanted, or that of the last answer if it is one of the provider's; "" if there is none.
func (a *API) Model(c Conversation, wanted string) string {
	if wanted == "" && a.own(c.Provider, c.Model) {
		return c.Model
	}
	return wanted
}

// Body returns the body of the request that continues the conversation. It holds what the provider's documentation requires
// and nothing else: no times, no usage, no members of an agent. answered reports whether the last message is the model's, which some
// models refuse.
func (a *API) Body(c Conversation, opt Options) (body []byte, answered bool, err error) {
	turns := a.turns(c)
	last := slices.DeleteFunc(slices.Clone(turns), func(t turn) bool { return t.role == session.RoleSystem })
	if len(last) == 0 {
		return nil, false, ErrEmpty
	}
	end := last[len(last)-1]
	if opt.MaxTokens <= 0 {
		opt.MaxTokens = defaultMaxTokens
	}
	if strings.TrimSpace(opt.System) != "" {
		turns = slices.Insert(turns, 0, turn{role: session.RoleSystem, parts: []session.Part{session.Text{Text: opt.System}}})
	}
	r := request{model: opt.Model, maxTokens: opt.MaxTokens, turns: turns}
	if r.tools, err = checked(opt.Tools); err != nil {
		return nil, false, err
	}
	return a.body(r), end.role == session.RoleAssistant && len(end.calls) == 0, nil
}

// request is what a body is made of.
type request struct {
	model     string
	maxTokens int
	turns     []turn
	tools     []Tool // each with valid parameters
}

// ErrTool is wrapped by the error for a tool that providers refuse.
var ErrTool = errors.New("invalid tool")

// checked returns the tools with parameters that every provider accepts.
func checked(tools []Tool) ([]Tool, error) {
	tools = slices.Clone(tools)
	for i := range tools {
		t := &tools[i]
		if t.Name == "" || toolNames.clean(t.Name, "") != t.Name {
			return nil, fmt.Errorf("%w %.80q: a name has 1 to %d letters, digits, '_' and '-'", ErrTool, t.Name, toolNames.most)
		}
		if slices.ContainsFunc(tools[:i], func(o Tool) bool { return o.Name == t.Name }) {
			return nil, fmt.Errorf("%w %q: another one has the same name", ErrTool, t.Name)
		}
		if len(t.Parameters) == 0 || rawjson.IsNull(t.Parameters) {
			t.Parameters = session.Raw(`{"type":"object","properties":{}}`)
		}
		if !rawjson.Valid(t.Parameters) || !rawjson.IsObject(t.Parameters) {
			return nil, fmt.Errorf("%w %q: its parameters are not a JSON object", ErrTool, t.Name)
		}
		t.Parameters = rawjson.Compact(t.Parameters)
	}
	return tools, nil
}

// Messages parses the messages of a context, one after the other. The context must be the one that the agent sends
// (session.ContextOptions.LLM): then roles and parts mean the same for every agent. A result names the tool of its call, even
// if the agent's format does not. A message whose role not all agents know counts as the user's.
func Messages(c *session.Context, d dialect.Dialect) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) { messages(c, d, yield) }
}

func messages(c *session.Context, d dialect.Dialect, yield func(Message, error) bool) {
	parter, ok := d.(dialect.Parter)
	if !ok {
		yield(Message{}, fmt.Errorf("taking messages of %s apart is %w", d.Name(), dialect.ErrUnsupported))
		return
	}
	codec, tools := d.Codec(), map[string]string{}
	for m, err := range c.Messages() {
		if err != nil {
			yield(Message{}, err)
			return
		}
		message := Message{Role: codec.Role(m.JSON), Parts: parter.MessageParts(m.JSON), Failed: codec.Failed(m.JSON)}
		if message.Role == session.RoleNone || message.Role == session.RoleOther {
			message.Role = session.RoleUser
		}
		dialect.NameResults(message.Parts, tools)
		if message.Role == session.RoleAssistant && m.Entry.Kind == session.KindMessage {
			body, err := m.Entry.Body()
			if err != nil {
				yield(Message{}, err)
				return
			}
			if answer, ok := body.(session.Message); ok && answer.Model != "" {
				message.Provider, message.Model = answer.Provider, answer.Model
			}
		}
		if !yield(message, nil) {
			return
		}
	}
}

// Collect gathers all messages of a context; see Messages.
func Collect(c *session.Context, d dialect.Dialect) (Conversation, error) {
	var out Conversation
	if caller, ok := d.(dialect.Caller); ok {
		out.API = caller.API()
	}
	for m, err := range Messages(c, d) {
		if err != nil {
			return out, err
		}
		if m.Model != "" {
			out.Provider, out.Model = m.Provider, m.Model
		}
		out.Messages = append(out.Messages, m)
	}
	if out.Model == "" {
		for _, m := range c.Models {
			if m.Role == "default" {
				out.Provider, out.Model = m.Provider, m.Model
			}
		}
	}
	return out, nil
}
