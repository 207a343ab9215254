package pi

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// members adds what a body says.
// The order is that in which the programs write members, so that files of both can be compared line by line.
func (d *Dialect) members(w *writer, body session.Body) error {
	switch b := body.(type) {
	case session.ThinkingLevelChange:
		if b.Level == "" && b.JSON != nil {
			return w.raw("thinkingLevel", b.JSON)
		}
		w.str("thinkingLevel", b.Level)
	case session.ModelChange:
		d.modelMembers(w, b)
	case session.Compaction:
		return d.compactionMembers(w, b)
	case session.BranchSummary:
		w.str("fromId", string(b.From))
		w.str("summary", b.Summary)
		err := w.raw("details", b.Details)
		d.extension(w, b.FromExtension)
		return err
	case session.Custom:
		w.str("customType", b.Type)
		return w.raw("data", b.Data)
	case session.CustomMessage:
		return d.customMembers(w, b)
	case session.Label:
		w.str("targetId", string(b.Target))
		w.optional("label", b.Label)
	case session.TTSRInjection:
		w.add("injectedRules", list(b.Rules))
	case session.SessionInit:
		w.str("systemPrompt", b.SystemPrompt)
		w.str("task", b.Task)
		w.add("tools", list(b.Tools))
		return w.raw("outputSchema", b.OutputSchema)
	case session.ModeChange:
		w.str("mode", b.Mode)
		return w.raw("data", b.Data)
	case session.SessionInfo:
		w.str("name", oneLine(b.Name))
	case session.ContextEdit:
		return editMembers(w, b)
	// What somebody hands over whole is taken over but for the envelope, which is ours.
	case session.Opaque:
		for key, value := range rawjson.Fields(b.JSON) {
			switch key {
			case "type", "id", "parentId", "timestamp":
			default:
				w.add(key, rawjson.Compact(value))
			}
		}
	}
	return nil
}

func (w *writer) str(key, value string) { w.add(key, rawjson.Quote(value)) }

// The programs leave out what is undefined.
func (w *writer) optional(key, value string) {
	if value != "" {
		w.str(key, value)
	}
}

// raw adds a value as it is, but on one line, where there is one.
func (w *writer) raw(key string, value session.Raw) error {
	if value == nil {
		return nil
	}
	if !rawjson.Valid(value) {
		return fmt.Errorf("%s is not JSON", key)
	}
	w.add(key, rawjson.Compact(value))
	return nil
}

// compactionMembers leaves out what only omp has, so that pi's files have pi's members.
func (d *Dialect) compactionMembers(w *writer, b session.Compaction) error {
	w.str("summary", b.Summary)
	if d.omp {
		w.optional("shortSummary", b.ShortSummary)
	}
	w.str("firstKeptEntryId", string(b.FirstKept))
	tokens := b.TokensBefore
	if tokens == nil {
		tokens = session.Raw("0")
	}
	err := errors.Join(w.raw("tokensBefore", tokens), w.raw("details", b.Details))
	if d.omp && err == nil {
		err = w.raw("preserveData", b.PreserveData)
	}
	d.extension(w, b.FromExtension)
	return err
}

// customMembers has to tell omp from the document's value: only the program adds an attribution of its own.
func (d *Dialect) customMembers(w *writer, b session.CustomMessage) error {
	w.str("customType", b.Type)
	if err := w.raw("content", b.Content); err != nil {
		return err
	}
	w.add("display", strconv.AppendBool(nil, b.Display))
	if err := w.raw("details", b.Details); err != nil {
		return err
	}
	if b.Attribution == "" && d == Omp { // what the program says of those that nobody asked for
		b.Attribution = "agent"
	}
	w.optional("attribution", b.Attribution)
	return nil
}

// editMembers: null hides the target, a content takes the place of its own.
func editMembers(w *writer, b session.ContextEdit) error {
	w.str("targetId", string(b.Target))
	if b.Content == nil {
		w.add("replacement", []byte("null"))
		return nil
	}
	if !rawjson.Valid(b.Content) {
		return errors.New("content is not JSON")
	}
	w.add("replacement", append(append([]byte(`{"content":`), rawjson.Compact(b.Content)...), '}'))
	return nil
}

// modelMembers spells a model as the program does: omp in one member with a role, pi in two.
func (d *Dialect) modelMembers(w *writer, m session.ModelChange) {
	if d.omp && (m.Model != "" || !m.Split) {
		w.add("model", rawjson.Quote(m.Model))
		if m.Role != "" {
			w.add("role", rawjson.Quote(m.Role))
		}
		return
	}
	w.add("provider", rawjson.Quote(m.Provider))
	w.add("modelId", rawjson.Quote(m.ModelID))
}

// extension notes that an extension made the summary, in the program's own word.
func (d *Dialect) extension(w *writer, from bool) {
	if !from {
		return
	}
	if d.omp {
		w.add("fromExtension", []byte("true"))
	} else {
		w.add("fromHook", []byte("true"))
	}
}

func list(items []string) []byte {
	out := []byte{'['}
	for i, s := range items {
		if i > 0 {
			out = append(out, ',')
		}
		out = rawjson.AppendString(out, s)
	}
	return append(out, ']')
}
