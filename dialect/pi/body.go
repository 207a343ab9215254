package pi

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Body decodes the content of an entry. What does not fit its kind is Opaque. Every value reads the members of both
// programs, because both may have written the file.
func (d *Dialect) Body(e session.Entry, raw []byte) (session.Body, error) {
	switch e.Kind {
	case session.KindMessage:
		return d.message(e, raw), nil
	case session.KindThinkingLevelChange:
		return d.thinkingLevelChange(raw), nil
	case session.KindModelChange:
		return d.modelChange(raw), nil
	case session.KindCompaction:
		return d.compaction(e, raw), nil
	case session.KindBranchSummary:
		return session.BranchSummary{
			From: session.EntryID(rawjson.Str(raw, "fromId")), Summary: rawjson.Str(raw, "summary"),
			Details: rawjson.Get(raw, "details"), FromExtension: fromExtension(raw),
		}, nil
	case session.KindCustom:
		return session.Custom{Type: rawjson.Str(raw, "customType"), Data: rawjson.Get(raw, "data")}, nil
	case session.KindCustomMessage:
		return session.CustomMessage{
			Type: rawjson.Str(raw, "customType"), Content: rawjson.Get(raw, "content"),
			Display: rawjson.Truthy(rawjson.Get(raw, "display")), Details: rawjson.Get(raw, "details"),
			Attribution: rawjson.Str(raw, "attribution"),
		}, nil
	case session.KindLabel:
		return session.Label{Target: session.EntryID(rawjson.Str(raw, "targetId")), Label: rawjson.Str(raw, "label")}, nil
	case session.KindTTSRInjection:
		return session.TTSRInjection{Rules: stringList(rawjson.Get(raw, "injectedRules"))}, nil
	case session.KindSessionInit:
		return session.SessionInit{
			SystemPrompt: rawjson.Str(raw, "systemPrompt"), Task: rawjson.Str(raw, "task"),
			Tools: stringList(rawjson.Get(raw, "tools")), OutputSchema: rawjson.Get(raw, "outputSchema"),
		}, nil
	case session.KindModeChange:
		mode := rawjson.Get(raw, "mode")
		name, _ := rawjson.Unquote(mode)
		return session.ModeChange{Mode: name, JSON: mode, Data: rawjson.Get(raw, "data")}, nil
	case session.KindSessionInfo:
		return session.SessionInfo{Name: oneLine(rawjson.Str(raw, "name"))}, nil
	case session.KindContextEdit:
		return contextEdit(raw), nil
	}
	return session.Opaque{Type: e.Type, JSON: raw}, nil
}

func (d *Dialect) message(e session.Entry, raw []byte) session.Body {
	var v [9][]byte
	found := rawjson.PickIn(raw, "message", bodyKeys, v[:])
	if !rawjson.IsObject(found) {
		return session.Opaque{Type: e.Type, JSON: raw}
	}
	m := d.migrated(e, found)
	native, provider, model := v[0], v[1], v[2]
	if e.Migrated {
		native = rawjson.Get(m, "role")
	}
	body := session.Message{
		Role: e.Role, Native: str(native), JSON: m, Provider: str(provider), Model: str(model), Stop: str(v[3]), Error: str(v[5]),
		Usage: usage(v[6]),
		// The attribution names what caused the message: a person or the agent.
		Meta: rawjson.Truthy(v[7]) || e.Role == session.RoleUser && str(v[8]) == "agent",
	}
	if v[4] != nil {
		body.Time = session.Time{Text: string(v[4])}
	}
	if body.Role == session.RoleAssistant {
		body.ModelJSON = d.answered(provider, model)
	}
	return body
}

// answered gives the model of a context after an answer. omp writes "undefined" for what is missing; here an answer without
// a model changes nothing.
func (d *Dialect) answered(provider, model []byte) session.Raw {
	if !d.omp {
		return splitModel(provider, model)
	}
	p, _ := rawjson.Unquote(provider)
	m, _ := rawjson.Unquote(model)
	if p == "" || m == "" {
		return nil
	}
	return rawjson.Quote(p + "/" + m)
}

// splitModel gives the model of pi's contexts: provider and model as the record has them, whatever their type.
func splitModel(provider, model []byte) session.Raw {
	var w dialect.Object = []byte("{")
	if provider != nil {
		w.Add("provider", provider)
	}
	if model != nil {
		w.Add("modelId", model)
	}
	return session.Raw(w.End())
}

func usage(value []byte) *session.Usage {
	if !rawjson.IsObject(value) {
		return nil
	}
	u := usageOf(value)
	return &u
}

// usageOf reads a usage that is an object.
func usageOf(value []byte) session.Usage {
	// One pass: every answer has a usage, and a catalogue reads them all.
	var v [6][]byte
	rawjson.Pick(value, usageKeys, v[:])
	u := session.Usage{
		Input: dialect.Integer(v[0]), Output: dialect.Integer(v[1]), CacheRead: dialect.Integer(v[2]), CacheWrite: dialect.Integer(v[3]), Total: dialect.Integer(v[4]),
	}
	u.Cost, u.Costs = costs(v[5])
	return u
}

// costs reads the costs of an answer: the sum and its parts.
func costs(value []byte) (total float64, c session.Costs) {
	if !rawjson.IsObject(value) {
		return 0, c
	}
	var v [5][]byte
	rawjson.Pick(value, costKeys, v[:])
	return amount(v[0]), session.Costs{Input: amount(v[1]), Output: amount(v[2]), CacheRead: amount(v[3]), CacheWrite: amount(v[4])}
}

