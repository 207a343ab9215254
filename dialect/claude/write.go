package claude

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/claude/blocks"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var (
	_ dialect.Writer   = (*Dialect)(nil)
	_ dialect.Spreader = (*Dialect)(nil)
	_ dialect.Besider  = (*Dialect)(nil)
)

// Values in the records of a new session that the log does not give.
const (
	programVersion = "2.1.325" // the version whose format is written
	noBranch       = "HEAD"    // what the program writes outside of git
)

// Types of lines, and members, that the program does not know and ignores.
const (
	typeHeader = "treeline-session"
	typeLabel  = "treeline-label"
	memberData = "treelineData" // data of an extension in a system line
)

// typeSummary is the type of the custom message that is the summary of a compaction.
const typeSummary = "compact-summary"

// Habits describes a tree with lines beside it that name the session and the leaf.
func (d *Dialect) Habits() dialect.Habits {
	return dialect.Habits{
		Defer: dialect.DeferMessage, Branches: true, Labels: true, RenameByEntry: true, ForkByID: true,
		FromTarget: true, RelabelKeepsTime: true, ResolvesCWD: true, ListsByCWD: true, ResultsOfBranches: true,
	}
}

// Header returns a line that the program ignores. The program's own sessions have no such line; without it, the working directory of
// a session that has no message yet would be unknown.
func (d *Dialect) Header(n dialect.NewSession) ([]byte, error) {
	if err := d.CheckID(n.ID); err != nil {
		return nil, err
	}
	return metaLine(dialect.NewEntry{Header: &session.Header{ID: n.ID}}, typeHeader, func(w *dialect.Object) {
		w.Str("cwd", n.CWD)
		w.Add("timestamp", dialect.ISO(n.Time))
		if n.Parent != "" {
			w.Add("forkedFrom", source(n.Parent, nil))
		}
	}), nil
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
		raw = setSource(raw, *edit.Parent)
	}
	return raw, nil, nil
}

// CheckID returns an error for an id that is not a UUID, because the program looks for sessions by UUIDs.
func (d *Dialect) CheckID(id session.ID) error {
	if !dialect.IsUUID(string(id)) {
		return fmt.Errorf("session id %.80q: Claude Code resumes only UUIDs in lower case", id)
	}
	return nil
}

// made derives 16 bytes from a seed, because there is no random source here.
func made(seed string) [16]byte {
	sum := sha256.Sum256([]byte(seed))
	return [16]byte(sum[:])
}

// Beside reports whether nothing can follow a line: it has no uuid, or it belongs to a sub-agent.
func (d *Dialect) Beside(record []byte) bool {
	return !entryType(rawjson.Str(record, "type")) || len(rawjson.Str(record, "uuid")) == 0 ||
		rawjson.Truthy(rawjson.Get(record, "isSidechain"))
}

// entryType reports whether lines of a type are entries of the conversation.
func entryType(typ string) bool {
	switch typ {
	case typeUser, typeAssistant, typeSystem, typeAttachment:
		return true
	}
	return false
}

// Spread gives each block of an answer and each tool result its own line, a compaction its summary line, and a name the
// two lines that the program writes for it.
func (d *Dialect) Spread(n dialect.NewEntry, newID func() (session.EntryID, error)) ([]dialect.NewEntry, error) {
	var bodies []session.Body
	switch b := n.Body.(type) {
	case session.SessionInfo:
		var agent dialect.Object
		agent.Str("type", "agent-name")
		agent.Str("agentName", b.Name)
		bodies = []session.Body{session.Opaque{Type: "agent-name", JSON: agent.End()}, b}
	case session.Compaction:
		summary := session.CustomMessage{Type: typeSummary, Content: rawjson.Quote(b.Summary), Details: b.PreserveData}
		b.Details = compactMetadata(b, n)
		bodies = []session.Body{b, summary}
	case session.Message:
		for _, m := range split(b.JSON, n.ID) {
			b.JSON = m
			bodies = append(bodies, b)
		}
	}
	if len(bodies) < 2 {
		return []dialect.NewEntry{n}, nil
	}
	list := make([]dialect.NewEntry, len(bodies))
	for i, body := range bodies {
		list[i] = n
		list[i].Body = body
		if i == len(bodies)-1 {
			break
		}
		id, err := newID()
		if err != nil {
			return nil, err
		}
		list[i].ID, list[i+1].Parent = id, id
	}
	return list, nil
}

