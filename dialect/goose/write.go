package goose

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/rowlog"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var (
	_ dialect.Writer  = (*Dialect)(nil)
	_ dialect.Stamper = (*Dialect)(nil)
	_ dialect.Framer  = (*Dialect)(nil)
)

// Habits describes a linear log. A compaction hides existing messages.
func (d *Dialect) Habits() dialect.Habits {
	return dialect.Habits{Defer: dialect.DeferMessage, ForkByID: true, ListsByCWD: true, ContinuesListed: true, CompactsInPlace: true}
}

// Header returns the row of a new session.
func (d *Dialect) Header(n dialect.NewSession) ([]byte, error) {
	var w dialect.Object
	w.Str("id", string(n.ID))
	if n.Title != "" {
		w.Str("name", n.Title)
		w.Add("user_set_name", []byte("1"))
	}
	w.Str("working_dir", n.CWD)
	w.Str("created_at", n.Time.UTC().Format(sqlTime))
	row := w.End()
	if n.Parent != "" {
		row = setParent(row, n.Parent)
	}
	return form.WithRow(nil, row), nil
}

// setExtension sets a member of the extension data of a session; nil removes it.
func setExtension(row []byte, name string, value []byte) []byte {
	data := rawjson.Get(row, "extension_data")
	if !rawjson.IsObject(data) {
		data = []byte("{}")
	}
	if value == nil {
		data = rawjson.Delete(data, name)
	} else {
		data = rawjson.Set(data, name, value)
	}
	if string(data) == "{}" { // the default value of the column
		data = nil
	}
	return form.SetColumn(row, "extension_data", data)
}

// setParent names the session that this one comes from, in our own member, because the program's column is for sub-agents.
func setParent(row []byte, parent string) []byte {
	if parent == "" {
		return setExtension(row, ownMember, nil)
	}
	return setExtension(row, ownMember, rawjson.Set([]byte("{}"), "parent", rawjson.Quote(parent)))
}

// EditHeader changes columns of the row. A copy is a separate session, not that of a sub-agent, and has cost nothing yet.
func (d *Dialect) EditHeader(h session.Header, _ []byte, edit dialect.HeaderEdit) (record, slot []byte, err error) {
	row := form.Row(h.Raw)
	if edit.Copy {
		for _, name := range []string{"parent_session_id", "session_type", "accumulated_cost", "schedule_id", "archived_at"} {
			row = form.SetColumn(row, name, nil)
		}
	}
	if edit.ID != nil {
		if err := d.CheckID(*edit.ID); err != nil {
			return nil, nil, err
		}
		row = form.SetColumn(row, "id", rawjson.Quote(string(*edit.ID)))
	}
	if edit.Time != nil {
		row = form.SetColumn(row, "created_at", rawjson.Quote(edit.Time.UTC().Format(sqlTime)))
	}
	if edit.CWD != nil {
		row = form.SetColumn(row, "working_dir", rawjson.Quote(*edit.CWD))
	}
	if edit.Title != nil {
		row = form.SetColumn(form.SetColumn(row, "name", nil), "description", nil)
		row = form.SetColumn(row, "user_set_name", nil)
		if *edit.Title != "" {
			row = form.SetColumn(form.SetColumn(row, "name", rawjson.Quote(*edit.Title)), "user_set_name", []byte("1"))
		}
	}
	if edit.Parent != nil {
		row = setParent(row, *edit.Parent)
	}
	return form.WithRow(h.Raw, row), nil, nil
}

// CheckID says why an id is not valid.
func (d *Dialect) CheckID(id session.ID) error { return dialect.CheckFileID(id) }

// NewID makes an id of the day. The program numbers the sessions of a day and continues from the greatest number; a suffix that begins with
// a letter does not count.
func (d *Dialect) NewID(t time.Time, random io.Reader) (session.ID, error) {
	s, err := randomHex(random, 5)
	return session.ID(t.UTC().Format("20060102") + "_t" + s), err
}

// NewEntryID makes the id of a message.
func (d *Dialect) NewEntryID(random io.Reader) (session.EntryID, error) {
	id, err := dialect.NewUUID(random)
	return session.EntryID("msg_" + id), err
}

func randomHex(random io.Reader, n int) (string, error) {
	b := make([]byte, n)
	_, err := io.ReadFull(random, b)
	return hex.EncodeToString(b), err
}

// Record returns the record of a new entry. Frame gives it its time.
func (d *Dialect) Record(n dialect.NewEntry) ([]byte, error) {
	b, ok := n.Body.(session.Message)
	if !ok {
		return nil, dialect.CannotHold("Goose", n.Body)
	}
	content, metadata := rawjson.Get(b.JSON, "content"), rawjson.Get(b.JSON, "metadata")
	if !rawjson.Valid(b.JSON) || !rawjson.IsArray(content) || metadata != nil && !rawjson.IsObject(metadata) {
		return nil, errors.New(`a message of Goose is {"role":…,"content":[…],"metadata":{…}}, as the program exports it`)
	}
	for c := range rawjson.Elements(content) {
		if why := violation(c); why != "" {
			return nil, fmt.Errorf("%s: with it Goose could not read the session", why)
		}
	}
	role := rawjson.Str(b.JSON, "role")
	if role != "user" && role != "assistant" {
		return nil, fmt.Errorf("no messages of the role %.40q in Goose", role)
	}
	var w dialect.Object
	w.Str("message_id", string(n.ID))
	in := ""
	if n.Header != nil {
		in = string(n.Header.ID)
	}
	w.Str("session_id", in)
	w.Str("role", role)
	w.Add("content_json", line(content))
	w.Add("created_timestamp", rowlog.Integer(n.Time.Unix()))
	if metadata != nil {
		w.Add("metadata_json", line(metadata))
	}
	return form.Record(w.End()), nil
}

// line returns JSON in one line.
func line(json []byte) []byte { return rawjson.EscapeBreaks(rawjson.Compact(json)) }

// Frame gives messages times that do not run backwards, because messages are ordered by time.
func (d *Dialect) Frame(t *session.Tree, batch iter.Seq[dialect.NewRecord]) iter.Seq2[dialect.Framed, error] {
	return form.Frame(t, "created_timestamp", batch)
}

// Copy returns a record for a copy of its session.
func (d *Dialect) Copy(raw []byte, _ session.Header, to dialect.NewSession) []byte {
	row := form.Said(raw)
	if row == nil {
		return raw
	}
	return form.Record(rawjson.Set(row, "session_id", rawjson.Quote(string(to.ID))))
}
