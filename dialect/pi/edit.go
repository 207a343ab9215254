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
	_ dialect.Exact   = (*Dialect)(nil)
)

// SetID changes the id of a record.
func (d *Dialect) SetID(record []byte, id session.EntryID) ([]byte, error) {
	return rawjson.Set(record, "id", rawjson.Quote(string(id))), nil
}

// Rechain changes the parent of a record, and what a compaction keeps. The parent of a root is null, as in the programs.
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

// Adopt keeps unknown members.
func (d *Dialect) Adopt(record, given []byte) []byte {
	return dialect.AdoptMembers(record, given, "parentId")
}

// IsSlot reports whether a record is the title slot of omp 18.
func (d *Dialect) IsSlot(record []byte) bool {
	return rawjson.IsObject(record) && rawjson.Str(record, "type") == "title"
}

// Exact reports whether a log is one of omp 18, which has a title slot.
func (d *Dialect) Exact(first []dialect.Record) bool {
	return d.newer.slot && len(first) > 0 && d.IsSlot(dialect.TrimBOM(first[0].Data))
}

// Encode returns the record of an entry that was read: its own bytes, unless its log is of an old version. Then the members
// that the migration changes are changed and all others stay. Reading an old log changes nothing on disk; the log is rewritten
// when the session is opened for writing.
func (d *Dialect) Encode(e session.Entry) ([]byte, error) {
	raw, err := e.Raw()
	if err != nil || !e.Migrated {
		return raw, err
	}
	// in version 1: derived ids, and parents by position
	if e.NativeID != e.ID {
		raw = rawjson.Set(raw, "id", rawjson.Quote(string(e.ID)))
		parent := []byte("null")
		if e.Parent != "" {
			parent = rawjson.Quote(string(e.Parent))
		}
		raw = rawjson.Set(raw, "parentId", parent)
	}
	if kept, ok := e.FirstKept(); ok {
		raw = rawjson.Delete(raw, "firstKeptEntryIndex")
		if kept != "" {
			raw = rawjson.Set(raw, "firstKeptEntryId", rawjson.Quote(string(kept)))
		}
	}
	// omp named a model in two members before version 3, and has named it in one since.
	if c := d.modelChange(e, raw); e.Kind == session.KindModelChange && d.omp && c.Split {
		raw = rawjson.Delete(rawjson.Delete(raw, "provider"), "modelId")
		raw = rawjson.Set(raw, "model", rawjson.Quote(c.Model))
	}
	if m := rawjson.Get(raw, "message"); m != nil {
		// hookMessage and custom differ in length, so comparing lengths finds every change
		if now := d.migrated(e, m); len(now) != len(m) {
			raw = rawjson.Set(raw, "message", now)
		}
	}
	return raw, nil
}