// split returns a message as several, one for each block, where the program does so: for all blocks of an answer, and for tool
// results with nothing else beside them.
func split(m []byte, id session.EntryID) [][]byte {
	content := rawjson.Get(m, "content")
	var list [][]byte
	results := true
	for b := range rawjson.Elements(content) {
		list = append(list, b)
		results = results && rawjson.Str(b, "type") == blocks.TypeResult
	}
	answer := rawjson.Str(m, "role") == typeAssistant
	if len(list) < 2 || !answer && !results {
		return [][]byte{m}
	}
	if answer && rawjson.Str(m, "id") == "" {
		m = rawjson.Set(m, "id", rawjson.Quote(messageID(string(id))))
	}
	around := rawjson.Set(m, "content", []byte("[]")) // not m: with all the blocks in it, each copy would take as long as all of them
	for i, b := range list {
		list[i] = rawjson.Set(around, "content", dialect.Array([][]byte{b}))
	}
	return list
}

// messageID makes the id of an answer. Lines with the same id are one answer.
func messageID(seed string) string {
	sum := made("message " + seed)
	return "msg_" + hex.EncodeToString(sum[:12])
}

// compactMetadata says what a compaction keeps. The entries from FirstKept to the parent follow the summary, which has the
// id of n. Metadata that was read from a log stays.
func compactMetadata(b session.Compaction, n dialect.NewEntry) []byte {
	if rawjson.Get(b.Details, "trigger") != nil {
		return b.Details
	}
	var w, kept dialect.Object
	w.Str("trigger", "manual")
	if tokens := b.Tokens(); dialect.IsNumber(tokens) {
		w.Add("preTokens", tokens)
	}
	if b.FirstKept != "" {
		kept.Str("headUuid", string(b.FirstKept))
		kept.Str("anchorUuid", string(n.ID))
		kept.Str("tailUuid", string(n.Parent))
		w.Add("preservedSegment", kept.End())
	}
	if b.Details != nil {
		w.Add("treelineDetails", b.Details)
	}
	return w.End()
}

// Record returns the line of a new entry, members in the order of the program. Frame corrects what depends on the log.
func (d *Dialect) Record(n dialect.NewEntry) ([]byte, error) {
	switch b := n.Body.(type) {
	case session.Message:
		return d.message(n, b)
	case session.Compaction:
		return d.boundary(n, b)
	case session.CustomMessage:
		return d.customMessage(n, b)
	case session.BranchSummary:
		text := rawjson.Quote("Summary of the branch that was left:\n\n" + b.Summary)
		return d.customMessage(n, session.CustomMessage{Type: "branch-summary", Content: text})
	case session.Custom:
		return d.custom(n, b)
	case session.SessionInfo:
		return metaLine(n, "custom-title", func(w *dialect.Object) { w.Str("customTitle", b.Name) }), nil
	case session.Label:
		return metaLine(n, typeLabel, func(w *dialect.Object) {
			w.Str("targetUuid", string(b.Target))
			w.Str("label", b.Label)
			w.Add("timestamp", dialect.ISO(n.Time))
		}), nil
	case session.Leaf:
		return lastPrompt(n.Header, b.Target, true), nil
	case session.Opaque:
		if b.Type == "" || entryType(b.Type) || b.Type == typeProgress || b.Type == typeHeader {
			return nil, fmt.Errorf("the line is of the type %q, but lacks what such an entry has", b.Type)
		}
		return metaLine(n, b.Type, func(w *dialect.Object) { w.Others(b.JSON, "type", "uuid", "parentUuid", "sessionId") }), nil
	}
	return nil, fmt.Errorf("an entry of the kind %s in a session of %s is %w", session.KindOf(n.Body), d.Name(), dialect.ErrUnsupported)
}

// metaLine makes a line without a place in the tree.
func metaLine(n dialect.NewEntry, typ string, members func(*dialect.Object)) []byte {
	var w dialect.Object
	w.Str("type", typ)
	members(&w)
	if n.Header != nil {
		w.Str("sessionId", string(n.Header.ID))
	}
	return w.End()
}

