package run

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/treeline-dev/treeline/internal/rawjson"
)

// writer builds an object member by member. What is no JSON is remembered and fails the record.
// The members are written in the order in which it is told to, which is the order of the format's document: logs
// of one program can be compared line by line.
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

// opt leaves out what is empty.
func (w *writer) opt(key, value string) {
	if value != "" {
		w.str(key, value)
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

// raw copies a value, without the white space between its tokens.
// An absent value is left out and not written as null, as codelia does: undefined members vanish from its JSON.
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

// array is raw for an array that must be there.
func (w *writer) array(key string, value Raw) {
	if !rawjson.IsArray(value) {
		w.err = errors.Join(w.err, fmt.Errorf("%s must be an array", key))
		return
	}
	w.raw(key, value)
}

func (w *writer) object(key string, fill func()) {
	w.key(key)
	w.b = append(w.b, '{')
	fill()
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
	return Escape(append(w.b, '}')), nil
}

// They are one character each to JSON and may stand in strings as they are; programs that split a text with
// Python's splitlines or similar would cut the record there.
var breaks = strings.NewReplacer("\u0085", `\u0085`, "\u2028", `\u2028`, "\u2029", `\u2029`)

// Escape writes the line breaks of Unicode, which can only stand in strings, as escapes: some readers split lines at them.
// The bytes can only occur within strings, since JSON allows nothing beyond ASCII outside of them. So replacing
// them everywhere is safe, and the first look keeps nearly all records from being copied.
func Escape(record []byte) []byte {
	if !bytes.Contains(record, []byte("\xc2\x85")) && !bytes.Contains(record, []byte("\xe2\x80")) {
		return record
	}
	return []byte(breaks.Replace(string(record)))
}

// EncodeHeader gives the record of a header.
// A log of another version is never written, so its header is not either.
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
		w.object("prompts", func() { w.opt("system", p.System); w.other(p.Other) })
	}
	if t := h.Tools; t != nil {
		w.object("tools", func() { w.raw("definitions", t.Definitions); w.opt("source", t.Source); w.other(t.Other) })
	}
	if r := h.Runtime; r != nil {
		w.object("runtime", func() {
			w.opt("cwd", r.CWD)
			w.opt("os", r.OS)
			w.opt("arch", r.Arch)
			w.opt("version", r.Version)
			w.other(r.Other)
		})
	}
	w.raw("meta", h.Meta)
	w.other(h.Other)
	return w.finish()
}

func (w *writer) program(key string, p *Program) {
	if p != nil {
		w.object(key, func() { w.str("name", p.Name); w.str("version", p.Version); w.other(p.Other) })
	}
}

func (w *writer) model(key string, m *Model) {
	if m == nil {
		return
	}
	w.object(key, func() {
		w.opt("provider", m.Provider)
		w.opt("name", m.Name)
		w.opt("reasoning", m.Reasoning)
		w.optBool("fast", m.Fast)
		w.opt("source", m.Source)
		w.other(m.Other)
	})
}

// Encode gives the record of a body, members in the order of the format's document. The bytes are its own: later changes
// to the body do not reach them.
func Encode(b Body) ([]byte, error) {
	e := b.envelope()
	w := &writer{b: []byte(`{"type":`)}
	w.b = rawjson.AppendString(w.b, string(b.Type()))
	w.opt("run_id", e.RunID)
	// the document has it before the time
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
	w.object("input", func() {
		in := b.Input
		// codelia-doc knows a text only; codelia writes parts where a picture was given. The caller need not say
		// which.
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
		w.other(in.Other)
	})
	w.raw("ui_context", b.UIContext)
}

func (b *RunContext) members(w *writer) {
	// 'g': 12.5 stays 12.5 and 100 stays 100, as JavaScript spells them.
	w.key("context_left_percent")
	w.b = strconv.AppendFloat(w.b, b.ContextLeftPercent, 'g', -1, 64)
}

func (b *AgentEvent) members(w *writer) {
	w.integer("seq", b.Seq)
	// The event is written all the same: finish fails because of err, and nobody sees the rest.
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
		w.object("output_ref", func() {
			w.str("id", r.ID)
			w.optInteger("byte_size", r.ByteSize)
			w.optInteger("line_count", r.LineCount)
			w.other(r.Other)
		})
	}
}

func (b *LLMRequest) members(w *writer) {
	w.integer("seq", b.Seq)
	w.model("model", b.Model)
	w.object("input", func() {
		w.array("messages", b.Input.Messages)
		w.raw("tools", b.Input.Tools)
		w.raw("tool_choice", b.Input.ToolChoice)
		w.opt("model", b.Input.Model)
		w.opt("session_key", b.Input.SessionKey)
		w.other(b.Input.Other)
	})
}

func (b *LLMResponse) members(w *writer) {
	w.integer("seq", b.Seq)
	w.object("output", func() {
		w.array("messages", b.Output.Messages)
		if u := b.Output.Usage; u != nil {
			w.object("usage", func() {
				w.str("model", u.Model)
				w.integer("input_tokens", u.Input)
				w.optInteger("input_cached_tokens", u.Cached)
				w.optInteger("input_cache_creation_tokens", u.CacheCreation)
				w.optInteger("input_image_tokens", u.Image)
				w.integer("output_tokens", u.Output)
				w.integer("total_tokens", u.Total)
				w.opt("provider_model", u.ProviderModel)
				w.other(u.Other)
			})
		}
		w.opt("stop_reason", b.Output.StopReason)
		w.raw("provider_meta", b.Output.ProviderMeta)
		w.other(b.Output.Other)
	})
}

func (b *RunStatus) members(w *writer) {
	w.str("status", b.Status)
	w.opt("message", b.Message)
}

func (b *RunError) members(w *writer) {
	w.object("error", func() {
		e := b.Error
		w.str("name", e.Name)
		w.str("message", e.Message)
		w.opt("stack", e.Stack)
		w.opt("provider", e.Provider)
		w.opt("kind", e.Kind)
		w.optInteger("status", e.Status)
		w.optInteger("attempts", e.Attempts)
		w.optInteger("max_attempts", e.MaxAttempts)
		w.other(e.Other)
	})
}

func (b *RunEnd) members(w *writer) {
	w.str("outcome", b.Outcome)
	w.opt("final", b.Final)
}

// members of an Opaque are those that its JSON has besides; a record that was read has them in Other already.
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
