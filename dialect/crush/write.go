package crush

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

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

// untitled is the title of a session that the program has not named yet.
const untitled = "Untitled Session"

// Habits describes a linear log. A compaction is a column of the session.
func (d *Dialect) Habits() dialect.Habits {
	return dialect.Habits{Defer: dialect.DeferMessage, ForkByID: true, ListsByCWD: true, ContinuesListed: true, CompactsInPlace: true}
}

// Header returns the row of a new session.
func (d *Dialect) Header(n dialect.NewSession) ([]byte, error) {
	var w dialect.Object
	w.Str("id", string(n.ID))
	w.Str("title", titleOf(n.Title))
	w.Add("created_at", rowlog.Integer(n.Time.Unix()))
	row := w.End()
	if n.Parent != "" {
		row = setOwn(row, "parent", rawjson.Quote(n.Parent))
	}
	return withProject(form.WithRow(nil, row), n.CWD), nil
}

func titleOf(title string) string {
	if title == "" {
		return untitled
	}
	return title
}

func withProject(record []byte, cwd string) []byte {
	return rawjson.Set(record, projectMember, rawjson.Quote(cwd))
}

// setOwn sets a member of our own object; nil removes it. In a session with a summary the column is in use:
// then nothing changes.
func setOwn(row []byte, name string, value []byte) []byte {
	own := ownOf(row)
	switch {
	case own == nil && rawjson.Str(row, "summary_message_id") != "":
		return row
	case own == nil:
		own = []byte("{}")
	}
	if value == nil {
		own = rawjson.Delete(own, name)
	} else {
		own = rawjson.Set(own, name, value)
	}
	if string(own) == "{}" {
		return form.SetColumn(row, "summary_message_id", nil)
	}
	return form.SetColumn(row, "summary_message_id", rawjson.Quote(ownPrefix+string(own)))
}

// EditHeader changes columns of the row. A copy is a session of its own and no sub-agent, and has used nothing yet; its messages have
// other ids.
func (d *Dialect) EditHeader(h session.Header, _ []byte, edit dialect.HeaderEdit) (record, slot []byte, err error) {
	row := form.Row(h.Raw)
	if edit.Copy {
		for _, name := range []string{"parent_session_id", "prompt_tokens", "completion_tokens", "cost"} {
			row = form.SetColumn(row, name, nil)
		}
		if id := rawjson.Str(row, "summary_message_id"); id != "" && ownOf(row) == nil && edit.ID != nil {
			row = form.SetColumn(row, "summary_message_id", rawjson.Quote(copyID(id, string(*edit.ID))))
		}
	}
	if edit.ID != nil {
		if err := d.CheckID(*edit.ID); err != nil {
			return nil, nil, err
		}
		row = form.SetColumn(row, "id", rawjson.Quote(string(*edit.ID)))
	}
	if edit.Time != nil {
		row = form.SetColumn(row, "created_at", rowlog.Integer(edit.Time.Unix()))
	}
	if edit.Title != nil {
		row = form.SetColumn(row, "title", rawjson.Quote(titleOf(*edit.Title)))
	}
	if edit.Parent != nil {
		var parent []byte
		if *edit.Parent != "" {
			parent = rawjson.Quote(*edit.Parent)
		}
		row = setOwn(row, "parent", parent)
	}
	record = form.WithRow(h.Raw, row)
	if edit.CWD != nil {
		record = withProject(record, *edit.CWD)
	}
	return record, nil, nil
}

// NewEntryID makes the id of a message, which is unique in the database.
func (d *Dialect) NewEntryID(random io.Reader) (session.EntryID, error) {
	id, err := dialect.NewUUID(random)
	return session.EntryID(id), err
}

// copyID is the id of the copy of a message; it is the same for each copy of the same message.
func copyID(id, session string) string {
	sum := sha256.Sum256([]byte(session + "\x00" + id))
	return dialect.UUIDv4([16]byte(sum[:16]))
}

// Record returns the record of a new entry. Frame gives it its time.
func (d *Dialect) Record(n dialect.NewEntry) ([]byte, error) {
	b, ok := n.Body.(session.Message)
	if !ok {
		return nil, dialect.CannotHold("Crush", n.Body)
	}
	parts, role := rawjson.Get(b.JSON, "parts"), rawjson.Str(b.JSON, "role")
	if !rawjson.Valid(b.JSON) || !rawjson.IsArray(parts) {
		return nil, errors.New(`a message of Crush is {"role":…,"parts":[{"type":…,"data":{…}}],"model":…,"provider":…}`)
	}
	if !slices.Contains([]string{"user", "assistant", "tool"}, role) {
		return nil, fmt.Errorf("no messages of the role %.40q in Crush", role)
	}
	for p := range rawjson.Elements(parts) {
		if why := violation(p); why != "" {
			return nil, fmt.Errorf("the message has %s: with it Crush could not read the session", why)
		}
	}
	in := ""
	if n.Header != nil {
		in = string(n.Header.ID)
	}
	at := rowlog.Integer(n.Time.Unix())
	var w dialect.Object
	w.Str("id", string(n.ID))
	w.Str("session_id", in)
	w.Str("role", role)
	if parts = rawjson.EscapeBreaks(rawjson.Compact(parts)); string(parts) != "[]" { // the default value of the column
		w.Add("parts", parts)
	}
	w.Optional("model", rawjson.Str(b.JSON, "model"))
	w.Add("created_at", at)
	w.Add("updated_at", at)
	if role == "assistant" {
		w.Add("finished_at", at)
	}
	w.Optional("provider", rawjson.Str(b.JSON, "provider"))
	return form.Record(w.End()), nil
}

// Frame gives messages times that do not run backwards: they are ordered by them.
func (d *Dialect) Frame(t *session.Tree, batch iter.Seq[dialect.NewRecord]) iter.Seq2[dialect.Framed, error] {
	return form.Frame(t, "created_at", batch, "updated_at")
}

// Copy returns a record for a copy of its session with new ids, because ids are unique in the database.
func (d *Dialect) Copy(raw []byte, _ session.Header, to dialect.NewSession) []byte {
	row := form.Said(raw)
	if row == nil {
		return raw
	}
	row = rawjson.Set(row, "id", rawjson.Quote(copyID(rawjson.Str(row, "id"), string(to.ID))))
	return form.Record(rawjson.Set(row, "session_id", rawjson.Quote(string(to.ID))))
}
