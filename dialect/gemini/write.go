package gemini

import (
	"errors"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/contents"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var (
	_ dialect.Writer  = (*Dialect)(nil)
	_ dialect.Stamper = (*Dialect)(nil)
)

// Habits describes a linear log without labels.
func (d *Dialect) Habits() dialect.Habits {
	return dialect.Habits{Defer: dialect.DeferMessage, ForkByID: true, ListsByCWD: true, RenameByEntry: true, KeepsByRepeating: true, ForgetsThinking: true}
}

// CheckID returns an error if an id is not valid in a file name.
func (d *Dialect) CheckID(id session.ID) error { return dialect.CheckFileID(id) }

// Header returns the first line. The program writes directories only for a sub-agent, and adds those that it finds in a header to its
// workspace; here they hold the working directory.
func (d *Dialect) Header(n dialect.NewSession) ([]byte, error) {
	var w dialect.Object
	w.Str("sessionId", string(n.ID))
	w.Str("projectHash", hashOf(n.CWD))
	w.Add("startTime", dialect.ISO(n.Time))
	w.Add("lastUpdated", dialect.ISO(n.Time))
	w.Str("kind", "main")
	if n.CWD != "" {
		w.Add("directories", dialect.Array([][]byte{rawjson.Quote(n.CWD)}))
	}
	w.Optional("summary", n.Title)
	w.Optional(parentMember, n.Parent)
	return w.End(), nil
}

// EditHeader changes the header. A copy is a separate session, not that of a sub-agent.
func (d *Dialect) EditHeader(h session.Header, _ []byte, edit dialect.HeaderEdit) (header, slot []byte, err error) {
	raw := h.Raw
	if edit.ID != nil {
		if err := d.CheckID(*edit.ID); err != nil {
			return nil, nil, err
		}
		raw = rawjson.Set(raw, "sessionId", rawjson.Quote(string(*edit.ID)))
	}
	if edit.Time != nil {
		raw = rawjson.Set(raw, "startTime", dialect.ISO(*edit.Time))
	}
	if edit.CWD != nil && *edit.CWD != cwdOf(raw) {
		raw = rawjson.Set(raw, "projectHash", rawjson.Quote(hashOf(*edit.CWD)))
		raw = rawjson.Set(raw, "directories", dialect.Array([][]byte{rawjson.Quote(*edit.CWD)}))
	}
	raw = dialect.SetText(raw, "summary", edit.Title, false)
	raw = dialect.SetText(raw, parentMember, edit.Parent, false)
	if edit.Copy && rawjson.Str(raw, "kind") == kindTask {
		raw = rawjson.Set(raw, "kind", []byte(`"main"`))
	}
	return raw, nil, nil
}

// Copy replaces the session id in a record that names its session.
func (d *Dialect) Copy(record []byte, from session.Header, to dialect.NewSession) []byte {
	id := rawjson.Quote(string(to.ID))
	if rawjson.Str(record, "sessionId") == string(from.ID) && rawjson.Get(record, "id") == nil {
		record = rawjson.Set(record, "sessionId", id)
	}
	if set := rawjson.Get(record, typeSet); rawjson.IsObject(set) && rawjson.Str(set, "sessionId") == string(from.ID) {
		record = rawjson.Set(record, typeSet, rawjson.Set(set, "sessionId", id))
	}
	return record
}

// Record returns the line of a new entry. Frame adds what depends on the log. The program takes U+2028 and U+2029 as ends of
// lines, so they are escaped.
func (d *Dialect) Record(n dialect.NewEntry) ([]byte, error) {
	record, err := recordOf(n)
	return rawjson.EscapeBreaks(record), err
}

func recordOf(n dialect.NewEntry) ([]byte, error) {
	switch b := n.Body.(type) {
	case session.Message:
		return messageRecord(n, b.JSON)
	case session.SessionInfo:
		var w dialect.Object
		w.Str("summary", b.Name)
		w.Add("lastUpdated", dialect.ISO(n.Time))
		return set(w.End()), nil
	case session.Compaction:
		return compacted(n, b)
	case session.Leaf:
		var w dialect.Object
		w.Str(typeRewind, "") // Frame sets the message
		return w.End(), nil
	case session.Custom:
		return custom(n, b)
	case session.Opaque:
		return opaque(n, b)
	}
	return nil, dialect.CannotHold("gemini", n.Body)
}

// set is a line that sets members of the header.
func set(members []byte) []byte {
	var w dialect.Object
	w.Add(typeSet, members)
	return w.End()
}

