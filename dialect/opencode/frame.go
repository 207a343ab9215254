package opencode

import (
	"fmt"
	"iter"
	"strconv"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Framer = (*Dialect)(nil)

// Frame gives each message its place. Messages are ordered by time and id, so each new one gets a later time and a greater id than
// the one before. The number in the id continues from the last message and not from the clock: the program compares the ids of old
// messages with those that it makes from the time, and does not answer if the old ones are greater. An answer names the
// prompt before it; a compaction is requested by a separate message.
func (d *Dialect) Frame(t *session.Tree, batch iter.Seq[dialect.NewRecord]) iter.Seq2[dialect.Framed, error] {
	return func(yield func(dialect.Framed, error) bool) {
		f := framing{ids: map[session.EntryID]string{}}
		if err := f.begin(t); err != nil {
			yield(dialect.Framed{}, err)
			return
		}
		for n := range batch {
			out, err := f.entry(n)
			if !yield(out, err) || err != nil {
				return
			}
		}
	}
}

// framing is the state of a log to which messages are appended.
type framing struct {
	time   int64 // time of the last message, in milliseconds
	number uint64
	prompt string // the id of the last prompt
	ids    map[session.EntryID]string
}

// begin reads the log.
func (f *framing) begin(t *session.Tree) error {
	if at := rawjson.Str(rawjson.Get(rowOf(t.Header().Raw), "revert"), "messageID"); at != "" && t.Has(session.EntryID(at)) {
		return fmt.Errorf("going on with a session whose last messages were reverted is %w: OpenCode deletes them first; let the program go on, or fork the session",
			dialect.ErrUnsupported)
	}
	for e := range t.Entries() {
		if n, ok := numberOf(string(e.ID)); ok {
			f.number = max(f.number, n)
		}
	}
	for i := t.Len() - 1; i >= 0; i-- {
		e := t.At(i)
		raw, err := e.Raw()
		if err != nil {
			return err
		}
		f.time = max(f.time, dialect.Integer(rawjson.Get(rawjson.Get(raw, "message"), "time_created")))
		if e.Role == session.RoleUser {
			f.prompt = string(e.ID)
			break
		}
	}
	return nil
}

// numberOf is the number in an id.
func numberOf(id string) (uint64, bool) {
	if len(id) < 16 {
		return 0, false
	}
	n, err := strconv.ParseUint(id[4:16], 16, 64)
	return n, err == nil
}

// entry frames one message.
func (f *framing) entry(n dialect.NewRecord) (out dialect.Framed, err error) {
	if n.Moved {
		return out, fmt.Errorf("going on after entry %s is %w: a session of OpenCode has no branches; fork the session there instead", n.Parent, dialect.ErrUnsupported)
	}
	info := rawjson.Get(rawjson.Get(n.Record, "message"), "data")
	if string(rawjson.Get(info, "summary")) == "true" {
		asked := n.NewEntry
		var part dialect.Object
		part.Str("type", "compaction")
		part.Add("auto", []byte("false"))
		if kept := rawjson.Str(info, keptMember); kept != "" {
			if now, ok := f.ids[session.EntryID(kept)]; ok {
				kept = now
			}
			part.Str("tail_start_id", kept)
		}
		asked.ID += "c"
		ask := record(asked, userInfo(dialect.NewMessage{Time: n.Time}), [][]byte{part.End()})
		out.Before = append(out.Before, f.place(ask, asked.ID))
		info = rawjson.Delete(info, keptMember)
		n.Record = setData(n.Record, info)
	}
	out.Record = f.place(n.Record, n.ID)
	return out, nil
}

// place gives a message its time and ids.
func (f *framing) place(raw []byte, proposed session.EntryID) []byte {
	row := rawjson.Get(raw, "message")
	f.time = max(f.time+1, dialect.Integer(rawjson.Get(row, "time_created")))
	f.number = (f.number + 1) & (1<<48 - 1)
	old := string(proposed)
	id := fmt.Sprintf("msg_%012x%s", f.number, tailOf(old))
	f.ids[proposed] = id
	info := rawjson.Get(row, "data")
	if times := rawjson.Get(info, "time"); rawjson.IsObject(times) {
		times = rawjson.Set(times, "created", millis(f.time))
		if done := rawjson.Get(times, "completed"); done != nil && dialect.Integer(done) < f.time {
			times = rawjson.Set(times, "completed", millis(f.time))
		}
		info = rawjson.Set(info, "time", times)
	}
	if rawjson.Str(info, "role") == "assistant" {
		info = rawjson.Set(info, "parentID", rawjson.Quote(f.prompt))
	} else {
		f.prompt = id
	}
	fix := func(row []byte) []byte {
		row = rawjson.Set(row, "time_created", millis(f.time))
		return rawjson.Set(row, "time_updated", millis(f.time))
	}
	row = fix(rawjson.Set(rawjson.Set(row, "id", rawjson.Quote(id)), "data", info))
	raw = rawjson.Set(raw, "message", row)
	k := -1
	return rawjson.Set(raw, "part", rawjson.MapElements(rawjson.Get(raw, "part"), func(p []byte) []byte {
		k++
		p = rawjson.Set(p, "id", rawjson.Quote(partID(id, k)))
		return fix(rawjson.Set(p, "message_id", rawjson.Quote(id)))
	}))
}

// tailOf is the random part of an id.
func tailOf(id string) string {
	if len(id) < suffixLength {
		return fmt.Sprintf("%0*s", suffixLength, id)
	}
	return id[len(id)-suffixLength:]
}

// setData changes the data of a message.
func setData(raw, info []byte) []byte {
	return rawjson.Set(raw, "message", rawjson.Set(rawjson.Get(raw, "message"), "data", info))
}
