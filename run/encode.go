package run

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/treeline-dev/treeline/internal/rawjson"
)

// writer writes an object in the order of the calls, which is that of the format's document. The first value that is not
// JSON fails the record.
type writer struct {
	b   []byte
	err error
}

func (w *writer) key(key string) {
	if w.b[len(w.b)-1] != '{' {
		w.b = append(w.b, ',')
	}
	w.b = append(rawjson.AppendString(w.b, key), ':')
}

func (w *writer) str(key, value string) {
	w.key(key)
	w.b = rawjson.AppendString(w.b, value)
}

// opt writes those of the pairs of key and value that are not empty.
func (w *writer) opt(pairs ...string) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			w.str(pairs[i], pairs[i+1])
		}
	}
}

func (w *writer) integer(key string, n int64) {
	w.key(key)
	w.b = strconv.AppendInt(w.b, n, 10)
}

func (w *writer) optInteger(key string, n *int64) {
	if n != nil {
		w.integer(key, *n)
	}
}

func (w *writer) optBool(key string, b *bool) {
	if b != nil {
		w.key(key)
		w.b = strconv.AppendBool(w.b, *b)
	}
}

// raw copies a value without the white space between its tokens. An absent value is left out.
func (w *writer) raw(key string, value Raw) {
	switch {
	case len(value) == 0:
		return
	case !rawjson.Valid(value):
		w.err = errors.Join(w.err, fmt.Errorf("%s is not JSON", key))
		return
	}
	w.key(key)
	w.b = append(w.b, rawjson.Compact(value)...)
}

// array is raw for a required array.
func (w *writer) array(key string, value Raw) {
	if !rawjson.IsArray(value) {
		w.err = errors.Join(w.err, fmt.Errorf("%s must be an array", key))
		return
	}
	w.raw(key, value)
}

// object writes an object; other are its unknown members.
func (w *writer) object(key string, other []Member, fill func()) {
	w.key(key)
	w.b = append(w.b, '{')
	fill()
	w.other(other)
	w.b = append(w.b, '}')
}

func (w *writer) other(list []Member) {
	for _, m := range list {
		w.raw(m.Key, m.Value)
	}
}

func (w *writer) finish() ([]byte, error) {
	if w.err != nil {
		return nil, w.err
	}
	return rawjson.EscapeBreaks(append(w.b, '}')), nil
}

// EncodeHeader gives the record of a header. Only SchemaVersion is written.
func EncodeHeader(h Header) ([]byte, error) {
	if h.SchemaVersion != SchemaVersion {
		return nil, fmt.Errorf("schema_version %d: only %d is written", h.SchemaVersion, SchemaVersion)
	}
	w := &writer{b: []byte(`{"type":"header"`)}
	w.integer("schema_version", h.SchemaVersion)
	w.str("run_id", h.RunID)
	w.opt("session_id", h.SessionID)
	w.str("started_at", h.StartedAt)
	w.program("client", h.Client)
	w.program("server", h.Server)
	w.model("model", h.Model)
	if p := h.Prompts; p != nil {
		w.object("prompts", p.Other, func() { w.opt("system", p.System) })
	}
	if t := h.Tools; t != nil {
		w.object("tools", t.Other, func() { w.raw("definitions", t.Definitions); w.opt("source", t.Source) })
	}
	if r := h.Runtime; r != nil {
		w.object("runtime", r.Other, func() { w.opt("cwd", r.CWD, "os", r.OS, "arch", r.Arch, "version", r.Version) })
	}
	w.raw("meta", h.Meta)
	w.other(h.Other)
	return w.finish()
}

func (w *writer) program(key string, p *Program) {
	if p != nil {
		w.object(key, p.Other, func() { w.str("name", p.Name); w.str("version", p.Version) })
	}
}

func (w *writer) model(key string, m *Model) {
	if m == nil {
		return
	}
	w.object(key, m.Other, func() {
		w.opt("provider", m.Provider, "name", m.Name, "reasoning", m.Reasoning)
		w.optBool("fast", m.Fast)
		w.opt("source", m.Source)
	})
}

