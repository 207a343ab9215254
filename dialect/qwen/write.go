package qwen

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/contents"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var (
	_ dialect.Writer  = (*Dialect)(nil)
	_ dialect.Stamper = (*Dialect)(nil)
	_ dialect.Besider = (*Dialect)(nil)
	_ dialect.Namer   = (*Dialect)(nil)
	_ dialect.Editor  = (*Dialect)(nil)
	_ dialect.Adopter = (*Dialect)(nil)
)

// programVersion is the version whose format is written.
const programVersion = "0.24.4"

// Habits describes a tree in which system lines name the session and the leaf.
func (d *Dialect) Habits() dialect.Habits {
	return dialect.Habits{
		Defer: dialect.DeferMessage, Branches: true, RenameByEntry: true, ForkByID: true, ListsByCWD: true, KeepsByRepeating: true, PlainResults: true, LeafType: subRewind,
	}
}

// CheckID returns an error if an id is not valid: the program looks for files whose names are 32 to 36 hex digits and dashes.
func (d *Dialect) CheckID(id session.ID) error {
	valid := len(id) >= 32 && len(id) <= 36
	for _, c := range []byte(id) {
		valid = valid && (c == '-' || c >= '0' && c <= '9' || c|' ' >= 'a' && c|' ' <= 'f')
	}
	if !valid {
		return fmt.Errorf("session id %.80q: Qwen Code resumes only UUIDs", id)
	}
	return nil
}

// line is a line of the program without its content.
func line(id, parent string, h *session.Header, at time.Time, typ, provenance string) dialect.Object {
	var w dialect.Object
	w.Str("uuid", id)
	up := []byte("null")
	if parent != "" {
		up = rawjson.Quote(parent)
	}
	w.Add("parentUuid", up)
	if h == nil {
		h = &session.Header{}
	}
	w.Str("sessionId", string(h.ID))
	w.Add("timestamp", dialect.ISO(at))
	w.Str("type", typ)
	w.Str("provenance", provenance)
	w.Str("cwd", h.CWD)
	w.Str("version", programVersion)
	return w
}

// Header returns a system line that has no meaning to the program. Its own sessions have no such line; without it, the working directory of
// a session that has no message yet would be unknown.
func (d *Dialect) Header(n dialect.NewSession) ([]byte, error) {
	if err := d.CheckID(n.ID); err != nil {
		return nil, err
	}
	w := line("treeline-"+string(n.ID), "", &session.Header{ID: n.ID, CWD: n.CWD}, n.Time, typeSystem, typeSystem)
	w.Str("subtype", subHeader)
	if n.Parent != "" {
		w.Add("forkedFrom", source(n.Parent, ""))
	}
	return w.End(), nil
}

// source names the session and the entry that something was copied from.
func source(parent, uuid string) []byte {
	var w dialect.Object
	w.Str("sessionId", parent)
	w.Optional("messageUuid", uuid)
	return w.End()
}

// EditHeader changes the line that serves as the header. The method Copy changes all other lines of a copy.
func (d *Dialect) EditHeader(h session.Header, _ []byte, edit dialect.HeaderEdit) (header, slot []byte, err error) {
	raw := h.Raw
	if edit.ID != nil {
		if err := d.CheckID(*edit.ID); err != nil {
			return nil, nil, err
		}
		raw = rawjson.Set(raw, "sessionId", rawjson.Quote(string(*edit.ID)))
	}
	raw = dialect.SetText(raw, "cwd", edit.CWD, true)
	if edit.Parent != nil {
		if *edit.Parent == "" {
			raw = rawjson.Delete(raw, "forkedFrom")
		} else {
			raw = rawjson.Set(raw, "forkedFrom", source(*edit.Parent, ""))
		}
	}
	return raw, nil, nil
}

// Copy gives a line the session and the working directory of the copy, and names its source.
func (d *Dialect) Copy(record []byte, from session.Header, to dialect.NewSession) []byte {
	if rawjson.Get(record, "sessionId") == nil {
		return record
	}
	record = rawjson.Set(record, "sessionId", rawjson.Quote(string(to.ID)))
	if to.CWD != "" && rawjson.Get(record, "cwd") != nil {
		record = rawjson.Set(record, "cwd", rawjson.Quote(to.CWD))
	}
	if to.Parent != "" {
		record = rawjson.Set(record, "forkedFrom", source(string(from.ID), rawjson.Str(record, "uuid")))
	}
	return record
}

