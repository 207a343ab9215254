package wave

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var (
	_ dialect.Writer = (*Dialect)(nil)
	_ dialect.Editor = (*Dialect)(nil)
)

// Habits describes a linear session without branches, labels and names. Headerless: the first message has the working directory.
func (d *Dialect) Habits() dialect.Habits {
	return dialect.Habits{Defer: d.wait, Headerless: !d.metadata, Nameless: true, DropsEmptyFolders: true, ResolvesCWD: true,
		ContinuesListed: true, ResultsInCalls: true, KeepsByRepeating: true}
}

// Header returns the metadata line; nil if the first message replaces it.
func (d *Dialect) Header(n dialect.NewSession) ([]byte, error) {
	if !d.metadata {
		return nil, nil
	}
	var o dialect.Object
	o.Add("type", []byte(`"metadata"`))
	o.Optional("workdir", n.CWD) // a converted session may not have one
	o.Add("createdAt", dialect.ISO(n.Time))
	if n.Parent != "" {
		o.Add(ours, own("", n.Parent))
	}
	return rawjson.EscapeBreaks(o.End()), nil
}

// own returns the member that holds what the format itself cannot, without empty values.
func own(workdir, parent string) []byte {
	var o dialect.Object
	o.Optional("workdir", workdir)
	o.Optional("parent", parent)
	return o.End()
}

// EditHeader changes the metadata line, or the first message in its place. The id is the name of the file, and there are no
// titles. Without a metadata line the time is in the file name or the first message, and does not change.
func (d *Dialect) EditHeader(h session.Header, _ []byte, edit dialect.HeaderEdit) (header, slot []byte, err error) {
	raw := h.Raw
	if edit.Title != nil && *edit.Title != "" {
		return nil, nil, fmt.Errorf("a session of %s has no title", d.Called)
	}
	if h.InEntry {
		metadata := rawjson.Get(raw, "metadata")
		if !rawjson.IsObject(metadata) {
			// A metadata member that is not an object is not ours and stays.
			if metadata != nil || edit.CWD == nil && edit.Parent == nil {
				return raw, nil, nil // there is no place for the values
			}
			metadata = []byte("{}")
		}
		if changed := editOwn(rawjson.Get(metadata, ours), edit.CWD, edit.Parent); changed != nil {
			raw = rawjson.Set(raw, "metadata", rawjson.Set(metadata, ours, changed))
		}
		return raw, nil, nil
	}
	raw = dialect.SetText(raw, "workdir", edit.CWD, true)
	if edit.Time != nil {
		raw = rawjson.Set(raw, "createdAt", dialect.ISO(*edit.Time))
	}
	if edit.Parent != nil {
		switch changed := editOwn(rawjson.Get(raw, ours), nil, edit.Parent); {
		case string(changed) == "{}":
			raw = rawjson.Delete(raw, ours)
		case changed != nil:
			raw = rawjson.Set(raw, ours, changed)
		}
	}
	return raw, nil, nil
}

// editOwn changes our own member; nil if nothing changes. An empty text removes a value.
func editOwn(value []byte, workdir, parent *string) []byte {
	if workdir == nil && parent == nil {
		return nil
	}
	if !rawjson.IsObject(value) {
		value = []byte("{}")
	}
	value = dialect.SetText(value, "workdir", workdir, false)
	return dialect.SetText(value, "parent", parent, false)
}

// Record returns the line of a new message, members in the order of the program or the document. Unknown members follow.
func (d *Dialect) Record(n dialect.NewEntry) ([]byte, error) {
	var m []byte
	switch b := n.Body.(type) {
	case session.Message:
		m = b.JSON
	case session.Compaction:
		// The program repeats kept messages after the compaction, which cannot name them.
		if b.FirstKept != "" {
			return nil, dialect.CannotKeep(d.Called)
		}
		m = oneBlock(session.RoleAssistant, "compact", b.Summary)
	default:
		return nil, fmt.Errorf("a session of %s holds only messages and compactions: an entry of the kind %s is %w", d.Called, session.KindOf(n.Body), dialect.ErrUnsupported)
	}
	if !rawjson.IsObject(m) || !rawjson.Valid(m) {
		return nil, errors.New("the message must be a JSON object")
	}
	// A message may have a time, in any spelling of ISO 8601.
	at := rawjson.Get(m, "timestamp")
	if at == nil {
		at = dialect.ISO(n.Time)
	}
	// The program does not find a session that has a bad line, so such a message is refused.
	if wrong := violations(rawjson.Inside(rawjson.Get(m, "role")), rawjson.Get(m, "blocks"), at); wrong != nil {
		return nil, fmt.Errorf("the message breaks a rule of wave's: %s", wrong[0])
	}
	if t := rawjson.Get(m, "type"); t != nil {
		return nil, fmt.Errorf("a message of wave has no type, this one is a %s", dialect.Shorten(t))
	}
	return d.line(n, rawjson.Compact(m), at)
}

