package codelia

import (
	"bytes"
	"cmp"
	"path/filepath"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/session"
)

// StateDialect reads and writes the states from which codelia's sessions are resumed, as logs. The state without its
// messages is the header,
//
//	{"schema_version":1,"session_id":…,"updated_at":ISO,"run_id"?,"invoke_seq"?,"workspace_root"?,"meta"?}
//
// and each message is a line. The agent has no such file: the backend joins a database row and its messages, or the members
// of one document. Messages have neither ids nor times; each is a child of the one before. The two values differ
// in where states are stored.
type StateDialect struct {
	dialect.Base
	dialect.FileIDs
	dialect.NoBlobs
}

// The values: a database with messages beside it, and the document's single files.
var (
	State = &StateDialect{Base: dialect.Base{Called: "codelia-state", Format: "codelia-state",
		Where: stateLayout{layout: layout{xdg: true}, folder: "messages", ext: ".jsonl"}}}
	StateDoc = &StateDialect{Base: dialect.Base{Called: "codelia-state-doc", Format: "codelia-state",
		Where: stateLayout{folder: "state", ext: ".json"}}}
)

var (
	_ dialect.Dialect    = (*StateDialect)(nil)
	_ dialect.Runner     = (*StateDialect)(nil)
	_ session.EntryCodec = stateCodec{}
)

// Codec looks inside messages.
func (d *StateDialect) Codec() session.Codec { return ofStates }

// MessageParts returns what is inside a message of a context in neutral form.
func (d *StateDialect) MessageParts(m []byte) []session.Part { return MessageParts(m) }

// driver names the backend.Driver that shows states as logs.
const driver = "codelia"

// stateLayout has one folder for all sessions, one level below the agent's folders.
type stateLayout struct {
	layout
	folder, ext string
}

// Roots returns the folder below each of the agent's folders of sessions.
func (l stateLayout) Roots(env dialect.Env) []dialect.Root {
	roots := l.layout.Roots(env)
	for i := range roots {
		roots[i].Sessions, roots[i].Driver = filepath.Join(roots[i].Sessions, l.folder), driver
	}
	return roots
}

// RootAt returns the place below codelia's folder.
func (l stateLayout) RootAt(dir string) dialect.Root {
	return dialect.Root{Sessions: filepath.Join(l.layout.RootAt(dir).Sessions, l.folder), Driver: driver}
}

// Place returns the folder for states in dir, with the database beside it. If dir is not a folder of codelia, the place is the one
// that the program uses if CODELIA_LAYOUT is xdg and XDG_STATE_HOME is dir.
func (l stateLayout) Place(dir string) string {
	base, above := filepath.Base(dir), filepath.Base(filepath.Dir(dir))
	owned := func(name string) bool { return name == ".codelia" || name == "codelia" }
	switch {
	case base == l.folder && above == "sessions":
		return dir
	case base == "sessions" && owned(above):
		return filepath.Join(dir, l.folder)
	case owned(base):
		return filepath.Join(dir, "sessions", l.folder)
	}
	return filepath.Join(dir, "codelia", "sessions", l.folder)
}

// File is the id with the extension.
func (l stateLayout) File(_ time.Time, id session.ID) string { return string(id) + l.ext }

// Owns accepts files with the right extension that are not hidden.
func (l stateLayout) Owns(name string) bool {
	return strings.HasSuffix(name, l.ext) && !strings.ContainsAny(name, "/") && !strings.HasPrefix(name, ".")
}

// LastRun implements dialect.Runner.
func (d *StateDialect) LastRun(header []byte) string { return rawjson.Str(header, "run_id") }

// RunDir implements dialect.Runner.
func (d *StateDialect) RunDir(header []byte) (cwd string, of session.ID, began session.Time) {
	h, err := run.DecodeHeader(header)
	if err != nil {
		return "", "", session.Time{}
	}
	return h.WorkDir(), session.ID(h.SessionID), session.Time{Text: string(rawjson.Get(header, "started_at"))}
}

// Shares is always true, because the folder is inside that of the run logs.
func (l stateLayout) Shares() bool { return true }

// Order says that lists use the time of the last save.
func (l stateLayout) Order() dialect.Order { return dialect.OrderActive }

