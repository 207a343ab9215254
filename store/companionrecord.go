package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// record is the first record: all but the messages. Its members stand in a fixed order, so that a save that changes nothing
// but the time changes no other byte.
func (s *State) record() []byte {
	o := []byte(`{"schema_version":1}`)
	set := func(key string, value []byte, there bool) {
		if there {
			o = rawjson.Set(o, key, value)
		}
	}
	set("session_id", rawjson.Quote(string(s.ID)), true)
	set("updated_at", rawjson.Quote(s.UpdatedAt), true)
	set("run_id", rawjson.Quote(s.RunID), s.RunID != "")
	if s.InvokeSeq != nil {
		set("invoke_seq", strconv.AppendInt(nil, *s.InvokeSeq, 10), true)
	}
	set("workspace_root", rawjson.Quote(s.Root), s.Root != "")
	set("meta", rawjson.Compact(s.Meta), s.Meta != nil)
	for key, value := range rawjson.Fields(s.Other) {
		// A member "type" would make the decoder take it for a record of another kind.
		set(key, rawjson.Compact(value), !slices.Contains(stateMembers, key))
	}
	return o
}

// stateMembers are the members of a state that have a place of their own in State, and what a record may not have.
var stateMembers = []string{"schema_version", "session_id", "updated_at", "run_id", "invoke_seq", "workspace_root", "meta", "messages", "type"}

// JSON is the state as one object, in the words of the format's document.
func (s *State) JSON() []byte {
	list := []byte{'['}
	for i, m := range s.Messages {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, m...)
	}
	return rawjson.Set(s.record(), "messages", append(list, ']'))
}

// ParseState reads what JSON gives. The time may be left out.
func ParseState(text []byte) (State, error) {
	if !rawjson.IsObject(text) || !rawjson.Valid(text) {
		return State{}, errors.New("a state is a JSON object")
	}
	if rawjson.Str(text, "session_id") == "" {
		return State{}, errors.New("a state names its session: session_id is missing")
	}
	list := rawjson.Get(text, "messages")
	if !rawjson.IsArray(list) {
		return State{}, errors.New("a state has messages: a list")
	}
	records := [][]byte{rawjson.Delete(text, "messages")}
	for m := range rawjson.Elements(list) {
		if !rawjson.IsObject(m) {
			return State{}, fmt.Errorf("message %d is no object", len(records))
		}
		// What comes from a caller is ours to spell; messages that are in the file already are not.
		records = append(records, escapeBreaks(rawjson.Compact(m)))
	}
	return stateOf(records)
}

// escapeBreaks spells the characters that some programs take for ends of lines such that none does. They occur in strings
// only.
func escapeBreaks(m []byte) []byte {
	for _, c := range []string{"\u0085", "\u2028", "\u2029"} {
		if bytes.Contains(m, []byte(c)) {
			m = bytes.ReplaceAll(m, []byte(c), fmt.Appendf(nil, `\u%04x`, []rune(c)[0]))
		}
	}
	return m
}

// stateOf is the state that records stand for.
func stateOf(records [][]byte) (State, error) {
	if len(records) == 0 || !rawjson.IsObject(records[0]) || rawjson.Str(records[0], "session_id") == "" {
		return State{}, fmt.Errorf("%w: the first is not that of a state", backend.ErrRecord)
	}
	h := records[0]
	s := State{ID: session.ID(rawjson.Str(h, "session_id")), UpdatedAt: rawjson.Str(h, "updated_at"), RunID: rawjson.Str(h, "run_id"), Root: rawjson.Str(h, "workspace_root")}
	if n, err := strconv.ParseInt(string(rawjson.Get(h, "invoke_seq")), 10, 64); err == nil {
		s.InvokeSeq = &n
	}
	if meta := rawjson.Get(h, "meta"); rawjson.IsObject(meta) {
		// Cloned: records belong to the caller.
		s.Meta = slices.Clone(rawjson.Compact(meta))
	}
	other := []byte("{}")
	for key, value := range rawjson.Fields(h) {
		if !slices.Contains(stateMembers, key) {
			other = rawjson.Set(other, key, rawjson.Compact(value))
		}
	}
	if len(other) > 2 {
		s.Other = other
	}
	for _, r := range records[1:] {
		s.Messages = append(s.Messages, slices.Clone(r))
	}
	return s, nil
}

// content is the log of a state, and where its messages begin.
func (s *State) content() (text []byte, start int) {
	first := *s
	first.UpdatedAt = usualTime(s.UpdatedAt)
	text = append(first.record(), '\n')
	start = len(text)
	for _, m := range s.Messages {
		text = append(append(text, m...), '\n')
	}
	return text, start
}

// timeForm is how states spell times. All of them are of one length, so that a save moves no message of the log.
const timeForm = "2006-01-02T15:04:05.000Z"

// usualTime spells a time as usual, if it is one.
func usualTime(text string) string {
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return t.UTC().Format(timeForm)
	}
	return text
}

// generation stands for the messages in the first size bytes of a log, and for the length of what is before them. The time
// of the last save is not in it: an append changes it, and what stood before the append is still the same log.
func generation(text []byte, start int, size int64) string {
	h := sha256.Sum256(text[min(start, int(size)):size])
	return strconv.Itoa(start) + "-" + hex.EncodeToString(h[:12])
}
