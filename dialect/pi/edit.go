package pi

import (
	"errors"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var (
	_ dialect.Editor  = (*Dialect)(nil)
	_ dialect.Namer   = (*Dialect)(nil)
	_ dialect.Adopter = (*Dialect)(nil)
	_ dialect.Slotted = (*Dialect)(nil)
)

// SetID changes the id of a record.
func (d *Dialect) SetID(record []byte, id session.EntryID) ([]byte, error) {
	return rawjson.Set(record, "id", rawjson.Quote(string(id))), nil
}

// Rechain changes the parent of a record, and what a compaction keeps.
// A root has null and not nothing, as the programs write it. Everything else in the record keeps its spelling.
func (d *Dialect) Rechain(record []byte, parent, keep session.EntryID) ([]byte, error) {
	value := []byte("null")
	if parent != "" {
		value = rawjson.Quote(string(parent))
	}
	record = rawjson.Set(record, "parentId", value)
	if keep != "" {
		record = rawjson.Set(record, "firstKeptEntryId", rawjson.Quote(string(keep)))
	}
	return record, nil
}

// SetArguments changes the arguments of one tool call.
func (d *Dialect) SetArguments(record []byte, callID string, arguments []byte) ([]byte, bool, error) {
	if !rawjson.Valid(arguments) {
		return nil, false, errors.New("the arguments are not JSON")
	}
	message := rawjson.Get(record, "message")
	found := false
	content := rawjson.MapElements(rawjson.Get(message, "content"), func(block []byte) []byte {
		if rawjson.Str(block, "type") == "toolCall" && rawjson.Str(block, "id") == callID {
			block = rawjson.Set(block, "arguments", rawjson.Compact(arguments))
			found = true
		}
		return block
	})
	if !found {
		return record, false, nil
	}
	message = rawjson.Set(message, "content", content)
	return rawjson.Set(record, "message", message), true, nil
}

// Adopt keeps members that another version knows.
func (d *Dialect) Adopt(record, given []byte) []byte {
	return dialect.AdoptMembers(record, given, "parentId")
}

// IsSlot recognises the title slot of omp 18.
func (d *Dialect) IsSlot(record []byte) bool {
	return rawjson.IsObject(record) && rawjson.Str(record, "type") == "title"
}