// stateCodec looks inside entries. Messages are like those of run logs, but contexts are not.
type stateCodec struct{}

var ofStates = session.Codec{EntryCodec: stateCodec{}, MessageCodec: Codelia}

// Rules describes a program that repairs a conversation before it continues it.
func (stateCodec) Rules() session.Rules { return session.Rules{Heals: true} }

// Time returns the time of the last save for a state. Messages have a time only in the document's example.
func (stateCodec) Time(raw []byte) session.Time {
	if isState(raw) {
		return session.Time{Text: string(rawjson.Get(raw, "updated_at"))}
	}
	return session.Time{Text: string(rawjson.Get(raw, "message_ts"))}
}

// Body is the message.
func (stateCodec) Body(e session.Entry, raw []byte) (session.Body, error) {
	if e.Kind != session.KindMessage {
		return session.Opaque{Type: e.Type, JSON: raw}, nil
	}
	return session.Message{Role: e.Role, Native: rawjson.Str(raw, "role"), JSON: raw}, nil
}

// Parts returns what is inside an entry in neutral form.
func (stateCodec) Parts(e session.Entry, raw []byte) ([]session.Part, error) {
	if e.Kind != session.KindMessage {
		return []session.Part{session.OpaquePart{Type: e.Type, JSON: raw}}, nil
	}
	return MessageParts(raw), nil
}

// Messages returns the message. It leaves out messages about an earlier resume, which are out of date, and results that name no call,
// which providers refuse.
func (stateCodec) Messages(e session.Entry, raw []byte) ([][]byte, error) {
	switch {
	case e.Kind != session.KindMessage,
		e.Role == session.RoleSystem && strings.HasPrefix(rawjson.Str(raw, "content"), resumed),
		e.Role == session.RoleTool && rawjson.Str(raw, "tool_call_id") == "":
		return nil, nil
	}
	_, bare := dialect.Origin(raw) // the origin was not part of what was said
	return [][]byte{bare}, nil
}

// isState reports whether an object is a header: it has an id and a time of saving, and neither "type" nor "messages".
func isState(object []byte) bool {
	t := dialect.GetText()
	defer dialect.PutText(t)
	t.Reset(object)
	var f stateFields
	_, err := f.scan(t, 0)
	return err == nil && f.isState()
}

// Detect claims a log that begins with the header of a state.
func (d *StateDialect) Detect(first []dialect.Record) bool {
	return isState(dialect.FirstObject(first))
}

// stateDecoder is the state of reading one log.
type stateDecoder struct {
	dialect.Headed
	b   *session.Builder
	env session.Envelope
}

// NewDecoder starts to decode a log.
func (d *StateDialect) NewDecoder(b *session.Builder) dialect.Decoder {
	b.SetCodec(ofStates)
	return &stateDecoder{b: b, Headed: dialect.Headed{
		Lines: dialect.Lines{Builder: b, Starts: []string{`{"role":`, `{"schema_version":`}}, What: "header of a state", Log: "state",
	}}
}

// Decode takes the next record.
func (dec *stateDecoder) Decode(r dialect.Record) { dec.Read(r, dec) }

// IsRecord reports whether an object is a record rather than an object inside a torn record.
func (dec *stateDecoder) IsRecord(object []byte) bool {
	return rawjson.IsString(rawjson.Get(object, "role")) || isState(object)
}

// Object takes a record.
func (dec *stateDecoder) Object(r dialect.Record, data []byte, at int64, pos int) (int, error) {
	var f stateFields
	end, err := f.scan(&dec.Lines.Text, pos)
	if err != nil {
		return 0, err
	}
	record, span := data[pos:end], session.Span{Offset: at + int64(pos), Length: int64(end - pos)}
	switch state := f.isState(); {
	case dec.Refused():
	case state && dec.Begun:
		dec.Again(r, span)
	case state:
		dec.Begun = true
		h := stateHeader(record)
		h.Span, h.Line = span, r.Line
		dec.b.SetHeader(h)
		if h.Newer {
			dec.Newer(r, span, "schema_version is "+dialect.Spelled(rawjson.Get(record, "schema_version"))+", not 1")
		}
	case !dec.Begun:
		dec.RefuseFirst(r, span, record, nil, "")
	default:
		dec.message(r, record, span, f.role)
	}
	return end, nil
}

