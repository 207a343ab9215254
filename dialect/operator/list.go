package operator

import (
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Lister = (*Dialect)(nil)

// Shows accepts every log directly in the folder, and all of them if all is set.
func (d *Dialect) Shows(name string, all bool) bool { return all || !strings.Contains(name, "/") }

// List returns a session's row with the program's members. The time of last use is that of the last message, or else of the header; for
// the document it is that of the file. The program never fills in the name; here an entry may provide it.
func (d *Dialect) List(t *session.Tree, path string, changed time.Time) (dialect.Listing, error) {
	p := peek{Peeker: dialect.Peeker{Text: new(rawjson.Text)}}
	for e := range t.Entries() {
		if e.Kind != session.KindMessage && e.Kind != session.KindSessionInfo {
			continue
		}
		raw, err := e.Raw()
		if err != nil {
			return dialect.Listing{}, err
		}
		var m members
		if m.scan(p.Text, raw) {
			p.entry(&m)
		}
	}
	h := t.Header()
	l := dialect.Listing{CWD: h.CWD, Modified: changed}
	// The program's list uses the last message, even if the file was changed later.
	if d.Where.(layout).order == dialect.OrderActive {
		used := session.Time{Text: string(p.used)}
		if p.used == nil {
			used = h.Timestamp
		}
		if at, ok := used.Time(); ok {
			l.Modified = at
		}
	}
	var w dialect.Object
	w.Str("path", path)
	w.Str("id", string(h.ID))
	w.Str("cwd", h.CWD)
	w.Optional("name", p.Title)
	w.Optional("parent_session", h.Parent)
	if at, ok := h.Timestamp.Time(); ok {
		w.Add("created", seconds(at))
	}
	w.Add("modified", seconds(l.Modified))
	w.Add("message_count", strconv.AppendInt(nil, int64(p.Messages), 10))
	l.JSON = w.End()
	return l, nil
}

// Recent names a session by its name, its first prompt, its id or its file, whichever is found first.
func (d *Dialect) Recent(head []byte, path string) (dialect.Recent, bool) {
	head = head[:min(len(head), dialect.RecentHead)]
	s := d.Peek(head, nil, false)
	if !s.OK {
		return dialect.Recent{}, false
	}
	return dialect.NameRecent(s.Title, s.Prompt, string(s.ID), strings.TrimSuffix(filepath.Base(path), ".jsonl")), true
}
