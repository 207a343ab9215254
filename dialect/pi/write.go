package pi

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Writer = (*Dialect)(nil)

// leafType is the type of the custom entry that makes a branch survive a restart. Its parent is the entry to continue from:
// the programs of the family resume at the last entry of the file.
const leafType = "treeline.leaf"

// Habits describes the program, as observed, except that a prompt is written before it is answered: see
// dialect.Habits.
func (d *Dialect) Habits() dialect.Habits {
	h := dialect.Habits{Branches: true, Labels: true, LeafType: leafType, Defer: d.wait,
		RenameByEntry: true, RelabelKeepsTime: true, ListsByCWD: true, OldestHeader: `{"type":"session","id":"x"}`}
	if d.omp {
		h.FromTarget, h.ForkByID = true, true
		h.RenameByEntry, h.RelabelKeepsTime, h.ListsByCWD = false, false, false
	}
	return h
}

// Header returns the first record of a session.
func (d *Dialect) Header(n dialect.NewSession) ([]byte, error) {
	if err := d.CheckID(n.ID); err != nil {
		return nil, err
	}
	w := object(`"type":"session"`)
	w.Add("version", strconv.AppendInt(nil, version, 10))
	w.Str("id", string(n.ID))
	w.Add("timestamp", dialect.ISO(n.Time))
	w.Str("cwd", n.CWD)
	if d.omp {
		w.Optional("title", n.Title)
	}
	w.Optional("parentSession", n.Parent)
	return w.End(), nil
}

// EditHeader changes a header, and the title slot if there is one. Other members keep their bytes.
func (d *Dialect) EditHeader(h session.Header, slot []byte, edit dialect.HeaderEdit) (header, newSlot []byte, err error) {
	raw := h.Raw
	if h.Version < version {
		raw = rawjson.Set(raw, "version", strconv.AppendInt(nil, version, 10))
	}
	if edit.ID != nil {
		if err := d.CheckID(*edit.ID); err != nil {
			return nil, nil, err
		}
		raw = rawjson.Set(raw, "id", rawjson.Quote(string(*edit.ID)))
	}
	if edit.Time != nil {
		raw = rawjson.Set(raw, "timestamp", dialect.ISO(*edit.Time))
	}
	raw = dialect.SetText(raw, "cwd", edit.CWD, true)
	raw = dialect.SetText(raw, "parentSession", edit.Parent, false)
	return d.editTitle(h, raw, slot, edit)
}

// editTitle changes the title in a header and in its slot. A slot takes precedence over the header, also for the source of the
// title: the user or the program.
func (d *Dialect) editTitle(h session.Header, raw, slot []byte, edit dialect.HeaderEdit) (header, newSlot []byte, err error) {
	title, source := h.Title, rawjson.Str(raw, "titleSource")
	if slot != nil {
		source = rawjson.Str(slot, "source")
	}
	if edit.Title != nil {
		title, source = *edit.Title, "user"
	}
	if title == "" {
		source = "" // the program may then choose a title
	}
	// A copy may have no slot, so the title goes into the header.
	if edit.Title != nil || slot != nil && edit.Copy {
		raw = dialect.SetText(raw, "title", &title, false)
		if slot != nil || rawjson.Get(raw, "titleSource") != nil {
			raw = dialect.SetText(raw, "titleSource", &source, false)
		}
	}
	switch {
	case edit.Copy && d.newer.slot:
		slot = fitSlot(d.NewSlot(dialect.NewSession{Time: *edit.Time}), title, source, *edit.Time)
	case edit.Copy:
		slot = nil
	case slot != nil && edit.Title != nil:
		slot = fitSlot(slot, title, source, edit.Now())
	}
	return raw, slot, nil
}

// slotSize is the length of a title slot without its newline: omp overwrites it in place.
const slotSize = 255

// NewSlot returns the title slot of a new log; nil if the value writes none.
func (d *Dialect) NewSlot(n dialect.NewSession) []byte {
	if !d.newer.slot {
		return nil
	}
	source := ""
	if n.Title != "" {
		source = "user"
	}
	return fitSlot([]byte(`{"type":"title","v":1}`), n.Title, source, n.Time)
}

