package wave

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// LegacyDialect reads the sessions from before the line format. Each is one JSON document,
//
//	{"id":…,"version":…,"messages":[…],"metadata":{"workdir":…,"startedAt":…,"lastActiveAt":…,"latestTotalTokens":…}}
//
// in ~/.wave/sessions. They are only read. Their messages are the same objects as today's lines, so the codec is shared.
type LegacyDialect struct {
	dialect.Base
	codec
}

// Legacy is the only value. It is a separate family, because these files do not consist of lines.
var Legacy = &LegacyDialect{Base: dialect.Base{Called: "wave-legacy", Format: "wave-legacy", Where: legacyLayout{}}}

var (
	_ dialect.Dialect = (*LegacyDialect)(nil)
	_ dialect.Layout  = legacyLayout{}
	_ dialect.Sharer  = legacyLayout{}
)

// Codec looks inside messages.
func (d *LegacyDialect) Codec() session.Codec {
	return session.Codec{EntryCodec: &codec{}, MessageCodec: &codec{}}
}

// MessageParts returns what is inside a message of a context in neutral form.
func (d *LegacyDialect) MessageParts(m []byte) []session.Part { return messageParts(m) }

type legacyLayout struct{}

// Roots returns the folder where these files are.
func (legacyLayout) Roots(env dialect.Env) []dialect.Root {
	return []dialect.Root{legacyLayout{}.RootAt(filepath.Join(env.Home, ".wave"))}
}

func (legacyLayout) RootAt(dir string) dialect.Root {
	return dialect.Root{Sessions: filepath.Join(dir, "sessions")}
}

func (legacyLayout) Dir(dialect.Env, string) string { return "" }

func (legacyLayout) File(_ time.Time, id session.ID) string { return string(id) + ".json" }

func (legacyLayout) Owns(name string) bool {
	return path.Ext(name) == ".json" && !strings.Contains(name, "/")
}

// Shares is always true: the folder is Wave's, which also has the new sessions.
func (legacyLayout) Shares() bool { return true }

// document is the content of an old file. The slices point into it.
type document struct {
	id, version, messages, metadata []byte
	at                              int // where the messages begin
}

// parse reads the members of a document. All four are required, because other programs have JSON files with an id and
// messages, too.
func (d *document) parse(data []byte) bool {
	if !rawjson.IsObject(data) {
		return false
	}
	var t rawjson.Text
	t.Reset(data)
	o, _ := t.Object(0)
	for o.Next() {
		switch string(o.Key) {
		case "id":
			d.id = o.Value()
		case "version":
			d.version = o.Value()
		case "messages":
			d.at = o.Offset()
			d.messages = o.Value()
		case "metadata":
			d.metadata = o.Value()
		}
	}
	return rawjson.IsString(d.id) && rawjson.IsString(d.version) && rawjson.IsArray(d.messages) && rawjson.IsObject(d.metadata)
}

// Detect claims a document that has all four members. Usually it is on one line.
func (d *LegacyDialect) Detect(first []dialect.Record) bool {
	var doc document
	for _, r := range first {
		if data := dialect.TrimBOM(r.Data); rawjson.Valid(data) && rawjson.IsObject(data) {
			return doc.parse(data)
		}
	}
	all, _ := joined(first) // the document may be on several lines
	return doc.parse(all)
}

// joined concatenates records as in the log, and gives the offset at which they begin. Gaps between them are filled, because
// spans are offsets in the log.
func joined(records []dialect.Record) (all []byte, start int64) {
	if len(records) == 0 {
		return nil, 0
	}
	start = records[0].Offset
	for _, r := range records {
		for gap := r.Offset - start - int64(len(all)); gap > 0; gap-- {
			// the last byte of a gap is a newline, the others are spaces
			all = append(all, " \n"[max(0, 2-gap)])
		}
		all = append(all, r.Data...)
	}
	document := dialect.TrimBOM(all)
	if !rawjson.Valid(document) {
		return nil, 0
	}
	return document, start + int64(len(all)-len(document))
}

