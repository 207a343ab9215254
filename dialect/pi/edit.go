package pi

import (
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

// Rechain changes the parent of a record, and what a compaction keeps. The parent of a root is null, as the programs write
// it.
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
	return dialect.SetArguments(record, callID, arguments, "content", "toolCall", "arguments")
}

// Adopt keeps members that another version knows.
func (d *Dialect) Adopt(record, given []byte) []byte {
	return dialect.AdoptMembers(record, given, "parentId")
}

// IsSlot recognises the title slot of omp 18.
func (d *Dialect) IsSlot(record []byte) bool {
	return rawjson.IsObject(record) && rawjson.Str(record, "type") == "title"
}