// amount gives a number, 0 for any other value.
func amount(value []byte) float64 {
	if len(value) == 1 && value[0] == '0' {
		return 0 // the usual case
	}
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil {
		return 0
	}
	return f
}

// thinkingLevelChange: to omp null means "off".
func (d *Dialect) thinkingLevelChange(raw []byte) session.ThinkingLevelChange {
	level := rawjson.Get(raw, "thinkingLevel")
	if d.omp && rawjson.IsNull(level) {
		level = []byte(`"off"`)
	}
	text, _ := rawjson.Unquote(level)
	return session.ThinkingLevelChange{Level: text, JSON: level}
}

// modelChange reads both spellings, "provider/id" in one member or two members, for display. In contexts each program reads
// only its own spelling; the document's reader reads both.
func (d *Dialect) modelChange(raw []byte) session.ModelChange {
	m := session.ModelChange{Role: "default"}
	if role := rawjson.Get(raw, "role"); !rawjson.IsNull(role) {
		m.Role = jsString(role)
	}
	joined, provider, id := rawjson.Get(raw, "model"), rawjson.Get(raw, "provider"), rawjson.Get(raw, "modelId")
	if m.Model, _ = rawjson.Unquote(joined); m.Model != "" {
		m.Provider, m.ModelID, _ = strings.Cut(m.Model, "/")
	}
	split := session.ModelChange{Role: m.Role, Split: true}
	split.Provider, _ = rawjson.Unquote(provider)
	split.ModelID, _ = rawjson.Unquote(id)
	if split.Provider != "" || split.ModelID != "" {
		split.Model = split.Provider + "/" + split.ModelID
	}
	switch {
	case !d.omp:
		if split.Model != "" {
			m = split
		}
		m.JSON = splitModel(provider, id)
	case rawjson.Truthy(joined):
		m.JSON = joined
	case split.Model != "":
		m = split
		if d.bothSpellings {
			m.JSON = rawjson.Quote(m.Model)
		}
	}
	return m
}

func (d *Dialect) compaction(e session.Entry, raw []byte) session.Compaction {
	tokens := rawjson.Get(raw, "tokensBefore")
	c := session.Compaction{
		Summary: rawjson.Str(raw, "summary"), ShortSummary: rawjson.Str(raw, "shortSummary"),
		FirstKept:    session.EntryID(text(rawjson.Get(raw, "firstKeptEntryId"))),
		TokensBefore: int(dialect.Integer(tokens)), TokensJSON: tokens, Details: rawjson.Get(raw, "details"),
		PreserveData: rawjson.Get(raw, "preserveData"), FromExtension: fromExtension(raw),
	}
	if id, ok := e.FirstKept(); ok {
		c.FirstKept = id
	}
	c.ReplacesAll = d.omp && remoteHistory(c.PreserveData) != nil
	return c
}

// remoteHistory gives what omp passes on where the provider itself compacted the conversation.
func remoteHistory(preserveData []byte) []byte {
	remote := rawjson.Get(preserveData, "openaiRemoteCompaction")
	provider, items := rawjson.Get(remote, "provider"), rawjson.Get(remote, "replacementHistory")
	if !rawjson.IsString(provider) || !rawjson.Truthy(provider) || !rawjson.IsArray(items) {
		return nil
	}
	return fmt.Appendf(nil, `{"type":"openaiResponsesHistory","provider":%s,"items":%s}`, provider, items)
}

func contextEdit(raw []byte) session.Body {
	edit := session.ContextEdit{Target: session.EntryID(text(rawjson.Get(raw, "targetId")))}
	replacement := rawjson.Get(raw, "replacement")
	switch {
	case replacement == nil:
		return session.Opaque{Type: "context_edit", JSON: raw}
	case rawjson.IsNull(replacement):
		return edit
	}
	if edit.Content = rawjson.Get(replacement, "content"); edit.Content == nil {
		edit.Content = session.Raw{} // the member is removed
	}
	return edit
}

// fromExtension reads the spellings of both programs.
func fromExtension(raw []byte) bool {
	return rawjson.Truthy(rawjson.Get(raw, "fromExtension")) || rawjson.Truthy(rawjson.Get(raw, "fromHook"))
}

func stringList(value []byte) []string {
	var list []string
	for e := range rawjson.Elements(value) {
		if s, ok := rawjson.Unquote(e); ok {
			list = append(list, s)
		}
	}
	return list
}

// oneLine cleans the name of a session like pi.
func oneLine(name string) string {
	return strings.TrimSpace(strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ").Replace(name))
}

// The members of messages that bodies are made of, found in one pass, because a catalogue reads them all.
var (
	bodyKeys  = []string{"role", "provider", "model", "stopReason", "timestamp", "errorMessage", "usage", "synthetic", "attribution"}
	usageKeys = []string{"input", "output", "cacheRead", "cacheWrite", "totalTokens", "cost"}
	costKeys  = []string{"total", "input", "output", "cacheRead", "cacheWrite"}
)

// str gives the text of a string.
func str(value []byte) string {
	s, _ := rawjson.Unquote(value)
	return s
}

// Time finds when an entry was made.
func (d *Dialect) Time(raw []byte) session.Time {
	return session.Time{Text: string(rawjson.Get(raw, "timestamp"))}
}