// Encode gives the record of a body, members in the order of the format's document. It copies the body.
func Encode(b Body) ([]byte, error) {
	e := b.envelope()
	w := &writer{b: []byte(`{"type":`)}
	w.b = rawjson.AppendString(w.b, string(b.Type()))
	w.opt("run_id", e.RunID)
	// before the time, as in the document
	if s, ok := b.(*RunStart); ok {
		w.opt("session_id", s.SessionID)
	}
	w.opt("ts", e.Time)
	b.members(w)
	w.raw("meta", e.Meta)
	w.other(e.Other)
	record, err := w.finish()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.Type(), err)
	}
	return record, nil
}

func (b *RunStart) members(w *writer) {
	in := b.Input
	w.object("input", in.Other, func() {
		// The document has only text; codelia writes parts for pictures.
		if in.Type == "" {
			in.Type = "text"
			if in.Parts != nil {
				in.Type = "parts"
			}
		}
		w.str("type", in.Type)
		if in.Type == "text" || in.Text != "" {
			w.str("text", in.Text)
		}
		w.raw("parts", in.Parts)
	})
	w.raw("ui_context", b.UIContext)
}

func (b *RunContext) members(w *writer) {
	// like JavaScript: 12.5, 100
	w.key("context_left_percent")
	w.b = strconv.AppendFloat(w.b, b.ContextLeftPercent, 'g', -1, 64)
}

func (b *AgentEvent) members(w *writer) {
	w.integer("seq", b.Seq)
	if !rawjson.IsObject(b.Event) {
		w.err = errors.Join(w.err, errors.New("event must be an object"))
	}
	w.raw("event", b.Event)
}

func (b *ToolOutput) members(w *writer) {
	w.str("tool", b.Tool)
	w.str("tool_call_id", b.ToolCallID)
	w.str("result_raw", b.Result)
	w.optBool("is_error", b.IsError)
	if r := b.OutputRef; r != nil {
		w.object("output_ref", r.Other, func() {
			w.str("id", r.ID)
			w.optInteger("byte_size", r.ByteSize)
			w.optInteger("line_count", r.LineCount)
		})
	}
}

func (b *LLMRequest) members(w *writer) {
	w.integer("seq", b.Seq)
	w.model("model", b.Model)
	in := b.Input
	w.object("input", in.Other, func() {
		w.array("messages", in.Messages)
		w.raw("tools", in.Tools)
		w.raw("tool_choice", in.ToolChoice)
		w.opt("model", in.Model, "session_key", in.SessionKey)
	})
}

func (b *LLMResponse) members(w *writer) {
	w.integer("seq", b.Seq)
	out := b.Output
	w.object("output", out.Other, func() {
		w.array("messages", out.Messages)
		if u := out.Usage; u != nil {
			w.object("usage", u.Other, func() {
				w.str("model", u.Model)
				w.integer("input_tokens", u.Input)
				w.optInteger("input_cached_tokens", u.Cached)
				w.optInteger("input_cache_creation_tokens", u.CacheCreation)
				w.optInteger("input_image_tokens", u.Image)
				w.integer("output_tokens", u.Output)
				w.integer("total_tokens", u.Total)
				w.opt("provider_model", u.ProviderModel)
			})
		}
		w.opt("stop_reason", out.StopReason)
		w.raw("provider_meta", out.ProviderMeta)
	})
}

func (b *RunStatus) members(w *writer) {
	w.str("status", b.Status)
	w.opt("message", b.Message)
}

func (b *RunError) members(w *writer) {
	e := b.Error
	w.object("error", e.Other, func() {
		w.str("name", e.Name)
		w.str("message", e.Message)
		w.opt("stack", e.Stack, "provider", e.Provider, "kind", e.Kind)
		w.optInteger("status", e.Status)
		w.optInteger("attempts", e.Attempts)
		w.optInteger("max_attempts", e.MaxAttempts)
	})
}

func (b *RunEnd) members(w *writer) {
	w.str("outcome", b.Outcome)
	w.opt("final", b.Final)
}

// members writes those of the JSON that are not of the envelope; a record that was read has them in Other.
func (o *Opaque) members(w *writer) {
	if o.Other != nil {
		return
	}
	for key, value := range rawjson.Fields(o.JSON) {
		switch key {
		case "type", "run_id", "ts", "meta":
		default:
			w.raw(key, Raw(value))
		}
	}
}
