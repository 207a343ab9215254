package run

import (
	"errors"
	"fmt"
	"slices"

	"github.com/treeline-dev/treeline/internal/rawjson"
)

// ErrNotHeader is returned for a record that is not the header of a run.
var ErrNotHeader = errors.New("not the header of a run")

// bodies makes an empty body of each type.
var bodies = map[Type]func() Body{
	TypeRunStart:    func() Body { return new(RunStart) },
	TypeRunContext:  func() Body { return new(RunContext) },
	TypeAgentEvent:  func() Body { return new(AgentEvent) },
	TypeToolOutput:  func() Body { return new(ToolOutput) },
	TypeLLMRequest:  func() Body { return new(LLMRequest) },
	TypeLLMResponse: func() Body { return new(LLMResponse) },
	TypeRunStatus:   func() Body { return new(RunStatus) },
	TypeRunError:    func() Body { return new(RunError) },
	TypeRunEnd:      func() Body { return new(RunEnd) },
}

// Decode reads a record. A record of an unknown type becomes Opaque; unexpected members go to Other. The values point into the
// record. It fails for anything but a JSON object.
func Decode(record []byte) (Body, error) {
	// The whole record is validated once; what follows relies on it.
	if !rawjson.IsObject(record) || !rawjson.Valid(record) {
		return nil, errors.New("a record must be a JSON object")
	}
	name := Type(rawjson.Str(record, "type"))
	if create, ok := bodies[name]; ok {
		b := create()
		readObject(b, record)
		return b, nil
	}
	o := &Opaque{Name: name}
	readObject(o, record)
	o.JSON = Raw(record)
	return o, nil
}

// DecodeHeader reads a header. The values point into the record. Only the run_id is required, because the header of a newer
// version must be readable, too.
func DecodeHeader(record []byte) (h Header, err error) {
	if !rawjson.Valid(record) || rawjson.Str(record, "type") != string(TypeHeader) || !rawjson.IsString(rawjson.Get(record, "run_id")) {
		return h, ErrNotHeader
	}
	readObject(&h, record)
	return h, nil
}

// Encode returns the record of a body, members in the order of the format's document. It copies the body.
func Encode(b Body) ([]byte, error) {
	// The document has only text; codelia writes parts for pictures.
	if s, ok := b.(*RunStart); ok && s.Input.Type == "" {
		start := *s
		start.Input.Type = "text"
		if s.Input.Parts != nil {
			start.Input.Type = "parts"
		}
		b = &start
	}
	record, err := encode(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.Type(), err)
	}
	return record, nil
}

// EncodeHeader returns the record of a header. Only SchemaVersion is written.
func EncodeHeader(h Header) ([]byte, error) {
	if h.SchemaVersion != SchemaVersion {
		return nil, fmt.Errorf("schema_version %d: only %d is written", h.SchemaVersion, SchemaVersion)
	}
	return encode(&h)
}

func encode(o object) ([]byte, error) {
	var w writer
	w.object(o)
	if w.err != nil {
		return nil, w.err
	}
	return rawjson.EscapeBreaks(w.b), nil
}

// The tables list the members of each object. Values of another type are kept in Other, where they do not become zeros.

func (h *Header) table() ([]member, *[]Member) {
	return []member{
		{"type", TypeHeader, always},
		{"schema_version", &h.SchemaVersion, always},
		{"run_id", &h.RunID, always},
		{"session_id", &h.SessionID, unlessEmpty},
		{"started_at", &h.StartedAt, always},
		{"client", opt(&h.Client), unlessEmpty},
		{"server", opt(&h.Server), unlessEmpty},
		{"model", opt(&h.Model), unlessEmpty},
		{"prompts", opt(&h.Prompts), unlessEmpty},
		{"tools", opt(&h.Tools), unlessEmpty},
		{"runtime", opt(&h.Runtime), unlessEmpty},
		{"meta", &h.Meta, unlessEmpty},
	}, &h.Other
}

func (p *Program) table() ([]member, *[]Member) {
	return []member{{"name", &p.Name, always}, {"version", &p.Version, always}}, &p.Other
}

func (m *Model) table() ([]member, *[]Member) {
	return []member{
		{"provider", &m.Provider, unlessEmpty},
		{"name", &m.Name, unlessEmpty},
		{"reasoning", &m.Reasoning, unlessEmpty},
		{"fast", &m.Fast, unlessEmpty},
		{"source", &m.Source, unlessEmpty},
	}, &m.Other
}

func (p *Prompts) table() ([]member, *[]Member) {
	return []member{{"system", &p.System, unlessEmpty}}, &p.Other
}

func (t *Tools) table() ([]member, *[]Member) {
	return []member{{"definitions", &t.Definitions, unlessEmpty}, {"source", &t.Source, unlessEmpty}}, &t.Other
}

func (r *Runtime) table() ([]member, *[]Member) {
	return []member{
		{"cwd", &r.CWD, unlessEmpty},
		{"os", &r.OS, unlessEmpty},
		{"arch", &r.Arch, unlessEmpty},
		{"version", &r.Version, unlessEmpty},
	}, &r.Other
}