// legacyDecoder keeps the whole file, because the document can be parsed only at its end.
type legacyDecoder struct {
	b       *session.Builder
	records []dialect.Record
}

// NewDecoder starts to decode a document.
func (d *LegacyDialect) NewDecoder(b *session.Builder) dialect.Decoder {
	b.SetCodec(d.Codec())
	return &legacyDecoder{b: b}
}

// Decode takes the next line, or the whole file.
func (dec *legacyDecoder) Decode(r dialect.Record) {
	r.Data = bytes.Clone(r.Data)
	dec.records = append(dec.records, r)
}

// Finish reads the document, which may stand among other lines.
func (dec *legacyDecoder) Finish() error {
	for i, r := range dec.records {
		var doc document
		if skip := len(r.Data) - len(dialect.TrimBOM(r.Data)); rawjson.Valid(r.Data[skip:]) && doc.parse(r.Data[skip:]) {
			dec.other(dec.records[:i])
			dec.take(r, r.Data[skip:], r.Offset+int64(skip), &doc)
			dec.other(dec.records[i+1:])
			return nil
		}
	}
	var doc document
	if all, at := joined(dec.records); doc.parse(all) {
		dec.take(dec.records[0], all, at, &doc)
		return nil
	}
	if !slices.ContainsFunc(dec.records, hasText) {
		return nil
	}
	return &session.Problem{Line: 1, Kind: session.ProblemNoHeader, Message: "not a session document of Wave: no JSON with id, version, messages and metadata",
		Advice: "the file was not changed; if it is a session, it was damaged or cut off"}
}

func hasText(r dialect.Record) bool { return len(bytes.TrimSpace(r.Data)) > 0 }

// other reports lines beside the document.
func (dec *legacyDecoder) other(records []dialect.Record) {
	for _, r := range records {
		if hasText(r) {
			dec.b.Problem(session.Problem{Line: r.Line, Offset: r.Offset, Kind: session.ProblemMalformed,
				Message: fmt.Sprintf("%d bytes beside the document", len(r.Data)), Advice: "they are ignored and stay in the file"})
		}
	}
}

// take makes entries from the messages. data, which begins at the offset at, belongs to the decoder. Each entry keeps its span.
func (dec *legacyDecoder) take(r dialect.Record, data []byte, at int64, doc *document) {
	started := rawjson.Get(doc.metadata, "startedAt")
	h := session.Header{
		ID: session.ID(rawjson.Inside(doc.id)), Version: version, CWD: rawjson.Str(doc.metadata, "workdir"),
		Timestamp: session.Time{Text: string(started)}, Raw: data, Line: r.Line,
		Span: session.Span{Offset: at, Length: int64(len(data))},
	}
	dec.b.SetHeader(h)
	// Counting lines from the beginning for each problem would be quadratic.
	line, counted := r.Line, 0 // lines are counted from one position to the next
	report := func(offset int64, message string) {
		line += bytes.Count(data[counted:offset-at], []byte{'\n'})
		counted = int(offset - at)
		dec.b.Problem(session.Problem{Line: line, Offset: offset, Kind: session.ProblemField, Message: message, Advice: "it is kept as it is"})
	}
	if err := checkTimes(started, rawjson.Get(doc.metadata, "lastActiveAt")); err != nil {
		report(at, err.Error())
	}
	if h.CWD == "" {
		report(at, "the metadata name no workdir")
	}
	// Between two messages there is only a comma and white space, so each is searched for after the one before.
	rest := 1
	for m := range rawjson.Elements(doc.messages) {
		rest += bytes.Index(doc.messages[rest:], m)
		span := session.Span{Offset: at + int64(doc.at+rest), Length: int64(len(m))}
		rest += len(m)
		line += bytes.Count(data[counted:span.Offset-at], []byte{'\n'})
		counted = int(span.Offset - at)
		dec.message(m, span, line, report)
	}
}

