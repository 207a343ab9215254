package copilot

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var (
	_ dialect.Writer  = (*Dialect)(nil)
	_ dialect.Namer   = (*Dialect)(nil)
	_ dialect.Editor  = (*Dialect)(nil)
	_ dialect.Adopter = (*Dialect)(nil)
)

// programVersion is the version whose format is written.
const programVersion = "1.0.102"

// Habits describes a linear log in a folder of its own.
func (d *Dialect) Habits() dialect.Habits {
	return dialect.Habits{
		Defer: dialect.DeferMessage, RenameByEntry: true, ForkByID: true, ListsByCWD: true, DropsEmptyFolders: true,
		KeepsByRepeating: true, ForgetsThinking: true, PlainResults: true, SumsInOwnWords: true,
	}
}

// CheckID returns an error if an id is not valid: it is the name of a folder, and the program resumes only UUIDs.
func (d *Dialect) CheckID(id session.ID) error {
	if !dialect.IsAnyUUID(id) {
		return fmt.Errorf("session id %.80q: Copilot CLI resumes only UUIDs", id)
	}
	return nil
}

// event is a line of the log.
func event(typ string, data []byte, id, parent string, at time.Time) []byte {
	w := dialect.Object(message(typ, data))
	w = w[:len(w)-1]
	w.Str("id", id)
	w.Add("timestamp", dialect.ISO(at))
	w.Add("parentId", parentOf(parent))
	return w.End()
}

// parentOf encodes a parent. The program requires a UUID or null, and ignores it.
func parentOf(parent string) []byte {
	if !dialect.IsAnyUUID(parent) {
		return []byte("null")
	}
	return rawjson.Quote(parent)
}

// Header returns the event that begins a session. Its id is that of the session: only the next event refers to it.
func (d *Dialect) Header(n dialect.NewSession) ([]byte, error) {
	if err := d.CheckID(n.ID); err != nil {
		return nil, err
	}
	var place, data dialect.Object
	place.Str("cwd", n.CWD)
	data.Str("sessionId", string(n.ID))
	data.Add("version", []byte("1"))
	data.Str("producer", "copilot-agent")
	data.Str("copilotVersion", programVersion)
	data.Add("startTime", dialect.ISO(n.Time))
	data.Add("context", place.End())
	data.Optional(parentMember, n.Parent)
	return event(typeStart, data.End(), string(n.ID), "", n.Time), nil
}

// EditHeader changes members of the first event.
func (d *Dialect) EditHeader(h session.Header, _ []byte, edit dialect.HeaderEdit) (header, slot []byte, err error) {
	raw, data := h.Raw, rawjson.Get(h.Raw, "data")
	if edit.ID != nil {
		if err := d.CheckID(*edit.ID); err != nil {
			return nil, nil, err
		}
		data = rawjson.Set(data, "sessionId", rawjson.Quote(string(*edit.ID)))
	}
	if edit.Time != nil {
		data = rawjson.Set(data, "startTime", dialect.ISO(*edit.Time))
	}
	if edit.CWD != nil {
		place := rawjson.Get(data, "context")
		if !rawjson.IsObject(place) {
			place = []byte("{}")
		}
		data = rawjson.Set(data, "context", rawjson.Set(place, "cwd", rawjson.Quote(*edit.CWD)))
	}
	data = dialect.SetText(data, parentMember, edit.Parent, false)
	return rawjson.Set(raw, "data", data), nil, nil
}

// SetID gives an event another id.
func (d *Dialect) SetID(record []byte, id session.EntryID) ([]byte, error) {
	return rawjson.Set(record, "id", rawjson.Quote(string(id))), nil
}

// Rechain gives an event another parent, which the program ignores.
func (d *Dialect) Rechain(record []byte, parent, _ session.EntryID) ([]byte, error) {
	return rawjson.Set(record, "parentId", parentOf(string(parent))), nil
}

// SetArguments changes the arguments of one call.
func (d *Dialect) SetArguments(record []byte, callID string, arguments []byte) ([]byte, bool, error) {
	if !rawjson.Valid(arguments) {
		return nil, false, errors.New("the arguments are not JSON")
	}
	found := false
	data := rawjson.Get(record, "data")
	calls := rawjson.MapElements(rawjson.Get(data, "toolRequests"), func(c []byte) []byte {
		if rawjson.Str(c, "toolCallId") == callID {
			found = true
			return rawjson.Set(c, "arguments", rawjson.Compact(arguments))
		}
		return c
	})
	if !found {
		return record, false, nil
	}
	return rawjson.Set(record, "data", rawjson.Set(data, "toolRequests", calls)), true, nil
}

// Adopt keeps unknown members.
func (d *Dialect) Adopt(record, given []byte) []byte {
	return dialect.AdoptMembers(record, given, "id", "parentId", "timestamp", "agentId")
}

