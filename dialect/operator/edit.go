package operator

import (
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var (
	_ dialect.Editor  = (*Dialect)(nil)
	_ dialect.Adopter = (*Dialect)(nil)
)

// Encode returns the record of an entry that was read: its own bytes, unless its log is the document's and the program is
// to read it (then Migrated is set, see decoder.begin). In that case the type becomes the program's name, a compaction gets
// the token count that the program requires, and all other members stay as they are.
func (d *Dialect) Encode(e session.Entry) ([]byte, error) {
	raw, err := e.Raw()
	if err != nil || !e.Migrated {
		return raw, err
	}
	switch e.Type {
	case OperatorDoc.branch:
		raw = rawjson.Set(raw, "type", rawjson.Quote(d.branch))
	case OperatorDoc.custom:
		raw = rawjson.Set(raw, "type", rawjson.Quote(d.custom))
	case "compaction":
		if rawjson.IsNull(rawjson.Get(raw, "tokens_before")) {
			raw = rawjson.Set(raw, "tokens_before", noTokens)
		}
	}
	if e.NativeID != e.ID {
		raw = rawjson.Set(raw, "id", rawjson.Quote(string(e.ID)))
	}
	// The record is rewritten anyway. With unescaped line breaks, the program would lose it.
	return rawjson.EscapeBreaks(raw), nil
}

// Rechain changes the parent of a record, and what a compaction keeps. A root of the program has no parent_id.
func (d *Dialect) Rechain(record []byte, parent, keep session.EntryID) ([]byte, error) {
	if value := d.parent(parent); value != nil {
		record = rawjson.Set(record, "parent_id", value)
	} else {
		record = rawjson.Delete(record, "parent_id")
	}
	if keep != "" {
		record = rawjson.Set(record, "first_kept_entry_id", rawjson.Quote(string(keep)))
	}
	return rawjson.EscapeBreaks(record), nil
}

// SetArguments changes the arguments of one tool call.
func (d *Dialect) SetArguments(record []byte, callID string, arguments []byte) ([]byte, bool, error) {
	edited, changed, err := dialect.SetArguments(record, callID, arguments, "contents", "tool_call", "args")
	if changed {
		edited = rawjson.EscapeBreaks(edited)
	}
	return edited, changed, err
}

// Adopt keeps unknown members.
func (d *Dialect) Adopt(record, given []byte) []byte {
	return dialect.AdoptMembers(record, given, "parent_id")
}

var _ dialect.Namer = (*Dialect)(nil)

// SetID changes the id of a record.
func (d *Dialect) SetID(record []byte, id session.EntryID) ([]byte, error) {
	return rawjson.EscapeBreaks(rawjson.Set(record, "id", rawjson.Quote(string(id)))), nil
}