// messageRecord returns the line of a message, which is either one of the program without id and time, or a content.
func messageRecord(n dialect.NewEntry, m []byte) ([]byte, error) {
	if !rawjson.IsObject(m) || !rawjson.Valid(m) {
		return nil, errors.New("the message must be a JSON object")
	}
	typ, content := rawjson.Str(m, "type"), rawjson.Get(m, "content")
	switch role := rawjson.Str(m, "role"); {
	case typ == "" && (role == contents.User || role == contents.Model) && rawjson.IsArray(rawjson.Get(m, "parts")):
		if typ = typeUser; role == contents.Model {
			typ = typeAnswer
		}
		content = rawjson.Get(m, "parts")
	case typ != typeUser && typ != typeAnswer:
		return nil, errors.New(`the message would be dropped by Gemini CLI: it is {"type":"user","content":[{"text":"…"}]}, or of the type gemini, or a content with role and parts`)
	case content == nil && rawjson.Get(m, "toolCalls") == nil:
		return nil, errors.New("the message has no content")
	}
	if content == nil {
		content = []byte(`""`)
	}
	var w dialect.Object
	w.Str("id", string(n.ID))
	w.Add("timestamp", dialect.ISO(n.Time))
	w.Str("type", typ)
	w.Add("content", rawjson.Compact(content))
	w.Others(m, "id", "timestamp", "type", "content", "role", "parts")
	return w.End(), nil
}

// compacted returns the line that replaces the conversation by a summary.
func compacted(n dialect.NewEntry, b session.Compaction) ([]byte, error) {
	if rawjson.IsObject(b.Details) && rawjson.Valid(b.Details) && rawjson.IsArray(rawjson.Get(rawjson.Get(b.Details, typeSet), "messages")) {
		return rawjson.Compact(b.Details), nil // the details come from a log of the program
	}
	if b.FirstKept != "" {
		return nil, dialect.CannotKeep("gemini")
	}
	var m, w dialect.Object
	m.Str("id", string(n.ID))
	m.Add("timestamp", dialect.ISO(n.Time))
	m.Str("type", typeUser)
	m.Add("content", dialect.Array([][]byte{contents.Text(b.Summary)}))
	w.Add("messages", dialect.Array([][]byte{m.End()}))
	w.Add("lastUpdated", dialect.ISO(n.Time))
	return set(w.End()), nil
}

// custom returns the line of a note of the program, or of an entry of an extension. The program skips unknown
// lines.
func custom(n dialect.NewEntry, b session.Custom) ([]byte, error) {
	if b.Data != nil && !rawjson.Valid(b.Data) {
		return nil, errors.New("data is not JSON")
	}
	data := rawjson.Compact(b.Data)
	switch {
	case b.Type == "":
		return nil, errors.New("the custom entry has no type")
	case (b.Type == "info" || b.Type == "error" || b.Type == "warning") && rawjson.Get(data, "content") != nil:
		var w dialect.Object
		w.Str("id", string(n.ID))
		w.Add("timestamp", dialect.ISO(n.Time))
		w.Str("type", b.Type)
		w.Others(data, "id", "timestamp", "type")
		return w.End(), nil
	case b.Type == typeSet && rawjson.IsObject(rawjson.Get(data, typeSet)) && rawjson.Get(rawjson.Get(data, typeSet), "messages") == nil:
		return data, nil
	}
	var c, w dialect.Object
	c.Str("type", b.Type)
	if data != nil {
		c.Add("data", data)
	}
	w.Add(typeCustom, c.End())
	w.Add("timestamp", dialect.ISO(n.Time))
	return w.End(), nil
}

// opaque returns the line of a message of an unknown type, or a line that the program does not know.
func opaque(n dialect.NewEntry, b session.Opaque) ([]byte, error) {
	if !rawjson.IsObject(b.JSON) || !rawjson.Valid(b.JSON) || isHeader(b.JSON) || rawjson.Get(b.JSON, typeSet) != nil || rawjson.Get(b.JSON, typeRewind) != nil {
		return nil, errors.New("the line is not that of an entry")
	}
	if !rawjson.IsString(rawjson.Get(b.JSON, "id")) {
		return rawjson.Compact(b.JSON), nil
	}
	var w dialect.Object
	w.Str("id", string(n.ID))
	w.Add("timestamp", dialect.ISO(n.Time))
	w.Others(b.JSON, "id", "timestamp")
	return w.End(), nil
}