// with puts the members of the envelope around a body's own. t is a Type.
//
//go:noinline // its copies took 6.9 KB
func (e *Envelope) with(t any, own ...member) ([]member, *[]Member) {
	list := make([]member, 0, len(own)+5)
	list = append(list, member{"type", t, always}, member{"run_id", &e.RunID, unlessEmpty}, member{"ts", &e.Time, unlessEmpty})
	return append(append(list, own...), member{"meta", &e.Meta, unlessEmpty}), &e.Other
}

func (b *RunStart) table() ([]member, *[]Member) {
	list, other := b.with(TypeRunStart, member{"input", &b.Input, always}, member{"ui_context", &b.UIContext, unlessEmpty})
	// before the time, as in the document
	return slices.Insert(list, 2, member{"session_id", &b.SessionID, unlessEmpty}), other
}

func (i *Input) table() ([]member, *[]Member) {
	text := unlessEmpty
	if i.Type == "text" {
		text = always
	}
	return []member{{"type", &i.Type, always}, {"text", &i.Text, text}, {"parts", &i.Parts, ifArray}}, &i.Other
}

func (b *RunContext) table() ([]member, *[]Member) {
	return b.with(TypeRunContext, member{"context_left_percent", &b.ContextLeftPercent, always})
}

func (b *AgentEvent) table() ([]member, *[]Member) {
	return b.with(TypeAgentEvent, member{"seq", &b.Seq, always}, member{"event", &b.Event, needObject})
}

func (b *ToolOutput) table() ([]member, *[]Member) {
	return b.with(TypeToolOutput,
		member{"tool", &b.Tool, always},
		member{"tool_call_id", &b.ToolCallID, always},
		member{"result_raw", &b.Result, always},
		member{"is_error", &b.IsError, unlessEmpty},
		member{"output_ref", opt(&b.OutputRef), unlessEmpty})
}

func (r *OutputRef) table() ([]member, *[]Member) {
	return []member{
		{"id", &r.ID, always}, {"byte_size", &r.ByteSize, unlessEmpty}, {"line_count", &r.LineCount, unlessEmpty},
	}, &r.Other
}

func (b *LLMRequest) table() ([]member, *[]Member) {
	return b.with(TypeLLMRequest,
		member{"seq", &b.Seq, always}, member{"model", opt(&b.Model), unlessEmpty}, member{"input", &b.Input, always})
}

func (i *RequestInput) table() ([]member, *[]Member) {
	return []member{
		{"messages", &i.Messages, needArray},
		{"tools", &i.Tools, unlessEmpty},
		{"tool_choice", &i.ToolChoice, unlessEmpty},
		{"model", &i.Model, unlessEmpty},
		{"session_key", &i.SessionKey, unlessEmpty},
	}, &i.Other
}

func (b *LLMResponse) table() ([]member, *[]Member) {
	return b.with(TypeLLMResponse, member{"seq", &b.Seq, always}, member{"output", &b.Output, always})
}

func (o *ResponseOutput) table() ([]member, *[]Member) {
	return []member{
		{"messages", &o.Messages, needArray},
		{"usage", opt(&o.Usage), unlessEmpty},
		{"stop_reason", &o.StopReason, unlessEmpty},
		{"provider_meta", &o.ProviderMeta, unlessEmpty},
	}, &o.Other
}

func (u *Usage) table() ([]member, *[]Member) {
	return []member{
		{"model", &u.Model, always},
		{"input_tokens", &u.Input, always},
		{"input_cached_tokens", &u.Cached, unlessEmpty},
		{"input_cache_creation_tokens", &u.CacheCreation, unlessEmpty},
		{"input_image_tokens", &u.Image, unlessEmpty},
		{"output_tokens", &u.Output, always},
		{"total_tokens", &u.Total, always},
		{"provider_model", &u.ProviderModel, unlessEmpty},
	}, &u.Other
}

func (b *RunStatus) table() ([]member, *[]Member) {
	return b.with(TypeRunStatus, member{"status", &b.Status, always}, member{"message", &b.Message, unlessEmpty})
}

func (b *RunError) table() ([]member, *[]Member) {
	return b.with(TypeRunError, member{"error", &b.Error, always})
}

func (e *ErrorInfo) table() ([]member, *[]Member) {
	return []member{
		{"name", &e.Name, always},
		{"message", &e.Message, always},
		{"stack", &e.Stack, unlessEmpty},
		{"provider", &e.Provider, unlessEmpty},
		{"kind", &e.Kind, unlessEmpty},
		{"status", &e.Status, unlessEmpty},
		{"attempts", &e.Attempts, unlessEmpty},
		{"max_attempts", &e.MaxAttempts, unlessEmpty},
	}, &e.Other
}

func (b *RunEnd) table() ([]member, *[]Member) {
	return b.with(TypeRunEnd, member{"outcome", &b.Outcome, always}, member{"final", &b.Final, unlessEmpty})
}

// table lists the members of JSON. A record that was read has them in Other.
func (o *Opaque) table() ([]member, *[]Member) {
	var own []member
	if o.Other == nil {
		for key, value := range rawjson.Fields(o.JSON) {
			switch key {
			case "type", "run_id", "ts", "meta":
			default:
				raw := Raw(value)
				own = append(own, member{key, &raw, unlessEmpty})
			}
		}
	}
	return o.with(o.Name, own...)
}
