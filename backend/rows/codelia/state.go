package codelia

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/rows"
	"github.com/treeline-dev/treeline/internal/rawjson"
)

// state is a session with the columns of its row.
type state struct {
	id string
	// schema is the schema_version as it is spelled, if it is not the one that is written; nil otherwise.
	schema []byte
	// updated is the time of the last save as it is spelled in the row or file; "" in a save is the current time.
	updated string
	// run is the session's last run, seq the number of its last request to the model, root its project folder. "" and nil
	// are unknown.
	run, root string
	seq       *int64
	// meta is the agent's own object, other an object with the members that we do not know; nil if it has no members.
	meta, other []byte
	messages    [][]byte
	torn        bool // the last message is torn
	restored    bool // in a save: as it was, with its damage
	// version is the compare-and-swap token of a loaded state. In a save it is the version that must be there; "" means none.
	version string
}

// known are the members of a header and of a document that have a field in state, and those that a header must not have:
// a header with messages or a type would be decoded as another kind of record.
var known = []string{"schema_version", "session_id", "updated_at", "run_id", "invoke_seq", "workspace_root", "meta", "messages", "type"}

// header returns the first record of the log. The order of its members is fixed, so a save that changes only the time changes
// no other byte.
func (s *state) header() []byte {
	o := []byte(`{"schema_version":1}`)
	if s.schema != nil {
		o = rawjson.Set(o, "schema_version", s.schema)
	}
	set := func(key string, value []byte, present bool) {
		if present {
			o = rawjson.Set(o, key, value)
		}
	}
	set("session_id", rawjson.Quote(s.id), true)
	set("updated_at", rawjson.Quote(usualTime(s.updated)), true)
	set("run_id", rawjson.Quote(s.run), s.run != "")
	set("invoke_seq", s.seqText(), s.seq != nil)
	set("workspace_root", rawjson.Quote(s.root), s.root != "")
	set("meta", rawjson.Compact(s.meta), s.meta != nil)
	o = o[:len(o)-1] // there may be many others: each is added at the end
	for key, value := range rawjson.Fields(s.other) {
		if !slices.Contains(known, key) {
			o = appendMember(o, key, value)
		}
	}
	return append(o, '}')
}

// appendMember adds a member to an object without its closing brace.
func appendMember(o []byte, key string, value []byte) []byte {
	if len(o) > 1 {
		o = append(o, ',')
	}
	return append(append(rawjson.AppendString(o, key), ':'), rawjson.Compact(value)...)
}

func (s *state) seqText() []byte {
	if s.seq == nil {
		return nil
	}
	return strconv.AppendInt(nil, *s.seq, 10)
}

func (s *state) session() rows.Session {
	at, _ := time.Parse(time.RFC3339Nano, s.updated) // the zero time if it is not one
	return rows.Session{ID: s.id, Header: s.header(), Messages: s.messages, Torn: s.torn, Time: at, Version: s.version}
}

// parseState parses a rows.Session as session makes it. It copies what it keeps.
func parseState(from rows.Session) (state, error) {
	h := from.Header
	if !rawjson.IsObject(h) || !rawjson.Valid(h) || rawjson.Str(h, "session_id") == "" {
		return state{}, fmt.Errorf("%w: the first is not the header of a session", backend.ErrRecord)
	}
	if id := rawjson.Str(h, "session_id"); id != from.ID {
		return state{}, fmt.Errorf("%w: the header is that of session %s", backend.ErrName, id)
	}
	s := state{id: from.ID, root: rawjson.Str(h, "workspace_root"), version: from.Version, torn: from.Torn, restored: from.Restored}
	// A header without a version has the version that is written.
	if v := rawjson.Get(h, "schema_version"); v != nil {
		s.schema = otherSchema(v)
	}
	s.fill(h, known)
	for _, m := range from.Messages {
		s.messages = append(s.messages, bytes.Clone(m))
	}
	return s, nil
}

// check refuses records that are not messages, unless the state is restored or replaces one that has them too: damage stays
// where it is.
func (s *state) check(replaced *state) error {
	var damaged map[string]bool
	for i, m := range s.messages {
		if s.restored || isMessage(m) {
			continue
		}
		if damaged == nil && replaced != nil {
			damaged = map[string]bool{}
			for _, old := range replaced.messages {
				damaged[string(old)] = !isMessage(old)
			}
		}
		if !damaged[string(m)] {
			return fmt.Errorf("%w: message %d is not a JSON object", backend.ErrRecord, i+1)
		}
	}
	return nil
}

// otherSchema returns a schema_version as it is spelled, null if it is missing; nil for the version that is written.
func otherSchema(v []byte) []byte {
	switch string(v) {
	case "1":
		return nil
	case "":
		return []byte("null")
	}
	return bytes.Clone(v)
}

// writable fails for a state of a version that is not written: nothing is known about the meaning of its members.
func (s *state) writable() error {
	if s.schema != nil {
		return fmt.Errorf("%w: schema_version %s is not known; only 1 is written", backend.ErrRecord, s.schema)
	}
	return nil
}

// fill takes over the members that a header and a document have in common. A member of the wrong type is ignored, as in the program.
func (s *state) fill(object []byte, known []string) {
	s.updated, s.run = rawjson.Str(object, "updated_at"), rawjson.Str(object, "run_id")
	if n, err := strconv.ParseInt(string(rawjson.Get(object, "invoke_seq")), 10, 64); err == nil {
		s.seq = &n
	}
	if meta := rawjson.Get(object, "meta"); rawjson.IsObject(meta) {
		s.meta = bytes.Clone(rawjson.Compact(meta))
	}
	other := []byte("{")
	for key, value := range rawjson.Fields(object) {
		if !slices.Contains(known, key) {
			other = appendMember(other, key, value)
		}
	}
	if len(other) > 1 {
		s.other = append(other, '}')
	}
}

// timeForm is how the program spells times. All are of one length, so a save moves no message of the log.
const timeForm = "2006-01-02T15:04:05.000Z"

// usualTime formats a time in that form. Other texts stay as they are.
func usualTime(text string) string {
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return t.UTC().Format(timeForm)
	}
	return text
}

// stamp sets the version, a hash of everything in the state. The files have no room for a counter, and the program would not maintain it.
// Each part is preceded by its length, so that different states do not hash the same bytes.
func (s *state) stamp() {
	h := sha256.New()
	for _, part := range []string{s.id, s.updated, s.run, string(s.seqText()), s.root, string(s.meta), string(s.other), string(s.schema)} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	for _, m := range s.messages {
		h.Write(m)
		h.Write([]byte{'\n'})
	}
	if s.torn {
		h.Write([]byte("torn"))
	}
	s.version = hex.EncodeToString(h.Sum(nil)[:16])
}

// compare fails if now (nil for none) does not have the version that a writer last saw.
func compare(want string, now *state) error {
	if now == nil && want == "" || now != nil && want == now.version {
		return nil
	}
	return backend.ErrConflict
}