// line encodes a message with its envelope.
func (d *Dialect) line(n dialect.NewEntry, m, at []byte) ([]byte, error) {
	var o dialect.Object
	if d.ids { // the program writes the time first
		o.Add("timestamp", at)
		o.Str("id", string(n.ID))
	}
	o.Copy(m, "role", "blocks")
	if !d.ids {
		o.Add("timestamp", at)
	}
	metadata := rawjson.Get(m, "metadata")
	// In the document's form the first message holds the content of the metadata line.
	if !d.metadata && n.Parent == "" && n.Header != nil && (n.Header.CWD != "" || n.Header.Parent != "") {
		if metadata == nil {
			metadata = []byte("{}")
		}
		if !rawjson.IsObject(metadata) {
			return nil, errors.New("the metadata of a message must be an object")
		}
		metadata = rawjson.Set(metadata, ours, own(n.Header.CWD, n.Header.Parent))
	}
	o.Others(m, "timestamp", "id", "role", "blocks", "metadata")
	if metadata != nil {
		o.Add("metadata", metadata)
	}
	return rawjson.EscapeBreaks(o.End()), nil
}

// NewID makes a UUID of version 6. The program makes random ones and accepts these as well.
func (d *Dialect) NewID(t time.Time, random io.Reader) (session.ID, error) {
	u, err := ids.New(t, random)
	return session.ID(u.String()), err
}

// CheckID returns an error if an id is not valid: the program accepts any UUID in lower case, the document only one of version 6.
func (d *Dialect) CheckID(id session.ID) error {
	if !d.metadata {
		return checkV6(string(id))
	}
	_, err := ParseUUID(string(id))
	return err
}

// NewEntryID makes a message id as the program does.
func (d *Dialect) NewEntryID(random io.Reader) (session.EntryID, error) {
	var u UUID
	if _, err := io.ReadFull(random, u[:]); err != nil {
		return "", err
	}
	if !d.ids {
		return session.EntryID(hex.EncodeToString(u[:4])), nil // this id is not written: the log determines the entry's id
	}
	return session.EntryID("msg-" + dialect.UUIDv4(u)), nil
}

// Rechain changes nothing: the parents follow from the order of the records.
func (d *Dialect) Rechain(record []byte, _, _ session.EntryID) ([]byte, error) { return record, nil }

// SetArguments changes the parameters of one tool call, which are JSON in a string.
func (d *Dialect) SetArguments(record []byte, callID string, arguments []byte) ([]byte, bool, error) {
	if !rawjson.Valid(arguments) {
		return nil, false, errors.New("the arguments are not JSON")
	}
	changed := false
	blocks := rawjson.MapElements(rawjson.Get(record, "blocks"), func(b []byte) []byte {
		if rawjson.IsObject(b) && rawjson.Str(b, "type") == "tool" && rawjson.Str(b, "id") == callID {
			b = rawjson.Set(b, "parameters", rawjson.Quote(string(rawjson.Compact(arguments))))
			changed = true
		}
		return b
	})
	if !changed {
		return record, false, nil
	}
	return rawjson.Set(record, "blocks", blocks), true, nil
}

// oneBlock is a message that consists of one text.
func oneBlock(role session.Role, typ, content string) []byte {
	var block, o dialect.Object
	block.Str("type", typ)
	block.Str("content", content)
	o.Str("role", role.String())
	o.Add("blocks", dialect.Array([][]byte{block.End()}))
	return o.End()
}

// Adopt keeps members that a compaction does not have. A record without an id is the whole message.
func (d *Dialect) Adopt(record, given []byte) []byte {
	if !d.ids {
		return record
	}
	return dialect.AdoptMembers(record, given)
}
