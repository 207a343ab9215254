package operator

import (
	"errors"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var (
	_ dialect.Editor  = (*Dialect)(nil)
	_ dialect.Adopter = (*Dialect)(nil)
)

// Encode gives the record of an entry that was read: its own bytes, unless its log is the document's and the program is
// to read it. Then the type gets the program's name, a compaction gets the count that the program insists on, and all
// other members stay as they are.
// Migrated is set for entries of a document's log that is read as the program's; see decoder.begin.
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
	// Also what was read is escaped here: it is rewritten anyway, and the program would lose the entry.
	return escape(raw), nil
}

// Rechain changes the parent of a record, and what a compaction keeps.
// A root has no parent_id at all, as the program writes it.
func (d *Dialect) Rechain(record []byte, parent, keep session.EntryID) ([]byte, error) {
	if parent == "" {
		record = rawjson.Delete(record, "parent_id")
	} else {
		record = rawjson.Set(record, "parent_id", rawjson.Quote(string(parent)))
	}
	if keep != "" {
		record = rawjson.Set(record, "first_kept_entry_id", rawjson.Quote(string(keep)))
	}
	return escape(record), nil
}

// SetArguments changes the arguments of one tool call.
func (d *Dialect) SetArguments(record []byte, callID string, arguments []byte) ([]byte, bool, error) {
	if !rawjson.Valid(arguments) {
		return nil, false, errors.New("the arguments are not JSON")
	}
	message := rawjson.Get(record, "message")
	found := false
	contents := rawjson.MapElements(rawjson.Get(message, "contents"), func(block []byte) []byte {
		if rawjson.Str(block, "type") == "tool_call" && rawjson.Str(block, "id") == callID {
			block = rawjson.Set(block, "args", rawjson.Compact(arguments))
			found = true
		}
		return block
	})
	if !found {
		return record, false, nil
	}
	message = rawjson.Set(message, "contents", contents)
	return escape(rawjson.Set(record, "message", message)), true, nil
}

// Adopt keeps members that another version knows.
func (d *Dialect) Adopt(record, given []byte) []byte {
	return dialect.AdoptMembers(record, given, "parent_id")
}
