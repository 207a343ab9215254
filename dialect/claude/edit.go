package claude

import (
	"bytes"
	"path"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/claude/blocks"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var (
	_ dialect.Editor  = (*Dialect)(nil)
	_ dialect.Namer   = (*Dialect)(nil)
	_ dialect.Adopter = (*Dialect)(nil)
	_ dialect.Stamper = (*Dialect)(nil)
)

// Rechain changes the parent of a line, and the first of the messages that a compaction keeps.
func (d *Dialect) Rechain(record []byte, parent, keep session.EntryID) ([]byte, error) {
	record = rawjson.Set(record, "parentUuid", parentOf(parent))
	if keep == "" {
		return record, nil
	}
	m := rawjson.Get(record, "compactMetadata")
	segment := rawjson.Get(m, "preservedSegment")
	if !rawjson.IsObject(segment) {
		return record, nil
	}
	m = rawjson.Set(m, "preservedSegment", rawjson.Set(segment, "headUuid", rawjson.Quote(string(keep))))
	return rawjson.Set(record, "compactMetadata", m), nil
}

// SetArguments changes the input of one tool call.
func (d *Dialect) SetArguments(record []byte, callID string, arguments []byte) ([]byte, bool, error) {
	return dialect.SetArguments(record, callID, arguments, "content", blocks.TypeCall, "input")
}

// SetID changes the uuid of a line.
func (d *Dialect) SetID(record []byte, id session.EntryID) ([]byte, error) {
	return rawjson.Set(record, "uuid", rawjson.Quote(string(id))), nil
}

// Adopt adds the members of the caller's line, except those that say where the entry stands. For members
// that every line has, the caller's value wins.
func (d *Dialect) Adopt(record, given []byte) []byte {
	for key, value := range rawjson.Fields(given) {
		switch key {
		case "parentUuid", "uuid", "timestamp", "sessionId", "session_id", "type", "forkedFrom", "logicalParentUuid", "isSidechain":
			continue
		case "message":
			if value = adoptMessage(rawjson.Get(record, key), value); value == nil {
				continue
			}
		}
		if !bytes.Equal(rawjson.Get(record, key), value) {
			record = rawjson.Set(record, key, rawjson.Compact(value))
		}
	}
	if rawjson.Get(given, "isMeta") == nil {
		record = rawjson.Delete(record, "isMeta") // given is the summary of a compaction
	}
	return record
}

// adoptMessage returns the message of the caller with the members that Record added; nil if the line has no message.
func adoptMessage(record, given []byte) []byte {
	if record == nil || !rawjson.IsObject(given) {
		return nil
	}
	return dialect.AdoptMembers(record, given)
}

// setSource names the session that an entry was copied from, as the program's /branch does. Lines other than entries have no
// member for it.
func setSource(record []byte, parent string) []byte {
	id, had := rawjson.Get(record, "uuid"), rawjson.Get(record, "forkedFrom")
	switch {
	case parent == "":
		return rawjson.Delete(record, "forkedFrom")
	case id == nil && had == nil:
		return record
	}
	return rawjson.Set(record, "forkedFrom", source(parent, id))
}

// source names a session by its id or its path, and an entry of it; a nil id names no entry.
func source(parent string, id []byte) []byte {
	var w dialect.Object
	w.Str("sessionId", strings.TrimSuffix(path.Base(parent), ".jsonl"))
	if id != nil {
		w.Add("messageUuid", id)
	}
	return w.End()
}

// Copy returns a line for a copy of its session: with the new session id, and with the new working directory if that
// differs.
func (d *Dialect) Copy(record []byte, from session.Header, to dialect.NewSession) []byte {
	if rawjson.Get(record, "sessionId") != nil || rawjson.Get(record, "uuid") != nil {
		record = rawjson.Set(record, "sessionId", rawjson.Quote(string(to.ID)))
	}
	if rawjson.Get(record, "session_id") != nil {
		record = rawjson.Set(record, "session_id", rawjson.Quote(string(to.ID)))
	}
	if cwd := rawjson.Get(record, "cwd"); cwd != nil && to.CWD != from.CWD && rawjson.Str(record, "cwd") == from.CWD {
		record = rawjson.Set(record, "cwd", rawjson.Quote(to.CWD))
	}
	return setSource(record, to.Parent)
}
