package store

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// record is the first record: all but the messages.
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
	set("other", rawjson.Compact(s.Other), s.Other != nil)
	return o
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
		s.Meta = slices.Clone(meta)
	}
	if other := rawjson.Get(h, "other"); rawjson.IsObject(other) {
		s.Other = slices.Clone(other)
	}
	for _, r := range records[1:] {
		s.Messages = append(s.Messages, slices.Clone(r))
	}
	return s, nil
}

// content is the log of a state, and where its messages begin.
func (s *State) content() (text []byte, start int) {
	text = append(s.record(), '\n')
	start = len(text)
	for _, m := range s.Messages {
		text = append(append(text, m...), '\n')
	}
	return text, start
}

// generation stands for the messages in the first size bytes of a log, and for the length of what is before them.
func generation(text []byte, start int, size int64) string {
	h := sha256.Sum256(text[min(start, int(size)):size])
	return strconv.Itoa(start) + "-" + hex.EncodeToString(h[:12])
}