// Beside reports whether nothing can follow a line: it has no uuid, or is about artifacts or the title.
func (d *Dialect) Beside(record []byte) bool {
	if rawjson.Str(record, "uuid") == "" {
		return true
	}
	switch rawjson.Str(record, "subtype") {
	case subTitle, "session_artifact_event", "session_artifact_snapshot", "session_sources_snapshot":
		return rawjson.Str(record, "type") == typeSystem
	}
	return false
}

// SetID gives a line another uuid.
func (d *Dialect) SetID(record []byte, id session.EntryID) ([]byte, error) {
	return rawjson.Set(record, "uuid", rawjson.Quote(string(id))), nil
}

// Rechain gives a line another parent.
func (d *Dialect) Rechain(record []byte, parent, _ session.EntryID) ([]byte, error) {
	up := []byte("null")
	if parent != "" {
		up = rawjson.Quote(string(parent))
	}
	return rawjson.Set(record, "parentUuid", up), nil
}

// SetArguments changes the arguments of one call.
func (d *Dialect) SetArguments(record []byte, callID string, arguments []byte) ([]byte, bool, error) {
	if !rawjson.IsObject(arguments) || !rawjson.Valid(arguments) {
		return nil, false, errors.New("the arguments are not a JSON object")
	}
	found := false
	message := rawjson.Get(record, "message")
	parts := rawjson.MapElements(rawjson.Get(message, "parts"), func(part []byte) []byte {
		if call := rawjson.Get(part, contents.Call); rawjson.IsObject(call) && rawjson.Str(call, "id") == callID {
			found = true
			return rawjson.Set(part, contents.Call, rawjson.Set(call, "args", rawjson.Compact(arguments)))
		}
		return part
	})
	if !found {
		return record, false, nil
	}
	return rawjson.Set(record, "message", rawjson.Set(message, "parts", parts)), true, nil
}

// Adopt keeps unknown members.
func (d *Dialect) Adopt(record, given []byte) []byte {
	return dialect.AdoptMembers(record, given, "uuid", "parentUuid", "sessionId", "timestamp", "cwd", "version", "forkedFrom")
}

// Record returns the line of a new entry. The program takes U+2028 and U+2029 as ends of lines, so they are escaped.
func (d *Dialect) Record(n dialect.NewEntry) ([]byte, error) {
	record, err := recordOf(n)
	return rawjson.EscapeBreaks(record), err
}

func recordOf(n dialect.NewEntry) ([]byte, error) {
	switch b := n.Body.(type) {
	case session.Message:
		return messageRecord(n, b)
	case session.SessionInfo:
		var payload dialect.Object
		payload.Str("customTitle", b.Name)
		payload.Str("titleSource", "manual")
		return system(n, subTitle, payload.End()), nil
	case session.Compaction:
		return compaction(n, b)
	case session.BranchSummary:
		var payload dialect.Object
		payload.Str("from", string(b.From))
		if err := payload.Raw("details", b.Details); err != nil {
			return nil, err
		}
		return inserted(n, subBranch, dialect.Array([][]byte{contents.Text(b.Summary)}), payload.End())
	case session.CustomMessage:
		var payload dialect.Object
		payload.Str("type", b.Type)
		payload.Add("display", strconv.AppendBool(nil, b.Display))
		payload.Optional("attribution", b.Attribution)
		if err := payload.Raw("details", b.Details); err != nil {
			return nil, err
		}
		return inserted(n, subMessage, b.Content, payload.End())
	case session.Custom:
		return custom(n, b)
	case session.Opaque:
		if !rawjson.IsObject(b.JSON) || !rawjson.Valid(b.JSON) || rawjson.Str(b.JSON, "subtype") == subHeader {
			return nil, errors.New("the line is not that of an entry")
		}
		w := line(string(n.ID), string(n.Parent), n.Header, n.Time, cmp.Or(rawjson.Str(b.JSON, "type"), b.Type), typeSystem)
		w.Others(b.JSON, "uuid", "parentUuid", "sessionId", "timestamp", "type", "provenance", "cwd", "version")
		return w.End(), nil
	}
	return nil, dialect.CannotHold("qwen", n.Body)
}

