package qwen

import (
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/contents"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var (
	_ session.Skimmer = (*Dialect)(nil)
	_ session.Spender = (*Dialect)(nil)
	_ session.Copier  = (*Dialect)(nil)
	_ dialect.Parter  = (*Dialect)(nil)
)

// CopyID is the uuid, which a fork copies with the line.
func (d *entries) CopyID(_ session.Entry, raw []byte) string { return dialect.UUID(raw, "uuid") }

// Body decodes the content of an entry. Content that does not fit the entry's kind becomes Opaque.
func (d *entries) Body(e session.Entry, raw []byte) (session.Body, error) {
	payload := rawjson.Get(raw, "systemPayload")
	switch e.Kind {
	case session.KindMessage:
		message := rawjson.Get(raw, "message")
		m := session.Message{Role: e.Role, Native: rawjson.Str(message, "role"), JSON: message, Time: d.Time(raw)}
		if e.Role == session.RoleAssistant {
			m.JSON = answer(raw, message)
			var u session.Usage
			m.Provider, m.Model, u = usedBy(raw, nil)
			if m.Model != "" {
				m.ModelJSON = rawjson.Get(raw, "model")
			}
			if u != (session.Usage{}) {
				m.Usage = &u
			}
		} else {
			m.Meta = e.Role == session.RoleUser && isMeta(raw)
		}
		return m, nil
	case session.KindCompaction:
		return session.Compaction{Summary: summaryOf(payload), TokensJSON: rawjson.Get(rawjson.Get(payload, "info"), "originalTokenCount"),
			TokensBefore: int(dialect.Integer(rawjson.Get(rawjson.Get(payload, "info"), "originalTokenCount"))), Details: payload, ReplacesAll: true}, nil
	case session.KindBranchSummary:
		return session.BranchSummary{From: session.EntryID(rawjson.Str(payload, "from")), Details: rawjson.Get(payload, "details"),
			Summary: dialect.TextOf(contents.AppendParts(nil, rawjson.Get(rawjson.Get(raw, "message"), "parts"), nil))}, nil
	case session.KindCustomMessage:
		return session.CustomMessage{Type: rawjson.Str(payload, "type"), Content: rawjson.Get(rawjson.Get(raw, "message"), "parts"),
			Display: string(rawjson.Get(payload, "display")) == "true", Details: rawjson.Get(payload, "details"), Attribution: rawjson.Str(payload, "attribution")}, nil
	case session.KindSessionInfo:
		return session.SessionInfo{Name: rawjson.Str(payload, "customTitle")}, nil
	case session.KindCustom:
		if e.Type == subCustom {
			return session.Custom{Type: rawjson.Str(payload, "type"), Data: rawjson.Get(payload, "data")}, nil
		}
		return session.Custom{Type: e.Type, Data: payload}, nil
	}
	return session.Opaque{Type: e.Type, JSON: raw}, nil
}

// answer is a message of the model, with the members that the line has beside it.
func answer(raw, message []byte) []byte {
	var w dialect.Object
	w.Others(message)
	w.Copy(raw, "model", providerMember, "usageMetadata")
	return w.End()
}

// isMeta reports whether the program wrote a message in the user's name: a notification, a scheduled task, a goal.
func isMeta(raw []byte) bool {
	switch rawjson.Str(raw, "subtype") {
	case "notification", "cron", "goal_runtime", "agent_bootstrap", "agent_retry":
		return true
	}
	return rawjson.Str(raw, "provenance") == typeSystem
}

// summaryOf returns the first text of a compressed history.
func summaryOf(payload []byte) string {
	for m := range rawjson.Elements(rawjson.Get(payload, "compressedHistory")) {
		if text := dialect.TextOf(contents.AppendParts(nil, rawjson.Get(m, "parts"), nil)); strings.TrimSpace(text) != "" {
			return text
		}
	}
	return ""
}

// IsNote reports whether an entry is a line that the program writes for its own use, as most are.
func (d *entries) IsNote(e session.Entry) bool {
	return e.Kind == session.KindCustom && e.Type != subCustom
}