// lastPrompt makes the line that names the leaf. An explicit one holds even if entries of that branch follow the leaf.
func lastPrompt(h *session.Header, leaf session.EntryID, explicit bool) []byte {
	return metaLine(dialect.NewEntry{Header: h}, typeLastPrompt, func(w *dialect.Object) {
		w.Add("leafUuid", parentOf(leaf))
		if explicit {
			w.Add("explicit", []byte("true"))
		}
	})
}

// entry makes a line of the tree.
func entry(n dialect.NewEntry, typ string, members func(*dialect.Object)) []byte {
	var w dialect.Object
	w.Add("parentUuid", parentOf(n.Parent))
	w.Add("isSidechain", []byte("false"))
	if typ == typeSystem || typ == typeUser {
		w.Str("type", typ)
	}
	members(&w)
	if typ == typeAssistant || typ == typeAttachment {
		w.Str("type", typ)
	}
	w.Str("uuid", string(n.ID))
	w.Add("timestamp", dialect.ISO(n.Time))
	w.Str("userType", "external")
	w.Str("entrypoint", "cli")
	if n.Header != nil {
		w.Str("cwd", n.Header.CWD)
		w.Str("sessionId", string(n.Header.ID))
	}
	w.Str("version", programVersion)
	w.Str("gitBranch", noBranch)
	return w.End()
}

// parentOf encodes a parent.
func parentOf(id session.EntryID) []byte {
	if id == "" {
		return []byte("null")
	}
	return rawjson.Quote(string(id))
}

// lifted are the members of a composed message that the program keeps in the line around it.
var lifted = []string{"isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isApiErrorMessage", "error"}

// message makes the line of a message: a prompt, an answer or a tool result.
func (d *Dialect) message(n dialect.NewEntry, b session.Message) ([]byte, error) {
	m := b.JSON
	if !rawjson.IsObject(m) || !rawjson.Valid(m) {
		return nil, errors.New("the message must be a JSON object")
	}
	content := rawjson.Get(m, "content")
	if !rawjson.IsString(content) && !rawjson.IsArray(content) {
		return nil, errors.New("the content of the message must be a text or a list of blocks")
	}
	m = rawjson.Compact(m)
	var around dialect.Object
	for _, key := range lifted {
		if v := rawjson.Get(m, key); v != nil {
			around.Add(key, v)
			m = rawjson.Delete(m, key)
		}
	}
	if b.Meta && rawjson.Get(around.End(), "isMeta") == nil && rawjson.Get(around.End(), "isCompactSummary") == nil {
		around.Add("isMeta", []byte("true"))
	}
	switch role := rawjson.Str(m, "role"); role {
	case typeUser:
		result := hasResult(content)
		return entry(n, typeUser, func(w *dialect.Object) {
			w.Add("message", m)
			w.Others(around.End())
			if len(around) == 0 && !result {
				w.Str("promptId", dialect.UUIDv4(made("prompt "+string(n.ID))))
				w.Str("permissionMode", "default")
			}
		}), nil
	case typeAssistant:
		m = completeAnswer(m, n.ID)
		return entry(n, typeAssistant, func(w *dialect.Object) {
			w.Add("message", m)
			w.Str("requestId", "req_"+strings.TrimPrefix(rawjson.Str(m, "id"), "msg_"))
			w.Others(around.End())
		}), nil
	default:
		return nil, fmt.Errorf("message role %q: Claude Code knows user and assistant", role)
	}
}

// completeAnswer adds the members that the program's own answers have. The content must be a list: an older version of the
// program fails on a text. Answers with the same id would be merged.
func completeAnswer(m []byte, id session.EntryID) []byte {
	if text := rawjson.Get(m, "content"); rawjson.IsString(text) {
		s, _ := rawjson.Unquote(text)
		m = rawjson.Set(m, "content", dialect.Array([][]byte{blocks.Text(s)}))
	}
	var w dialect.Object
	if rawjson.Str(m, "id") == "" {
		w.Str("id", messageID(string(id)))
		m = rawjson.Delete(m, "id")
	} else {
		w.Copy(m, "id")
	}
	w.Str("type", "message")
	w.Copy(m, "role", "model", "content")
	for _, key := range []string{"stop_reason", "stop_sequence"} {
		if rawjson.Get(m, key) == nil {
			w.Add(key, []byte("null"))
		}
		w.Copy(m, key)
	}
	w.Others(m, "id", "type", "role", "model", "content", "stop_reason", "stop_sequence")
	return w.End()
}