// fitSlot puts a title into a slot, with its source and the time of the change, in the program's order of members. A title
// that does not fit is cut between characters, so that the record keeps its length.
func fitSlot(slot []byte, title, source string, at time.Time) []byte {
	slot = rawjson.Delete(rawjson.Delete(slot, "updatedAt"), "pad")
	slot = rawjson.Set(slot, "title", []byte(`""`))
	slot = dialect.SetText(slot, "source", &source, false)
	slot = rawjson.Set(slot, "updatedAt", dialect.ISO(at))
	runes := []rune(title)
	for runes = runes[:min(len(runes), slotSize)]; ; runes = runes[:len(runes)-1] {
		s := rawjson.Set(slot, "title", rawjson.Quote(string(runes)))
		s = rawjson.Set(s, "pad", []byte(`""`))
		if pad := slotSize - len(s); pad >= 0 {
			return rawjson.Set(s, "pad", rawjson.Quote(strings.Repeat(" ", pad)))
		}
		if len(runes) == 0 {
			return s
		}
	}
}

// Record returns the record of a new entry, members in the order in which the programs write them. Messages, which nearly all
// entries are, do not use the method members.
func (d *Dialect) Record(n dialect.NewEntry) ([]byte, error) {
	kind, ok := typeOf(n.Body)
	if !ok {
		return nil, dialect.CannotHold(d.Called, n.Body)
	}
	message, isMessage := n.Body.(session.Message)
	const envelope = 160 // bytes with ids of the usual length, for a single allocation
	w := slices.Grow(dialect.Object(n.Room[:0]), envelope+len(message.JSON))
	w = rawjson.AppendString(append(w, `{"type":`...), kind)
	w = rawjson.AppendString(append(w, `,"id":`...), string(n.ID))
	if n.Parent != "" {
		w = rawjson.AppendString(append(w, `,"parentId":`...), string(n.Parent))
	} else {
		w = append(w, `,"parentId":null`...)
	}
	w = session.AppendTime(append(w, `,"timestamp":`...), n.Time)
	if isMessage {
		// A message comes from outside, so it is validated: an invalid one would damage the log.
		ok, tight := valid(message.JSON)
		if !ok || !rawjson.IsObject(message.JSON) {
			return nil, errNotObject
		}
		if w = append(w, `,"message":`...); tight {
			w = append(w, message.JSON...)
		} else {
			w = rawjson.AppendCompact(w, message.JSON)
		}
		return w.End(), nil
	}
	if err := d.members(&w, n.Body); err != nil {
		return nil, err
	}
	return w.End(), nil
}

// typeOf returns the type of a body; ok is false if the family has none.
func typeOf(b session.Body) (typ string, ok bool) {
	switch k := session.KindOf(b); k {
	case session.KindOpaque:
		o, _ := b.(session.Opaque)
		return o.Type, o.Type != "" && o.Type != "session" && o.Type != "title"
	case session.KindLeaf:
		return "", false
	default:
		return k.String(), true
	}
}

// valid is a faster rawjson.Valid. tight reports that there is certainly nothing to compact.
func valid(b []byte) (ok, tight bool) {
	t := dialect.GetText()
	defer dialect.PutText(t)
	t.Reset(b)
	end, tight, err := t.Tight(0)
	return err == nil && rawjson.SkipSpace(b, end) == len(b), tight && end == len(b)
}

var errNotObject = errors.New("the message must be a JSON object")

// NewID makes a UUID of version 7 or, for the document, a snowflake: 64 bits of time and random bits in 16 digits.
func (d *Dialect) NewID(t time.Time, random io.Reader) (session.ID, error) {
	if !d.snowflakes {
		return dialect.UUIDv7(t, random)
	}
	var b [3]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", err
	}
	// 1 January 2015, the epoch of the document's ids
	const epoch = 1420070400000
	n := uint64(t.UnixMilli()-epoch)<<22 | (uint64(b[0])<<16|uint64(b[1])<<8|uint64(b[2]))&0x3fffff
	return session.ID(fmt.Sprintf("%016x", n)), nil
}