// system is a line of type "system".
func system(n dialect.NewEntry, subtype string, payload []byte) []byte {
	w := line(string(n.ID), string(n.Parent), n.Header, n.Time, typeSystem, typeSystem)
	w.Str("subtype", subtype)
	if payload != nil {
		w.Add("systemPayload", payload)
	}
	return w.End()
}

// inserted is a line in the user's name that an extension wrote. The program sends it, whatever its subtype is.
func inserted(n dialect.NewEntry, subtype string, content, payload []byte) ([]byte, error) {
	if !rawjson.Valid(content) {
		return nil, errors.New("the content is not JSON")
	}
	w := line(string(n.ID), string(n.Parent), n.Header, n.Time, typeUser, typeSystem)
	w.Str("subtype", subtype)
	w.Add("message", contents.Make(contents.User, contents.List(rawjson.Compact(content))))
	w.Add("systemPayload", payload)
	return w.End(), nil
}

// messageRecord returns the line of a content. The usage and the model of an answer are beside the content.
func messageRecord(n dialect.NewEntry, b session.Message) ([]byte, error) {
	if !rawjson.IsObject(b.JSON) || !rawjson.Valid(b.JSON) {
		return nil, errors.New("the message must be a JSON object")
	}
	role := rawjson.Str(b.JSON, "role")
	if role != contents.User && role != contents.Model || !rawjson.IsArray(rawjson.Get(b.JSON, "parts")) {
		return nil, errors.New(`the message would be dropped by Qwen Code: it must have the role user or model, and parts such as {"text":"…"}`)
	}
	typ, provenance := typeUser, "real_user"
	switch contents.Role(b.JSON) {
	case session.RoleAssistant:
		typ, provenance = typeAssistant, "assistant_output"
	case session.RoleTool:
		typ, provenance = typeResult, typeResult
	}
	if b.Meta {
		provenance = typeSystem
	}
	w := line(string(n.ID), string(n.Parent), n.Header, n.Time, typ, provenance)
	var m dialect.Object
	m.Others(b.JSON, "model", "usageMetadata", providerMember)
	w.Add("message", m.End())
	w.Copy(b.JSON, "model", providerMember, "usageMetadata")
	return w.End(), nil
}

// compaction returns the line that replaces what came before it by a summary.
func compaction(n dialect.NewEntry, b session.Compaction) ([]byte, error) {
	if rawjson.IsObject(b.Details) && rawjson.Valid(b.Details) && rawjson.IsArray(rawjson.Get(b.Details, "compressedHistory")) {
		return system(n, subCompression, rawjson.Compact(b.Details)), nil // the details come from a log of the program
	}
	if b.FirstKept != "" {
		return nil, dialect.CannotKeep("qwen")
	}
	var info, payload dialect.Object
	if tokens := b.Tokens(); dialect.IsNumber(tokens) {
		info.Add("originalTokenCount", tokens)
	}
	info.Add("newTokenCount", []byte("0"))
	info.Add("compressionStatus", []byte("1"))
	payload.Add("info", info.End())
	payload.Add("compressedHistory", dialect.Array([][]byte{contents.Make(contents.User, [][]byte{contents.Text(b.Summary)})}))
	return system(n, subCompression, payload.End()), nil
}

// custom returns a system line: one of the program, or one of an extension.
func custom(n dialect.NewEntry, b session.Custom) ([]byte, error) {
	if b.Data != nil && !rawjson.Valid(b.Data) {
		return nil, errors.New("data is not JSON")
	}
	data := rawjson.Compact(b.Data)
	switch b.Type {
	case "":
		return nil, errors.New("the custom entry has no type")
	case subRewind:
		if !rawjson.IsObject(data) {
			data = []byte(`{"truncatedCount":0}`)
		}
		return system(n, b.Type, data), nil
	case "ui_telemetry", "attribution_snapshot", subCommand, "at_command", "session_model", "session_source", "file_history_snapshot", "turn_result":
		if rawjson.IsObject(data) {
			return system(n, b.Type, data), nil
		}
	}
	var payload dialect.Object
	payload.Str("type", b.Type)
	if data != nil {
		payload.Add("data", data)
	}
	return system(n, subCustom, payload.End()), nil
}
