package operator

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Writer = (*Dialect)(nil)

// Habits describes the program, except that a prompt is written before it is answered: see dialect.Habits.
func (d *Dialect) Habits() dialect.Habits {
	return dialect.Habits{
		Defer: d.wait, FromTarget: true, RenameByEntry: true, NamesOnPath: true, RelabelKeepsTime: true,
		Branches: true, Labels: true, ListsByCWD: true,
	}
}

// seconds spells a time as Python writes floats: to the microsecond, always with a fraction.
func seconds(t time.Time) []byte {
	us := t.Round(time.Microsecond).UnixMicro()
	out := strconv.AppendFloat(nil, float64(us)/1e6, 'f', -1, 64)
	if bytes.IndexByte(out, '.') < 0 {
		out = append(out, ".0"...)
	}
	return out
}

// Header returns the first record of a session. The document's header has no version.
func (d *Dialect) Header(n dialect.NewSession) ([]byte, error) {
	if err := d.CheckID(n.ID); err != nil {
		return nil, err
	}
	w := dialect.Object(`{"type":` + string(rawjson.Quote(d.header)))
	if d.header == typeHeader {
		w.Add("version", strconv.AppendInt(nil, version, 10))
	}
	w.Str("id", string(n.ID))
	w.Add("timestamp", seconds(n.Time))
	w.Str("cwd", n.CWD)
	w.Optional("parent_session", n.Parent)
	return rawjson.EscapeBreaks(w.End()), nil
}

// EditHeader changes a header. The document's header becomes the program's if the program is to read it; the program's
// becomes the document's only for a new session. The title is a separate entry.
func (d *Dialect) EditHeader(h session.Header, _ []byte, edit dialect.HeaderEdit) (header, slot []byte, err error) {
	raw := h.Raw
	if rawjson.Str(raw, "type") != d.header && (d.header == typeHeader || edit.ID != nil) {
		raw = rawjson.Set(raw, "type", rawjson.Quote(d.header))
		if d.header == typeHeader {
			raw = rawjson.Set(raw, "version", strconv.AppendInt(nil, version, 10))
			// The program reads a file whose header has no time, but not one whose time is not a number.
			if v := rawjson.Get(raw, "timestamp"); v != nil && !dialect.IsNumber(v) {
				if at, ok := h.Timestamp.Time(); ok {
					raw = rawjson.Set(raw, "timestamp", seconds(at))
				} else {
					raw = rawjson.Delete(raw, "timestamp")
				}
			}
		} else {
			raw = rawjson.Delete(raw, "version")
		}
	}
	if edit.ID != nil {
		if err := d.CheckID(*edit.ID); err != nil {
			return nil, nil, err
		}
		raw = rawjson.Set(raw, "id", rawjson.Quote(string(*edit.ID)))
	}
	if edit.Time != nil {
		raw = rawjson.Set(raw, "timestamp", seconds(*edit.Time))
	}
	if edit.CWD != nil {
		raw = rawjson.Set(raw, "cwd", rawjson.EscapeBreaks(rawjson.Quote(*edit.CWD)))
	}
	if edit.Parent != nil && *edit.Parent != "" {
		raw = rawjson.Set(raw, "parent_session", rawjson.EscapeBreaks(rawjson.Quote(*edit.Parent)))
	} else if edit.Parent != nil {
		raw = rawjson.Delete(raw, "parent_session")
	}
	return raw, nil, nil
}

// Record returns the record of a new entry, members in the order of the program or of the document's example.
func (d *Dialect) Record(n dialect.NewEntry) ([]byte, error) {
	kind, ok := d.typeOf(n.Body)
	if !ok {
		return nil, dialect.CannotHold(d.Called, n.Body)
	}
	w := d.envelope(n, kind)
	if m, ok := n.Body.(session.Message); ok && d.strict && rawjson.IsObject(m.JSON) {
		m.JSON = complete(m.JSON, n)
		n.Body = m
	}
	if err := d.members(&w, n.Body); err != nil {
		return nil, err
	}
	return rawjson.EscapeBreaks(w.End()), nil
}

// envelope begins a record with the members that every entry has.
func (d *Dialect) envelope(n dialect.NewEntry, kind string) (w dialect.Object) {
	if d.typeFirst {
		w.Str("type", kind)
		w.Str("id", string(n.ID))
		w.Add("parent_id", d.parent(n.Parent))
		w.Add("timestamp", seconds(n.Time))
		return w
	}
	w.Str("id", string(n.ID))
	w.Add("timestamp", seconds(n.Time))
	w.Optional("parent_id", string(n.Parent))
	w.Str("type", kind)
	return w
}