// Members that are found in one pass.
var (
	answerKeys = []string{"model", "usageMetadata", providerMember}
	usageKeys  = []string{"promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "cachedContentTokenCount", "totalTokenCount"}
	partsKeys  = []string{"parts"}
)

// providerMember is a member of an answer that only treeline uses: the provider of the model, if the model's name does not show it.
const providerMember = "treelineProvider"

// usedBy returns the model of an answer and its usage.
func usedBy(raw []byte, s *session.Skim) (provider, model string, u session.Usage) {
	var v [3][]byte
	rawjson.Pick(raw, answerKeys, v[:])
	if model, _ = s.Text(v[0]); model != "" {
		if provider = dialect.ProviderOf(model); provider == "" {
			provider = "qwen"
		}
	}
	if other, _ := s.Text(v[2]); other != "" {
		provider = other
	}
	return provider, model, usage(v[1])
}

// usage reads the usage of an answer. The input includes what was read from the cache. The sum shows whether the output includes
// thinking.
func usage(value []byte) session.Usage {
	if !rawjson.IsObject(value) {
		return session.Usage{}
	}
	var v [5][]byte
	rawjson.Pick(value, usageKeys, v[:])
	var n [5]float64
	for i := range v {
		n[i] = dialect.Number(v[i])
	}
	output := n[1]
	if n[4] == n[0]+n[1]+n[2] {
		output += n[2]
	}
	u := session.NewUsage([5]float64{max(n[0]-n[3], 0), output, n[3]}, [5]float64{})
	u.Total = u.Input + u.Output + u.CacheRead
	return u
}

// Spent gives the usage of an answer. The lines of one record repeat it.
func (d *entries) Spent(e session.Entry, raw []byte, take func(session.Spending)) {
	if e.Kind != session.KindMessage || e.Role != session.RoleAssistant {
		return
	}
	if provider, model, u := usedBy(raw, nil); u != (session.Usage{}) {
		take(session.Spending{Of: rawjson.Str(raw, "uuid"), Provider: provider, Model: model, Usage: u})
	}
}

// Parts returns what is inside an entry in neutral form.
func (d *entries) Parts(e session.Entry, raw []byte) ([]session.Part, error) {
	return entryParts(nil, e, raw, nil), nil
}

// Skim implements session.Skimmer.
func (d *entries) Skim(e session.Entry, raw []byte, s *session.Skim) error {
	s.Parts = entryParts(s.Parts, e, raw, s)
	if e.Kind == session.KindMessage && e.Role == session.RoleAssistant {
		s.Provider, s.Model, s.Usage = usedBy(raw, s)
	}
	return nil
}

// entryParts adds the parts of an entry. s decodes texts.
func entryParts(list []session.Part, e session.Entry, raw []byte, s *session.Skim) []session.Part {
	switch e.Kind {
	case session.KindMessage, session.KindBranchSummary, session.KindCustomMessage:
		var v [1][]byte
		rawjson.PickIn(raw, "message", partsKeys, v[:])
		if !rawjson.IsArray(v[0]) {
			return list
		}
		return contents.AppendParts(list, v[0], s)
	case session.KindCompaction:
		if text := summaryOf(rawjson.Get(raw, "systemPayload")); text != "" {
			list = append(list, session.Text{Text: text})
		}
		return list
	case session.KindOpaque, session.KindCustom:
		return append(list, session.OpaquePart{Type: e.Type, JSON: raw})
	}
	return list
}

// MessageParts returns what is inside a content in neutral form.
func (d *Dialect) MessageParts(m []byte) []session.Part {
	return contents.AppendParts(nil, rawjson.Get(m, "parts"), nil)
}

// Messages returns the message of an entry; see Replay for what is sent.
func (d *entries) Messages(e session.Entry, raw []byte) ([][]byte, error) {
	if message := rawjson.Get(raw, "message"); e.Kind == session.KindMessage && rawjson.IsObject(message) {
		return [][]byte{rawjson.Compact(message)}, nil
	}
	return nil, nil
}