// Record returns the line of a new entry.
func (d *Dialect) Record(n dialect.NewEntry) ([]byte, error) {
	typ, data, err := content(n)
	if err != nil {
		return nil, err
	}
	return event(typ, data, string(n.ID), string(n.Parent), n.Time), nil
}

// content returns the type and the data of a new entry.
func content(n dialect.NewEntry) (typ string, data []byte, err error) {
	switch b := n.Body.(type) {
	case session.Message:
		return messageContent(n, b)
	case session.SessionInfo:
		var w dialect.Object
		w.Str("title", b.Name)
		return typeTitle, w.End(), nil
	case session.ModelChange:
		var w dialect.Object
		w.Str("newModel", b.ModelID)
		if b.Provider != providerOf(b.ModelID) {
			w.Optional(providerMember, b.Provider)
		}
		return typeModel, w.End(), nil
	case session.Compaction:
		return compaction(b)
	case session.BranchSummary:
		var w dialect.Object
		w.Str("from", string(b.From))
		err := w.Raw("details", b.Details)
		return typeUser, rawjson.Set(text(b.Summary), insertedMember, w.End()), err
	case session.CustomMessage:
		if !rawjson.IsObject(b.Content) || !rawjson.Valid(b.Content) || !rawjson.IsString(rawjson.Get(b.Content, "content")) {
			return "", nil, errors.New(`the content must be an object such as {"content":"…"}`)
		}
		var w dialect.Object
		w.Str("type", b.Type)
		w.Add("display", strconv.AppendBool(nil, b.Display))
		w.Optional("attribution", b.Attribution)
		err := w.Raw("details", b.Details)
		return typeUser, rawjson.Set(rawjson.Compact(b.Content), insertedMember, w.End()), err
	case session.Custom:
		return custom(b)
	case session.Opaque:
		typ, data := rawjson.Str(b.JSON, "type"), rawjson.Get(b.JSON, "data")
		if !rawjson.Valid(b.JSON) || typ == "" || typ == typeStart || !rawjson.IsObject(data) {
			return "", nil, errors.New("the event is not that of an entry: it needs a type and an object as data")
		}
		return typ, rawjson.Compact(data), nil
	}
	return "", nil, dialect.CannotHold("copilot", n.Body)
}

// messageContent checks a message: if it lacks a required member, the program refuses the whole session.
func messageContent(n dialect.NewEntry, b session.Message) (typ string, data []byte, err error) {
	if !rawjson.IsObject(b.JSON) || !rawjson.Valid(b.JSON) {
		return "", nil, errors.New("the message must be a JSON object")
	}
	typ, data = rawjson.Str(b.JSON, "type"), rawjson.Compact(rawjson.Get(b.JSON, "data"))
	switch typ {
	case typeUser, typeAnswer, typeResult, typeNotification:
	default:
		return "", nil, fmt.Errorf(`the message must be an event such as {"type":%q,"data":{"content":"…"}}`, typeUser)
	}
	if typ == typeAnswer && rawjson.IsObject(data) && rawjson.Get(data, "messageId") == nil {
		data = rawjson.Set(data, "messageId", rawjson.Quote(string(n.ID)))
	}
	if wrong := violation(typ, data); wrong != "" {
		return "", nil, fmt.Errorf("the session would be refused by Copilot CLI: %s", wrong)
	}
	return typ, data, nil
}

// compaction returns the event that replaces what came before it by a summary.
func compaction(b session.Compaction) (typ string, data []byte, err error) {
	if rawjson.IsObject(b.Details) && rawjson.Valid(b.Details) && rawjson.Str(b.Details, "summaryContent") == b.Summary && string(rawjson.Get(b.Details, "success")) == "true" {
		return typeCompaction, rawjson.Compact(b.Details), nil // the details come from a log of the program
	}
	if b.FirstKept != "" {
		return "", nil, dialect.CannotKeep("copilot")
	}
	if b.Summary == "" {
		return "", nil, errors.New("a compaction of copilot needs a summary: without one it has no effect")
	}
	var w dialect.Object
	w.Add("success", []byte("true"))
	if tokens := b.Tokens(); dialect.IsNumber(tokens) {
		w.Add("preCompactionTokens", tokens)
	}
	w.Str("summaryContent", b.Summary)
	return typeCompaction, w.End(), nil
}

// custom returns an event of an extension, or one of the program as it was read.
func custom(b session.Custom) (typ string, data []byte, err error) {
	if b.Data != nil && !rawjson.Valid(b.Data) {
		return "", nil, errors.New("data is not JSON")
	}
	data = rawjson.Compact(b.Data)
	switch b.Type {
	case "":
		return "", nil, errors.New("the custom entry has no type")
	case "assistant.turn_start", "assistant.turn_end", "tool.execution_start", "system.message", typeResume, typeUsage, typeCleared:
		if rawjson.IsObject(data) && violation(b.Type, data) == "" {
			return b.Type, data, nil
		}
	}
	var w dialect.Object
	w.Str("type", b.Type)
	if data != nil {
		w.Add("data", data)
	}
	return typeCustom, w.End(), nil
}