// parent encodes a parent. For a root it gives null, or nil if a root has no such member.
func (d *Dialect) parent(id session.EntryID) []byte {
	switch {
	case id != "":
		return rawjson.Quote(string(id))
	case d.typeFirst:
		return []byte("null")
	}
	return nil
}

// complete adds the id and the time that the program's messages have: otherwise the program would make up new ones at
// each load. The id is derived from what is unique to the message in its session, because there is no random source here.
func complete(m []byte, n dialect.NewEntry) []byte {
	if rawjson.IsNull(rawjson.Get(m, "id")) {
		m = rawjson.Set(m, "id", rawjson.Quote(messageID(fmt.Sprintf("%d %s %s", n.Time.UnixNano(), n.ID, m))))
	}
	if rawjson.IsNull(rawjson.Get(m, "timestamp")) {
		m = rawjson.Set(m, "timestamp", seconds(n.Time))
	}
	return m
}

// typeOf returns the type of a body; ok is false if the format has none. An Opaque body must not become a header.
func (d *Dialect) typeOf(b session.Body) (typ string, ok bool) {
	switch k := session.KindOf(b); k {
	case session.KindBranchSummary:
		return d.branch, true
	case session.KindCustom:
		return d.custom, true
	case session.KindOpaque:
		o, _ := b.(session.Opaque)
		return o.Type, o.Type != "" && !isHeader([]byte(o.Type))
	default:
		return k.String(), kindOf([]byte(k.String())) != session.KindOpaque
	}
}

// members adds the content of a body.
func (d *Dialect) members(w *dialect.Object, body session.Body) error {
	var errs []error
	raw := func(key string, value session.Raw) {
		if !rawjson.IsNull(value) {
			errs = append(errs, w.Raw(key, value))
		}
	}
	switch b := body.(type) {
	case session.Message:
		if err := d.checkMessage(b.JSON); err != nil {
			return err
		}
		raw("message", b.JSON)
	case session.ThinkingLevelChange:
		// The program drops an entry with an unknown level when it loads the log.
		if d.strict && !slices.Contains(levels, b.Level) {
			return fmt.Errorf("thinking level %q: Operator knows %s", b.Level, strings.Join(levels, ", "))
		}
		w.Str("thinking_level", b.Level)
	case session.ModelChange:
		provider, id := b.Provider, b.ModelID
		if provider == "" && id == "" {
			provider, id, _ = strings.Cut(b.Model, "/")
		}
		w.Str("model_id", id)
		w.Str("provider_id", provider)
	case session.Compaction:
		w.Str("summary", b.Summary)
		w.Str("first_kept_entry_id", string(b.FirstKept))
		if rawjson.IsNull(b.TokensJSON) {
			b.TokensJSON = nil // the program drops a compaction without a count
		}
		raw("tokens_before", b.Tokens())
		raw("details", b.Details)
		w.Add("from_hook", strconv.AppendBool(nil, b.FromExtension != nil && *b.FromExtension))
	case session.BranchSummary:
		w.Str("from_id", string(b.From))
		w.Str("summary", b.Summary)
		raw("details", b.Details)
		w.Add("from_hook", strconv.AppendBool(nil, b.FromExtension != nil && *b.FromExtension))
	case session.Custom:
		w.Str("custom_type", b.Type)
		raw("data", b.Data)
	case session.CustomMessage:
		w.Str("custom_type", b.Type)
		raw("content", blocks(b.Content))
		w.Add("display", strconv.AppendBool(nil, b.Display))
		raw("details", b.Details)
	case session.Label:
		w.Optional("label", b.Label)
		w.Str("target_id", string(b.Target))
	case session.SessionInfo:
		w.Str("name", b.Name)
	case session.Leaf:
		w.Optional("target_id", string(b.Target))
	case session.Opaque:
		w.Others(b.JSON, "type", "id", "parent_id", "timestamp")
	}
	return errors.Join(errs...)
}

// levels are the thinking levels that the program accepts.
var levels = []string{"off", "minimal", "low", "medium", "high", "xhigh", "max"}

// checkMessage returns an error if the program would not read a message back: it drops unknown roles and reads a message without
// "contents" as empty.
func (d *Dialect) checkMessage(m []byte) error {
	if !rawjson.IsObject(m) {
		return errors.New("the message must be a JSON object")
	}
	if !d.strict {
		return nil
	}
	switch role := rawjson.Str(m, "role"); role {
	case "user", "assistant", "tool", "system":
		if !rawjson.IsArray(rawjson.Get(m, "contents")) {
			return fmt.Errorf("the %s message has no list of \"contents\"", role)
		}
	case "custom", "branch_summary", "compaction_summary":
	default:
		return fmt.Errorf("message role %q: Operator knows user, assistant, tool, system, custom, branch_summary and compaction_summary", role)
	}
	return nil
}
