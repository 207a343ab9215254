package llm

import (
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// turn is what one side says at once, ready to be encoded.
type turn struct {
	role session.Role // user, assistant or system
	// parts are texts, images (user), thinking (assistant) and opaque parts that the provider takes back.
	parts []session.Part
	// calls are those of an answer, each with its result.
	calls []call
}

// call is a call and its result. Providers require the results of all calls of an answer together.
type call struct {
	id, name  string
	arguments []byte // a JSON object
	// input is the argument of a tool that takes a text; nil for any other tool.
	input    *string
	result   []session.Part
	failed   bool
	answered bool
}

// turns turns messages into turns. It leaves out what every provider refuses.
func (a *API) turns(c Conversation) []turn {
	var list []turn
	messages, native := c.Messages, c.API == a.name
	if a.joins {
		messages = joined(messages)
	}
	open := map[string]place{} // the last call with an id
	for _, m := range messages {
		t := turn{role: m.Role}
		if m.Role != session.RoleAssistant && m.Role != session.RoleSystem {
			t.role = session.RoleUser
		}
		signed := !m.Failed && (a.thinks && a.own(m.Provider, m.Model) || a.nativeThinks && native)
		for _, p := range m.Parts {
			switch p := p.(type) {
			case session.ToolCall:
				if t.role == session.RoleAssistant {
					open[p.ID] = place{len(list), len(t.calls)}
					t.calls = append(t.calls, newCall(p))
				}
			case session.ToolResult:
				// A message may hold a call and its result, in that order.
				at, ok := open[p.CallID]
				switch {
				case !ok:
				case at.turn == len(list):
					t.calls[at.call].answer(p)
				default:
					list[at.turn].calls[at.call].answer(p)
				}
			case session.OpaquePart:
				if native && slices.Contains(a.opaque, p.Type) {
					t.parts = append(t.parts, p)
				}
			default:
				t.add(p, signed)
			}
		}
		if len(t.parts) > 0 || len(t.calls) > 0 {
			list = append(list, t)
		}
	}
	return finished(list, &names{rule: a.ids, used: map[string]bool{}, last: map[string]int{}})
}

// joined joins consecutive answers into one message.
func joined(messages []Message) (out []Message) {
	for _, m := range messages {
		if n := len(out); n > 0 && m.Role == session.RoleAssistant && out[n-1].Role == m.Role &&
			out[n-1].Provider == m.Provider && out[n-1].Model == m.Model && out[n-1].Failed == m.Failed {
			out[n-1].Parts = append(out[n-1].Parts, m.Parts...)
			continue
		}
		m.Parts = slices.Clip(m.Parts) // so that appending copies the caller's parts
		out = append(out, m)
	}
	return out
}

// newCall makes a call without its result. Arguments that are a text are those of a tool that takes nothing else.
func newCall(p session.ToolCall) call {
	c := call{id: p.ID, name: toolNames.clean(p.Name, "tool"), arguments: object(p.Arguments)}
	if s, ok := rawjson.Unquote(p.Arguments); ok {
		var o dialect.Object
		o.Str("input", s)
		c.input, c.arguments = &s, o.End()
	}
	return c
}

// place is where a call stands.
type place struct{ turn, call int }

// add adds a part that the turn's side may send.
func (t *turn) add(part session.Part, signed bool) {
	switch p := part.(type) {
	case session.Text:
		if strings.TrimSpace(p.Text) != "" {
			t.parts = append(t.parts, p)
		}
	case session.Thinking:
		if t.role == session.RoleAssistant && signed && p.Signature != "" && (p.Redacted || strings.TrimSpace(p.Text) != "") {
			t.parts = append(t.parts, p)
		}
	case session.Image:
		if t.role == session.RoleUser {
			t.parts = append(t.parts, usable(p))
		}
	}
}

// answer notes the result of a call. Some agents write a result in several pieces.
func (c *call) answer(r session.ToolResult) {
	c.answered = true
	c.failed = c.failed || r.IsError
	for _, part := range r.Parts {
		switch p := part.(type) {
		case session.Text:
			if strings.TrimSpace(p.Text) != "" {
				c.result = append(c.result, p)
			}
		case session.Image:
			c.result = append(c.result, usable(p))
		}
	}
}

// finished leaves out calls without a result and turns that are then empty, and gives the other calls valid ids. If an answer loses a
// call, its signatures are no longer valid. An answer must not end with thinking either.
func finished(list []turn, ids *names) (out []turn) {
	for _, t := range list {
		var calls []call
		for _, c := range t.calls {
			if !c.answered {
				continue
			}
			if len(c.result) == 0 {
				c.result = []session.Part{session.Text{Text: "(no output)"}} // providers refuse an error without a text
			}
			c.id = ids.unique(c.id)
			calls = append(calls, c)
		}
		if len(calls) < len(t.calls) {
			t.parts = said(t.parts)
		}
		t.calls = calls
		for len(calls) == 0 && len(t.parts) > 0 && isThinking(t.parts[len(t.parts)-1]) {
			t.parts = t.parts[:len(t.parts)-1]
		}
		if len(t.parts) > 0 || len(t.calls) > 0 {
			out = append(out, t)
		}
	}
	return out
}

// said returns the parts without thinking.
func said(parts []session.Part) (out []session.Part) {
	for _, p := range parts {
		if !isThinking(p) {
			out = append(out, p)
		}
	}
	return out
}

func isThinking(p session.Part) bool {
	_, ok := p.(session.Thinking)
	return ok
}