// message adds an entry. A value that is not an object is reported.
func (dec *legacyDecoder) message(m []byte, span session.Span, line int, report func(int64, string)) {
	if !rawjson.IsObject(m) {
		report(span.Offset, fmt.Sprintf("the message is %s, not an object", dialect.Shorten(m)))
		return
	}
	role, blocks := rawjson.Inside(rawjson.Get(m, "role")), rawjson.Get(m, "blocks")
	env := &session.Envelope{
		ID: rawjson.Inside(rawjson.Get(m, "id")), InOrder: true, Repeats: true, Kind: session.KindMessage, Role: roleOf(role),
		Type: messageType, Span: span, Line: line, Record: m,
	}
	if len(env.ID) == 0 {
		env.ID = nil
	}
	if hasCompact(m) {
		env.Kind = session.KindCompaction
	}
	for _, wrong := range violations(role, blocks, timeless) { // the messages have no times
		report(span.Offset, wrong)
	}
	dec.b.Add(env)
}

// timeless is a valid time for violations, because messages of this format have none.
var timeless = []byte(`"2026-01-01T00:00:00.000Z"`)

// checkTimes returns what is wrong with the times of a session: both must be valid and in order.
func checkTimes(started, active []byte) error {
	if !isISO(started) || !isISO(active) {
		return errors.New("startedAt and lastActiveAt must be times in ISO 8601")
	}
	a, _ := session.Time{Text: string(started)}.Time()
	b, _ := session.Time{Text: string(active)}.Time()
	if a.After(b) {
		return fmt.Errorf("startedAt %s is later than lastActiveAt %s", started, active)
	}
	return nil
}

// Peek reads a whole document. If a document is longer, the id is in the head and the metadata, which follows the messages, in the
// tail.
func (d *LegacyDialect) Peek(head, tail []byte, whole bool) dialect.Summary {
	s := dialect.Summary{Messages: -1}
	var doc document
	if whole {
		b := session.NewBuilder("", nil)
		if dialect.DecodeLog(d.NewDecoder(b), head) != nil || b.Header().Raw == nil {
			return s
		}
		doc.parse(b.Header().Raw)
		s.Messages = 0
		for e := range b.Finish().Entries() {
			if e.IsMessage() {
				s.Messages++
			}
		}
		for m := range rawjson.Elements(doc.messages) {
			if s.Prompt == "" && rawjson.IsObject(m) {
				s.Prompt = prompt(m)
			}
		}
	} else {
		doc.id, doc.metadata = member(head, "id", bytes.Index), member(head, "metadata", bytes.Index)
		if doc.metadata == nil {
			doc.metadata = member(tail, "metadata", bytes.LastIndex)
		}
		if !rawjson.IsString(doc.id) || !rawjson.IsObject(doc.metadata) || !rawjson.IsString(rawjson.Get(doc.metadata, "workdir")) {
			return s
		}
	}
	s.OK, s.ID, s.Version = true, session.ID(rawjson.Inside(doc.id)), version
	s.CWD = rawjson.Str(doc.metadata, "workdir")
	s.Created = session.Time{Text: string(rawjson.Get(doc.metadata, "startedAt"))}
	s.Active = session.Time{Text: string(rawjson.Get(doc.metadata, "lastActiveAt"))}
	return s
}

// member finds the value of a member in a piece of a document, nil if it is not whole. The key may also occur in a text:
// then no colon follows, or the caller rejects the value; at worst a list lacks a row.
func member(piece []byte, key string, find func(s, sep []byte) int) []byte {
	i := find(piece, []byte(`"`+key+`"`))
	if i < 0 {
		return nil
	}
	i = rawjson.SkipSpace(piece, i+len(key)+2)
	if i >= len(piece) || piece[i] != ':' {
		return nil
	}
	i = rawjson.SkipSpace(piece, i+1)
	end, err := rawjson.Skip(piece, i)
	if err != nil {
		return nil
	}
	return piece[i:end]
}
