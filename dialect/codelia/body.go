package codelia

import (
	"cmp"
	"iter"
	"slices"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/session"
)

// Time returns the time of a record.
func (d *Dialect) Time(raw []byte) session.Time {
	return session.Time{Text: string(rawjson.Get(raw, "ts"))}
}

// Body decodes the content of an entry. A run has no messages of its own: input, answers and tool outputs are records of
// different types. Each becomes the message that codelia would make of it.
func (d *Dialect) Body(e session.Entry, raw []byte) (session.Body, error) {
	record, err := run.Decode(raw)
	if err != nil {
		return nil, err
	}
	switch b := record.(type) {
	case *run.RunStart:
		return session.Message{Role: session.RoleUser, Native: "user", JSON: userMessage(b)}, nil
	case *run.LLMResponse:
		return response(b), nil
	case *run.ToolOutput:
		return session.Message{Role: session.RoleTool, Native: "tool", JSON: toolMessage(b)}, nil
	// A request is shown, but not as a message, because it repeats other entries.
	case *run.LLMRequest:
		return session.CustomMessage{Type: e.Type, Content: session.Raw(b.Input.Messages)}, nil
	case *run.RunError:
		return session.CustomMessage{Type: e.Type, Content: rawjson.Quote(errorText(b)), Display: true}, nil
	case *run.AgentEvent:
		return session.Custom{Type: cmp.Or(run.EventType(b.Event), e.Type), Data: session.Raw(b.Event)}, nil
	case *run.Opaque:
		return session.Opaque{Type: e.Type, JSON: raw}, nil
	}
	// The rest (status, context, the end) is shown without the envelope.
	data := raw
	for _, key := range []string{"type", "run_id", "ts"} {
		data = rawjson.Delete(data, key)
	}
	return session.Custom{Type: e.Type, Data: data}, nil
}

// response is an answer of the model; if there are several messages, the last one. Model and usage are beside it in the record.
func response(b *run.LLMResponse) session.Body {
	m := session.Message{Role: session.RoleAssistant, Native: "assistant", Stop: stop(b.Output.StopReason)}
	for message := range rawjson.Elements(b.Output.Messages) {
		m.JSON = message
	}
	if u := b.Output.Usage; u != nil {
		m.Model = u.Model
		if u.Model != "" {
			m.ModelJSON = rawjson.Quote(u.Model)
		}
		optional := func(n *int64) float64 {
			if n == nil {
				return 0
			}
			return float64(*n)
		}
		usage := session.NewUsage([5]float64{
			float64(u.Input), float64(u.Output), optional(u.Cached), optional(u.CacheCreation), float64(u.Total),
		}, [5]float64{})
		m.Usage = &usage
	}
	return m
}

// stop maps the usual stop reasons to the common names.
func stop(reason string) string {
	switch reason {
	case "end_turn":
		return "stop"
	case "tool_use":
		return "toolUse"
	}
	return reason
}

// userMessage returns the input of the run as a message.
func userMessage(b *run.RunStart) []byte {
	content := rawjson.Quote(b.Input.Text)
	if b.Input.Parts != nil {
		content = b.Input.Parts
	}
	return message("user", content)
}

func toolMessage(b *run.ToolOutput) []byte {
	r := session.ToolResult{CallID: b.ToolCallID, Name: b.Tool, Parts: dialect.TextParts(b.Result)}
	r.IsError = b.IsError != nil && *b.IsError
	return outputs([]session.ToolResult{r})[0]
}

func errorText(b *run.RunError) string {
	if b.Error.Name == "" {
		return b.Error.Message
	}
	return b.Error.Name + ": " + b.Error.Message
}

// Replay returns the messages of the last request, which holds everything that was sent, and those of its response. Before
// the first request, the context is only what the user said.
func (d *Dialect) Replay(p session.Path) iter.Seq2[session.ContextMessage, error] {
	return func(yield func(session.ContextMessage, error) bool) {
		last := p.Len() - 1
		for last >= 0 && p.At(last).Type != string(run.TypeLLMRequest) {
			last--
		}
		var request []byte
		for i := max(last, 0); i < p.Len(); i++ {
			e := p.At(i)
			if i != last && (e.Kind != session.KindMessage || last < 0 && e.Role != session.RoleUser) {
				continue
			}
			raw, err := e.Raw()
			switch {
			case err != nil:
				yield(session.ContextMessage{}, err)
				return
			case i == last:
				request = raw
			case last >= 0 && !follows(request, raw):
				continue
			}
			list, _ := d.Messages(e, raw)
			for _, m := range list {
				if !yield(session.ContextMessage{Entry: e, JSON: m}, nil) {
					return
				}
			}
		}
	}
}

// follows reports whether entry is the response to request (it has the same seq) and request does not already contain it.
// The program often records a request so late that it does.
func follows(request, entry []byte) bool {
	if rawjson.Str(entry, "type") != string(run.TypeLLMResponse) ||
		run.Compare(rawjson.Get(request, "seq"), rawjson.Get(entry, "seq")) != nil {
		return false
	}
	sent := slices.Collect(rawjson.Elements(rawjson.At(request, "/input/messages")))
	received := slices.Collect(rawjson.Elements(rawjson.At(entry, "/output/messages")))
	return run.Late(sent, received) == len(sent)
}

// Messages returns what an entry contributes to a context: for a request everything that was sent, for a response what came back, for the
// start of a run what the user said.
func (d *Dialect) Messages(e session.Entry, raw []byte) ([][]byte, error) {
	switch run.Type(e.Type) {
	case run.TypeLLMRequest:
		return messages(rawjson.At(raw, "/input/messages")), nil
	case run.TypeLLMResponse:
		return messages(rawjson.At(raw, "/output/messages")), nil
	case run.TypeRunStart:
		if b, _ := run.Decode(raw); b != nil && b.Type() == run.TypeRunStart {
			return [][]byte{userMessage(b.(*run.RunStart))}, nil
		}
	}
	return nil, nil
}

// messages returns the objects in a list.
func messages(list []byte) [][]byte {
	var out [][]byte
	for m := range rawjson.Elements(list) {
		if rawjson.IsObject(m) {
			out = append(out, m)
		}
	}
	return out
}

// Parts returns what is inside an entry in neutral form. Requests have no parts: their messages are in other entries,
// and search would find each of them many times.
func (d *Dialect) Parts(e session.Entry, raw []byte) ([]session.Part, error) {
	switch run.Type(e.Type) {
	case run.TypeRunStart, run.TypeToolOutput, run.TypeRunError:
		b, err := run.Decode(raw)
		if err != nil {
			return nil, err
		}
		switch b := b.(type) {
		case *run.RunStart:
			return MessageParts(userMessage(b)), nil
		case *run.ToolOutput:
			return MessageParts(toolMessage(b)), nil
		case *run.RunError:
			return dialect.TextParts(errorText(b)), nil
		}
	case run.TypeLLMResponse:
		var parts []session.Part
		for _, m := range messages(rawjson.At(raw, "/output/messages")) {
			parts = append(parts, MessageParts(m)...)
		}
		return parts, nil
	}
	return []session.Part{session.OpaquePart{Type: e.Type, JSON: raw}}, nil
}
