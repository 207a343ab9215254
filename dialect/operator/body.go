package operator

import (
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Body decodes the content of an entry. Content that does not fit the entry's kind becomes Opaque.
func (d *Dialect) Body(e session.Entry, raw []byte) (session.Body, error) {
	switch e.Kind {
	case session.KindMessage:
		return message(e, raw), nil
	case session.KindThinkingLevelChange:
		level := value(raw, "thinking_level")
		name, _ := rawjson.Unquote(level)
		return session.ThinkingLevelChange{Level: name, JSON: session.Raw(level)}, nil
	case session.KindModelChange:
		return modelChange(raw), nil
	case session.KindCompaction:
		tokens := value(raw, "tokens_before")
		return session.Compaction{
			Summary: rawjson.Str(raw, "summary"), FirstKept: session.EntryID(text(rawjson.Get(raw, "first_kept_entry_id"))),
			TokensBefore: int(dialect.Integer(tokens)), TokensJSON: tokens, Details: value(raw, "details"),
			FromExtension: fromHook(raw),
		}, nil
	case session.KindBranchSummary:
		return session.BranchSummary{
			From: session.EntryID(text(rawjson.Get(raw, "from_id"))), Summary: rawjson.Str(raw, "summary"),
			Details: value(raw, "details"), FromExtension: fromHook(raw),
		}, nil
	case session.KindCustom:
		return session.Custom{Type: rawjson.Str(raw, "custom_type"), Data: value(raw, "data")}, nil
	case session.KindCustomMessage:
		display := value(raw, "display")
		return session.CustomMessage{
			Type: rawjson.Str(raw, "custom_type"), Content: value(raw, "content"),
			// the program shows a custom message unless it says otherwise
			Display: display == nil || rawjson.Truthy(display), Details: value(raw, "details"),
		}, nil
	case session.KindLabel:
		return session.Label{
			Target: session.EntryID(text(rawjson.Get(raw, "target_id"))), Label: rawjson.Str(raw, "label"),
		}, nil
	case session.KindLeaf:
		return session.Leaf{Target: session.EntryID(text(rawjson.Get(raw, "target_id")))}, nil
	case session.KindSessionInfo:
		return session.SessionInfo{Name: rawjson.Str(raw, "name")}, nil
	}
	return session.Opaque{Type: e.Type, JSON: raw}, nil
}

// value returns a member, nil if it is null: the program leaves out a member without a value, but its own forks write null.
func value(raw []byte, key string) session.Raw {
	v := rawjson.Get(raw, key)
	if rawjson.IsNull(v) {
		return nil
	}
	return v
}

// message reads a message. Everything except its JSON is for lists, search and conversion; a context uses the JSON.
func message(e session.Entry, raw []byte) session.Body {
	m := rawjson.Get(raw, "message")
	if !rawjson.IsObject(m) {
		return session.Opaque{Type: e.Type, JSON: raw}
	}
	body := session.Message{Role: e.Role, JSON: m}
	for key, value := range rawjson.Fields(m) {
		switch key {
		case "role":
			body.Native, _ = rawjson.Unquote(value)
		case "stop_reason":
			body.Stop, _ = rawjson.Unquote(value)
		case "timestamp":
			body.Time = session.Time{Text: string(value)}
		case "error":
			body.Error, _ = rawjson.Unquote(value)
		case "usage":
			body.Usage = usage(value)
		}
	}
	return body
}

// usage reads the usage of an answer. Operator writes no total of tokens, so it is the sum. Costs are in dollars.
func usage(value []byte) *session.Usage {
	if !rawjson.IsObject(value) {
		return nil
	}
	number := func(object []byte, key string) float64 { return dialect.Number(rawjson.Get(object, key)) }
	costs := rawjson.Get(value, "cost")
	u := session.NewUsage([5]float64{
		number(value, "input_tokens"), number(value, "output_tokens"), number(value, "cache_read_tokens"), number(value, "cache_write_tokens"),
	}, [5]float64{
		number(costs, "input"), number(costs, "output"), number(costs, "cache_read"), number(costs, "cache_write"), number(costs, "total"),
	})
	u.Total = u.Input + u.Output + u.CacheRead + u.CacheWrite
	return &u
}

// modelChange reads provider and model, which are separate members, in contexts as well.
func modelChange(raw []byte) session.ModelChange {
	m := session.ModelChange{Role: "default", Split: true}
	provider, id := value(raw, "provider_id"), value(raw, "model_id")
	m.Provider, _ = rawjson.Unquote(provider)
	m.ModelID, _ = rawjson.Unquote(id)
	if m.Provider != "" && m.ModelID != "" {
		m.Model = m.Provider + "/" + m.ModelID
	}
	var w dialect.Object
	copyValues(&w, raw, "model_id", "provider_id")
	if w != nil {
		m.JSON = w.End()
	}
	return m
}

// fromHook reads whether an extension made a summary. The program always writes the member, so false carries no information.
func fromHook(raw []byte) *bool {
	if !rawjson.Truthy(rawjson.Get(raw, "from_hook")) {
		return nil
	}
	return new(true)
}
