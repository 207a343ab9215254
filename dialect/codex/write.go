package codex

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Writer = (*Dialect)(nil)

// Members of a new session's header that name its writer. The program requires a version: it is the one whose format is written.
const (
	originator = "treeline"
	cliVersion = "0.166.0"
)

// typeCustom is the type of lines that hold an entry of an extension. The program does not know the type and skips such
// lines.
const typeCustom = "treeline_custom"

// typeLeaf is the event that rolls back turns.
const typeLeaf = "thread_rolled_back"

// providerMember is a member of a turn's settings that only treeline uses: the provider of the model. The program has one
// provider for a session, and ignores the member.
const providerMember = "model_provider"

// Habits describes a linear log without labels. Names are kept in another file, see Register.
func (d *Dialect) Habits() dialect.Habits {
	return dialect.Habits{Defer: dialect.DeferMessage, ForkByID: true, ListsByCWD: true, KeepsByRepeating: true}
}

// CheckID returns an error if an id is not a UUID: the program looks for a UUID in the file name.
func (d *Dialect) CheckID(id session.ID) error {
	if !dialect.IsUUID(string(id)) {
		return fmt.Errorf("session id %.80q: Codex knows sessions by a UUID in lower case", id)
	}
	return nil
}

// NewID makes a UUID of version 7, as the program does. The id of an entry is only written as the id of the turn that the entry
// begins; otherwise the log determines the entry's id.
func (d *Dialect) NewID(t time.Time, random io.Reader) (session.ID, error) {
	return dialect.UUIDv7(t, random)
}

// line returns a line of a type.
func line(t time.Time, typ string, payload []byte) []byte {
	var w dialect.Object
	w.Add("timestamp", dialect.ISO(t))
	w.Str("type", typ)
	w.Add("payload", payload)
	return w.End()
}

// Header returns the first line. It has no model_provider: the program refuses a session of a provider other than its own.
func (d *Dialect) Header(n dialect.NewSession) ([]byte, error) {
	var w dialect.Object
	w.Str("session_id", string(n.ID))
	w.Str("id", string(n.ID))
	w.Optional("forked_from_id", threadOf(n.Parent))
	w.Add("timestamp", dialect.ISO(n.Time))
	w.Str("cwd", n.CWD)
	w.Str("originator", originator)
	w.Str("cli_version", cliVersion)
	w.Str("source", "cli")
	return line(n.Time, typeMeta, w.End()), nil
}

