package pi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Body decodes the content of an entry. Content that does not fit the entry's kind becomes Opaque. Every value reads the members of
// both programs, because both may have written the file.
func (d *Dialect) Body(e session.Entry, raw []byte) (session.Body, error) {
	switch e.Kind {
	case session.KindMessage:
		return d.message(e, raw), nil
	case session.KindThinkingLevelChange:
		return d.thinkingLevelChange(raw), nil
	case session.KindModelChange:
		return d.modelChange(e, raw), nil
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
		return session.SessionInfo{Name: jsTrim(rawjson.Str(raw, "name"))}, nil
	case session.KindContextEdit:
		return contextEdit(raw), nil
	case session.KindTierChange:
		return d.tierChange(raw), nil
	case session.KindToolSelection:
		return session.ToolSelection{Tools: stringList(rawjson.Get(raw, "selectedToolNames"))}, nil
	case session.KindReset:
		return session.Reset{}, nil
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
		// The attribution names what caused the message: the user or the agent.
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

// answered gives the model of a context after an answer. omp writes "undefined" for a missing part; here an answer without
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

// splitModel returns the model of pi's contexts: provider and model as the record has them, whatever their type.
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
	// The members are read in one pass: every answer has a usage, and a catalogue reads them all.
	var v [6][]byte
	rawjson.Pick(value, usageKeys, v[:])
	var tokens, costs [5]float64
	for i := range tokens {
		tokens[i] = dialect.Number(v[i])
	}
	if rawjson.IsObject(v[5]) {
		rawjson.Pick(v[5], costKeys, v[:5])
		for i := range costs {
			costs[i] = dialect.Number(v[i])
		}
	}
	return session.NewUsage(tokens, costs)
}

// thinkingLevelChange reads a thinking level. To omp null means "off".
func (d *Dialect) thinkingLevelChange(raw []byte) session.ThinkingLevelChange {
	level := rawjson.Get(raw, "thinkingLevel")
	if d.omp && rawjson.IsNull(level) {
		level = []byte(`"off"`)
	}
	text, _ := rawjson.Unquote(level)
	change := session.ThinkingLevelChange{Level: text, JSON: level}
	if d.newer.configured {
		change.Configured = firstGiven(rawjson.Get(raw, "configured"), rawjson.Get(raw, "thinkingLevel"))
	}
	return change
}

// firstGiven returns the first value that is not null; nil if there is none.
func firstGiven(values ...[]byte) session.Raw {
	for _, v := range values {
		if !rawjson.IsNull(v) {
			return v
		}
	}
	return nil
}

func (d *Dialect) tierChange(raw []byte) session.TierChange {
	value := rawjson.Get(raw, "serviceTier")
	change := session.TierChange{Tier: value}
	if d.tier != nil {
		change.JSON = d.tier(value)
	}
	return change
}

// plainTier is the tier of omp 13: one word for all providers.
func plainTier(value []byte) session.Raw { return firstGiven(value) }

// The providers and tiers that omp 18 knows, and what the words of older versions mean.
var (
	tierProviders = []string{"openai", "anthropic", "google"}
	tierWords     = []string{"auto", "default", "flex", "scale", "priority"}
	oldTiers      = map[string]string{
		"priority":    `{"openai":"priority","anthropic":"priority","google":"priority"}`,
		"openai-only": `{"openai":"priority"}`, "claude-only": `{"anthropic":"priority"}`,
		"auto": `{"openai":"auto"}`, "default": `{"openai":"default"}`, "flex": `{"openai":"flex"}`, "scale": `{"openai":"scale"}`,
	}
)

// tierByProvider is the tier of omp 18: an object with a word for each provider. Any other value is dropped.
func tierByProvider(value []byte) session.Raw {
	if !rawjson.IsObject(value) {
		if old, ok := oldTiers[str(value)]; ok {
			return session.Raw(old)
		}
		return nil
	}
	var w dialect.Object
	for _, provider := range tierProviders {
		if tier := rawjson.Str(value, provider); slices.Contains(tierWords, tier) {
			w.Str(provider, tier)
		}
	}
	if w == nil {
		return nil
	}
	return session.Raw(w.End())
}

// modelChange reads both spellings, "provider/id" in one member or in two members, for display. In contexts each program reads
// only its own spelling, and the document's value reads both. Before version 3 omp wrote two members, so these count there.
func (d *Dialect) modelChange(e session.Entry, raw []byte) session.ModelChange {
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
		if d.bothSpellings || e.Migrated {
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
	history := d.providerHistory(c.PreserveData)
	c.ReplacesAll = d.omp && remoteHistory(c.PreserveData) != nil
	if end := session.EntryID(text(rawjson.Get(raw, "providerReplayThroughEntryId"))); d.newer.native && end != "" && e.Tree() != nil &&
		(c.ReplacesAll || history != nil && c.FirstKept == "") {
		if next, ok := e.Tree().Next(end, e, mostAfterHistory); ok && next.ID != e.ID {
			c.FirstKept, c.HistoryEnd, c.ReplacesAll = next.ID, end, false
		}
	}
	return c
}

// mostAfterHistory limits the entries between the end of the provider's history and the compaction. The provider compacts while the
// conversation goes on, so that they are few. The limit keeps a log of many compactions from being read in quadratic time.
const mostAfterHistory = 4096

// providerHistory returns what omp passes on if the provider itself compacted the conversation. omp 18 also has it for Anthropic.
func (d *Dialect) providerHistory(preserveData []byte) []byte {
	if !d.omp {
		return nil
	}
	if history := remoteHistory(preserveData); history != nil || !d.newer.native {
		return history
	}
	native := rawjson.Get(preserveData, "anthropicCompaction")
	m := object(`"type":"anthropicCompaction"`)
	for _, name := range []string{"provider", "content", "encryptedContent", "filesText"} {
		value := rawjson.Get(native, name)
		switch filled := rawjson.IsString(value) && rawjson.Truthy(value); {
		case filled:
			m.Add(name, value)
		case name == "provider" || name == "content":
			return nil
		}
	}
	return m.End()
}

// remoteHistory returns what omp passes on if OpenAI compacted the conversation.
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

// fromExtension reads the members of both programs; nil if neither is there.
func fromExtension(raw []byte) *bool {
	extension, hook := rawjson.Get(raw, "fromExtension"), rawjson.Get(raw, "fromHook")
	if rawjson.IsNull(extension) && rawjson.IsNull(hook) {
		return nil
	}
	return new(rawjson.Truthy(extension) || rawjson.Truthy(hook))
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

// oneLine cleans the name of a session as pi does.
func oneLine(name string) string {
	return strings.TrimSpace(strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ").Replace(name))
}

// The members of messages that bodies are made of, found in one pass, because a catalogue reads them all.
var (
	bodyKeys  = []string{"role", "provider", "model", "stopReason", "timestamp", "errorMessage", "usage", "synthetic", "attribution"}
	usageKeys = []string{"input", "output", "cacheRead", "cacheWrite", "totalTokens", "cost"}
	costKeys  = []string{"input", "output", "cacheRead", "cacheWrite", "total"}
)

// str returns the text of a string.
func str(value []byte) string {
	s, _ := rawjson.Unquote(value)
	return s
}

// Time returns the time of an entry.
func (d *Dialect) Time(raw []byte) session.Time {
	return session.Time{Text: string(rawjson.Get(raw, "timestamp"))}
}