// stateFields are the raw members that tell records apart. An object with "messages" is a whole document, one with "type" an entry of
// another family.
type stateFields struct {
	role, id, updated []byte
	other             bool // it has a member that a header never has
}

// scan reads the record at pos once.
func (f *stateFields) scan(t *rawjson.Text, pos int) (int, error) {
	members, end, err := t.Outline(pos, 0)
	if err != nil {
		return 0, err
	}
	for k := range members {
		m := &members[k]
		if m.Inner {
			continue
		}
		switch string(t.Key(m)) {
		case "role":
			f.role = t.Value(m)
		case "session_id":
			f.id = t.Value(m)
		case "updated_at":
			f.updated = t.Value(m)
		case "type", "messages":
			f.other = true
		}
	}
	return end, nil
}

// isState reports whether the members are those of a header.
func (f *stateFields) isState() bool {
	return !f.other && rawjson.IsString(f.id) && rawjson.IsString(f.updated)
}

func stateHeader(record []byte) session.Header {
	h := session.Header{
		ID: session.ID(rawjson.Str(record, "session_id")), Version: 1, CWD: rootOf(record),
		Parent: rawjson.Str(rawjson.Get(rawjson.Get(record, "meta"), ownMember), "parent"), Raw: bytes.Clone(record),
	}
	// Only version 1 is written.
	h.Newer = string(rawjson.Get(record, "schema_version")) != "1"
	return h
}

// rootOf returns the project folder of a state, from either place where the program keeps it.
func rootOf(header []byte) string {
	return cmp.Or(rawjson.Str(header, "workspace_root"), rawjson.Str(rawjson.Get(header, "meta"), "codelia_workspace_root"))
}

// ownMember is the member of meta that holds what the format itself cannot.
const ownMember = "treeline"

// message passes an envelope to the builder. Messages have no ids: the builder derives them.
func (dec *stateDecoder) message(r dialect.Record, record []byte, span session.Span, role []byte) {
	dec.env = session.Envelope{
		InOrder: true, Kind: session.KindMessage, Type: messageType, Span: span, Line: r.Line, Record: record,
	}
	if rawjson.IsString(role) {
		dec.env.Role = roleOf(rawjson.Inside(role))
	} else {
		dec.env.Kind, dec.env.Type = session.KindOpaque, unknownType
		dec.Lines.ProblemAt(r, span, session.ProblemField, "the message has no role", "it is kept as it is")
	}
	dec.b.Add(&dec.env)
}

var messageType, unknownType = []byte("message"), []byte("unknown")

// Peek makes a list row from the beginning: the header, and the first message of the user. The tail is not needed.
func (d *StateDialect) Peek(head, _ []byte, whole bool) dialect.Summary {
	s := dialect.Summary{Messages: -1}
	count, damaged := 0, false
	for line := range bytes.SplitAfterSeq(dialect.TrimBOM(head), []byte{'\n'}) {
		if line = bytes.TrimSpace(line); !rawjson.IsObject(line) || !rawjson.Valid(line) {
			damaged = damaged || len(line) > 0
			continue
		}
		if !s.OK {
			if !isState(line) {
				return s
			}
			h := stateHeader(line)
			s.OK, s.ID, s.CWD, s.Parent, s.Version = true, h.ID, h.CWD, h.Parent, h.Version
			s.Active = session.Time{Text: string(rawjson.Get(line, "updated_at"))}
			continue
		}
		if rawjson.IsString(rawjson.Get(line, "role")) {
			count++
		}
		if s.Prompt == "" && rawjson.Str(line, "role") == "user" {
			for _, p := range MessageParts(line) {
				if t, ok := p.(session.Text); ok && s.Prompt == "" {
					s.Prompt = t.Text
				}
			}
		}
	}
	if whole && s.OK {
		s.Messages = count
	}
	// Counting lines gives a wrong result if a line has several messages.
	if whole && damaged {
		s.Recount(d, head)
	}
	return s
}
