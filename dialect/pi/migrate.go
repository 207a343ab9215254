package pi

import (
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Encode gives the record of an entry that was read: its own bytes, unless its log is of an old version. Then the members
// that the migration changes are changed and all others stay. Reading an old log changes nothing on disk; it is rewritten
// when the session is opened for writing.
func (d *Dialect) Encode(e session.Entry) ([]byte, error) {
	raw, err := e.Raw()
	if err != nil || !e.Migrated {
		return raw, err
	}
	// version 1: derived ids, and parents by position
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
	if m := rawjson.Get(raw, "message"); m != nil {
		// hookMessage and custom differ in length, so this sees every change
		if now := d.migrated(e, m); len(now) != len(m) {
			raw = rawjson.Set(raw, "message", now)
		}
	}
	return raw, nil
}