// boundary makes the line of a compaction. It has no parent, so that what it replaces is no longer on the path.
func (d *Dialect) boundary(n dialect.NewEntry, b session.Compaction) ([]byte, error) {
	if !rawjson.IsObject(b.Details) {
		b.Details = compactMetadata(b, n)
	}
	before := n.Parent
	n.Parent = ""
	return entry(n, typeSystem, func(w *dialect.Object) {
		if before != "" {
			w.Str("logicalParentUuid", string(before))
		}
		w.Str("subtype", subtypeBoundary)
		w.Str("content", "Conversation compacted")
		w.Add("isMeta", []byte("false"))
		w.Str("level", "info")
		w.Add("compactMetadata", rawjson.Compact(b.Details))
	}), nil
}

// customMessage makes the line of a text that the model sees and the user did not type. A summary of a compaction, an attachment
// or the output of a command that was read from a log keeps its form; any other text becomes a message in the user's name.
func (d *Dialect) customMessage(n dialect.NewEntry, b session.CustomMessage) ([]byte, error) {
	if !rawjson.Valid(b.Content) {
		return nil, errors.New("the content of the message is not JSON")
	}
	if b.Type == subtypeCommand && rawjson.IsString(b.Content) {
		return entry(n, typeSystem, func(w *dialect.Object) {
			w.Str("subtype", subtypeCommand)
			w.Add("content", b.Content)
			w.Add("isMeta", []byte("false"))
			w.Str("level", "info")
		}), nil
	}
	if b.Type != "" && rawjson.Str(b.Details, "type") == b.Type && rawjson.IsArray(b.Content) {
		return entry(n, typeAttachment, func(w *dialect.Object) {
			w.Add("attachment", rawjson.Compact(b.Details))
			var rendered [][]byte
			for block := range rawjson.Elements(b.Content) {
				var item dialect.Object
				item.Str("content", rawjson.Str(block, "text"))
				rendered = append(rendered, item.End())
			}
			if rendered != nil {
				w.Add("rendered", dialect.Array(rendered))
			}
		}), nil
	}
	var m dialect.Object
	m.Str("role", typeUser)
	m.Add("content", rawjson.Compact(b.Content))
	if b.Type == typeSummary {
		m.Add("isCompactSummary", []byte("true"))
		m.Add("isVisibleInTranscriptOnly", []byte("true"))
	} else {
		m.Add("isMeta", []byte("true"))
	}
	return d.message(n, session.Message{Role: session.RoleUser, JSON: m.End()})
}

// custom makes the line of an extension's state: a system line with its own subtype, which the model does not see and which other
// entries can follow. A line of the program that was read from a log is written as it was.
func (d *Dialect) custom(n dialect.NewEntry, b session.Custom) ([]byte, error) {
	switch typ := rawjson.Str(b.Data, "type"); {
	case typ == typeSystem && rawjson.Str(b.Data, "subtype") == b.Type:
		return entry(n, typeSystem, func(w *dialect.Object) { w.Others(b.Data, envelope...) }), nil
	case typ == b.Type && metadata[typ] != session.KindOpaque, typ == b.Type && slices.Contains([]string{"mode", "tag"}, typ):
		return metaLine(n, typ, func(w *dialect.Object) { w.Others(b.Data, "type", "sessionId") }), nil
	}
	if b.Type == "" || b.Type == subtypeBoundary || b.Type == subtypeCommand {
		return nil, fmt.Errorf("%q is not a type for the state of an extension", b.Type)
	}
	if b.Data != nil && !rawjson.Valid(b.Data) {
		return nil, errors.New("the data is not JSON")
	}
	return entry(n, typeSystem, func(w *dialect.Object) {
		w.Str("subtype", b.Type)
		w.Str("content", "")
		w.Add("isMeta", []byte("true"))
		w.Str("level", "info")
		if b.Data != nil {
			w.Add(memberData, rawjson.Compact(b.Data))
		}
	}), nil
}

// envelope lists the members that say where a line stands, and those that Record itself writes.
var envelope = []string{"parentUuid", "isSidechain", "type", "uuid", "timestamp", "userType", "entrypoint", "cwd", "sessionId", "version", "gitBranch"}
