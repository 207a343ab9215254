package pi

import (
	"errors"
	"strconv"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// members adds the content of a body, in the order in which the programs write members.
func (d *Dialect) members(w *dialect.Object, body session.Body) error {
	switch b := body.(type) {
	case session.ThinkingLevelChange:
		if b.Level == "" && b.JSON != nil {
			return w.Raw("thinkingLevel", b.JSON)
		}
		w.Str("thinkingLevel", b.Level)
		if d.newer.configured {
			return w.Raw("configured", b.Configured)
		}
	case session.ModelChange:
		d.modelMembers(w, b)
	case session.Compaction:
		return d.compactionMembers(w, b)
	case session.BranchSummary:
		w.Str("fromId", string(b.From))
		w.Str("summary", b.Summary)
		err := w.Raw("details", b.Details)
		d.extension(w, b.FromExtension)
		return err
	case session.Custom:
		w.Str("customType", b.Type)
		return w.Raw("data", b.Data)
	case session.CustomMessage:
		return d.customMembers(w, b)
	case session.Label:
		w.Str("targetId", string(b.Target))
		w.Optional("label", b.Label)
	case session.TTSRInjection:
		w.Add("injectedRules", list(b.Rules))
	case session.SessionInit:
		w.Str("systemPrompt", b.SystemPrompt)
		w.Str("task", b.Task)
		w.Add("tools", list(b.Tools))
		return w.Raw("outputSchema", b.OutputSchema)
	case session.ModeChange:
		w.Str("mode", b.Mode)
		return w.Raw("data", b.Data)
	case session.SessionInfo:
		w.Str("name", oneLine(b.Name))
	case session.ContextEdit:
		return editMembers(w, b)
	case session.TierChange:
		if b.Tier == nil {
			b.Tier = session.Raw("null")
		}
		return w.Raw("serviceTier", b.Tier)
	case session.ToolSelection:
		w.Add("selectedToolNames", list(b.Tools))
	// The members of an Opaque body are copied, except those of the envelope.
	case session.Opaque:
		w.Others(b.JSON, "type", "id", "parentId", "timestamp")
	}
	return nil
}

// compactionMembers adds the members of a compaction. For pi it leaves out what only omp has.
func (d *Dialect) compactionMembers(w *dialect.Object, b session.Compaction) error {
	w.Str("summary", b.Summary)
	if d.omp {
		w.Optional("shortSummary", b.ShortSummary)
	}
	w.Str("firstKeptEntryId", string(b.FirstKept))
	err := errors.Join(w.Raw("tokensBefore", b.Tokens()), w.Raw("details", b.Details))
	if d.omp && err == nil {
		err = w.Raw("preserveData", b.PreserveData)
	}
	if d.newer.native {
		w.Optional("providerReplayThroughEntryId", string(b.HistoryEnd))
	}
	d.extension(w, b.FromExtension)
	return err
}

// customMembers adds the members of a custom message. Only the program's value writes a default attribution, not the document's.
func (d *Dialect) customMembers(w *dialect.Object, b session.CustomMessage) error {
	w.Str("customType", b.Type)
	if err := w.Raw("content", b.Content); err != nil {
		return err
	}
	w.Add("display", strconv.AppendBool(nil, b.Display))
	if err := w.Raw("details", b.Details); err != nil {
		return err
	}
	if b.Attribution == "" && d.attributes { // the program's default
		b.Attribution = "agent"
	}
	w.Optional("attribution", b.Attribution)
	return nil
}

// editMembers adds the members of a context edit: null hides the target, a content replaces the target's content.
func editMembers(w *dialect.Object, b session.ContextEdit) error {
	w.Str("targetId", string(b.Target))
	if b.Content == nil {
		w.Add("replacement", []byte("null"))
		return nil
	}
	if !rawjson.Valid(b.Content) {
		return errors.New("content is not JSON")
	}
	w.Add("replacement", append(append([]byte(`{"content":`), rawjson.Compact(b.Content)...), '}'))
	return nil
}

// modelMembers spells a model like the program: omp in one member, with a role, pi in two.
func (d *Dialect) modelMembers(w *dialect.Object, m session.ModelChange) {
	if d.omp && (m.Model != "" || !m.Split) {
		w.Str("model", m.Model)
		w.Optional("role", m.Role)
		return
	}
	w.Str("provider", m.Provider)
	w.Str("modelId", m.ModelID)
}

// extension adds, in the program's own word, whether an extension made the summary; nothing if that is unknown.
func (d *Dialect) extension(w *dialect.Object, from *bool) {
	key := "fromHook"
	if d.omp {
		key = "fromExtension"
	}
	if from != nil {
		w.Add(key, strconv.AppendBool(nil, *from))
	}
}

func list(items []string) []byte {
	var quoted [][]byte
	for _, s := range items {
		quoted = append(quoted, rawjson.Quote(s))
	}
	return dialect.Array(quoted)
}