// threadOf returns the id of a session that is named by its id or by the path of its log.
func threadOf(parent string) string {
	if parent == "" || dialect.IsUUID(parent) {
		return parent
	}
	if id, _ := (layout{}).Named(strings.ReplaceAll(parent, `\`, "/")); dialect.IsUUID(string(id)) {
		return string(id)
	}
	return ""
}

// EditHeader changes the header, and adds members that the program requires. The header has no name. A copy is a separate session: it
// does not belong to the agent that started the original one.
func (d *Dialect) EditHeader(h session.Header, _ []byte, edit dialect.HeaderEdit) (header, slot []byte, err error) {
	raw := completed(h.Raw)
	payload := rawjson.Get(raw, "payload")
	if edit.ID != nil {
		if err := d.CheckID(*edit.ID); err != nil {
			return nil, nil, err
		}
		id := rawjson.Quote(string(*edit.ID))
		if rawjson.Get(payload, "session_id") != nil {
			payload = rawjson.Set(payload, "session_id", id)
		}
		payload = rawjson.Set(payload, "id", id)
	}
	if edit.Time != nil {
		payload = rawjson.Set(payload, "timestamp", dialect.ISO(*edit.Time))
		raw = rawjson.Set(raw, "timestamp", dialect.ISO(*edit.Time))
	}
	payload = dialect.SetText(payload, "cwd", edit.CWD, true)
	if edit.Parent != nil {
		payload = dialect.SetText(payload, "forked_from_id", new(threadOf(*edit.Parent)), false)
	}
	if edit.Whole {
		payload = rawjson.Delete(payload, "history_base")
	}
	return rawjson.Set(raw, "payload", payload), nil, nil
}

// Record returns the line of a new entry. Frame adds what depends on the log.
func (d *Dialect) Record(n dialect.NewEntry) ([]byte, error) {
	switch b := n.Body.(type) {
	case session.Message:
		if err := checkItem(b.JSON); err != nil {
			return nil, err
		}
		return line(n.Time, typeItem, rawjson.Compact(rawjson.Delete(b.JSON, usedMember))), nil
	case session.ModelChange:
		return line(n.Time, typeTurnContext, turnContext(n, b)), nil
	case session.Compaction:
		return compaction(n, b)
	case session.Leaf:
		// Frame sets the number of turns.
		return line(n.Time, typeEvent, rolledBack(0)), nil
	case session.Custom:
		return custom(n, b)
	case session.Opaque:
		if b.Type == "" || b.Type == typeMeta || !rawjson.IsObject(b.JSON) || !rawjson.Valid(b.JSON) {
			return nil, errors.New("the line is not that of an entry")
		}
		w := dialect.Object(`{"timestamp":`)
		w = append(w, dialect.ISO(n.Time)...)
		w.Str("type", b.Type)
		w.Others(b.JSON, "timestamp", "ordinal", "type")
		return w.End(), nil
	}
	return nil, dialect.CannotHold("codex", n.Body)
}

// checkItem returns an error if the program would not read an item back.
func checkItem(m []byte) error {
	if !rawjson.IsObject(m) || !rawjson.Valid(m) {
		return errors.New("the message must be a JSON object")
	}
	kind := rawjson.Str(m, "type")
	if _, ok := itemOf(session.Entry{}, m); ok {
		return nil
	}
	switch kind {
	case "":
		return errors.New("the message has no type: a message of Codex is an item of the Responses API, such as " +
			`{"type":"message","role":"user","content":[{"type":"input_text","text":"…"}]}`)
	case "message":
		return errors.New("the message would be dropped by Codex: its content must be a list of input_text, output_text, input_image and input_audio, and its role must not be system")
	}
	return fmt.Errorf("an item of the type %q would be dropped by Codex in this form", kind)
}

// turnContext returns the settings of a turn: the model, and the other members that the program requires. Frame copies the other settings
// from the turn before; the ones here allow nothing without approval.
func turnContext(n dialect.NewEntry, b session.ModelChange) []byte {
	model := b.ModelID
	if model == "" {
		_, model, _ = strings.Cut(b.Model, "/")
	}
	cwd := "/"
	if n.Header != nil && n.Header.CWD != "" {
		cwd = n.Header.CWD
	}
	var w dialect.Object
	w.Str("cwd", cwd)
	w.Str("approval_policy", "on-request")
	w.Add("sandbox_policy", []byte(`{"type":"read-only"}`))
	w.Str("model", model)
	w.Str("summary", "auto")
	if b.Provider != "openai" {
		w.Optional(providerMember, b.Provider)
	}
	return w.End()
}

// compaction returns the line of a compaction. Its replacement is the summary alone, or the one in the details.
func compaction(n dialect.NewEntry, b session.Compaction) ([]byte, error) {
	if b.FirstKept != "" {
		return nil, dialect.CannotKeep("codex")
	}
	var w dialect.Object
	w.Str("message", b.Summary)
	if rawjson.IsObject(b.Details) && rawjson.Valid(b.Details) && rawjson.Str(b.Details, "message") == b.Summary {
		w.Others(b.Details, "message") // the details come from a log of codex
		return line(n.Time, typeCompacted, w.End()), nil
	}
	var history [][]byte
	if strings.TrimSpace(b.Summary) != "" { // no provider accepts an empty message
		history = append(history, said("user", dialect.Array([][]byte{inputText(b.Summary)})))
	}
	w.Add("replacement_history", dialect.Array(history))
	if !rawjson.IsNull(b.Details) {
		if err := w.Raw("details", b.Details); err != nil {
			return nil, err
		}
	}
	return line(n.Time, typeCompacted, w.End()), nil
}

// rolledBack is the event that rolls back the last n turns.
func rolledBack(n int) []byte {
	return fmt.Appendf(nil, `{"type":"thread_rolled_back","num_turns":%d}`, n)
}

// custom returns the line of an event of the program, or of an entry of an extension.
func custom(n dialect.NewEntry, b session.Custom) ([]byte, error) {
	if b.Data != nil && !rawjson.Valid(b.Data) {
		return nil, errors.New("data is not JSON")
	}
	data := rawjson.Compact(b.Data)
	switch {
	case b.Type == "":
		return nil, errors.New("the custom entry has no type")
	case b.Type == typeLeaf:
		return nil, fmt.Errorf("the event %s as a custom entry is %w: move the leaf instead", b.Type, dialect.ErrUnsupported)
	case rawjson.IsObject(data) && rawjson.Str(data, "type") == b.Type:
		return line(n.Time, typeEvent, data), nil
	case rawjson.IsObject(data) && isState(b.Type):
		return line(n.Time, b.Type, data), nil
	}
	var w dialect.Object
	w.Str("type", b.Type)
	if data != nil {
		w.Add("data", data)
	}
	return line(n.Time, typeCustom, w.End()), nil
}

// isState reports whether lines of a type hold state of the program that the model does not see.
func isState(typ string) bool {
	return typ == "world_state" || typ == "token_usage_record" || typ == "security_risk_score"
}
