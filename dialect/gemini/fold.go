package gemini

import (
	"iter"
	"path/filepath"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// message is a message of the conversation: the last record of its id.
type message struct {
	id    string
	entry session.Entry
	json  []byte
}

// fold computes the conversation from lines as the program does.
type fold struct {
	lost  map[int]bool
	list  []message
	index map[string]int
}

// upTo returns the conversation after the line at a position.
func (d *reader) upTo(t *session.Tree, last int, record func(session.Entry) ([]byte, error)) ([]message, error) {
	f := fold{lost: d.lost, index: map[string]int{}}
	for i := 0; i <= last; i++ {
		if err := f.line(t.At(i), record); err != nil {
			return nil, err
		}
	}
	return f.list, nil
}

// line takes one line.
func (f *fold) line(e session.Entry, record func(session.Entry) ([]byte, error)) error {
	if f.lost[e.Index] || e.Kind == session.KindSessionInfo || e.Aside() {
		return nil
	}
	raw, err := record(e)
	if err != nil {
		return err
	}
	switch e.Type {
	case typeRewind:
		f.rewind(rawjson.Str(raw, typeRewind))
	case typeSet:
		f.list = f.list[:0]
		clear(f.index)
		f.add(e, rawjson.Get(rawjson.Get(raw, typeSet), "messages"))
	case typeHeader:
		f.add(e, rawjson.Get(raw, "messages"))
	case typeCustom:
	default:
		f.upsert(message{rawjson.Str(raw, "id"), e, raw})
	}
	return nil
}

// add takes a list of messages.
func (f *fold) add(e session.Entry, list []byte) {
	for m := range rawjson.Elements(list) {
		if rawjson.IsString(rawjson.Get(m, "id")) {
			f.upsert(message{rawjson.Str(m, "id"), e, m})
		}
	}
}

// upsert replaces the message with the same id, or appends the message.
func (f *fold) upsert(m message) {
	if at, ok := f.index[m.id]; ok {
		f.list[at] = m
		return
	}
	f.index[m.id] = len(f.list)
	f.list = append(f.list, m)
}

// rewind removes a message and all that follow it. If no message has the id, it removes all.
func (f *fold) rewind(id string) {
	at := f.index[id] // 0 for an unknown id
	for _, m := range f.list[at:] {
		delete(f.index, m.id)
	}
	clear(f.list[at:])
	f.list = f.list[:at]
}

// end is the position up to which the program has read the log at the end of a path. If the last line that moved the leaf is a
// rewind to this path, the program has read it, too.
func (d *reader) end(p session.Path) int {
	t, last := p.Tree(), -1
	var leaf session.EntryID
	if p.Len() > 0 {
		last, leaf = p.At(p.Len()-1).Index, p.At(p.Len()-1).ID
	}
	if k := lastMover(t); k > last && t.At(k).Kind == session.KindLeaf && d.leaves[k] == leaf {
		return k
	}
	return last
}

// lastMover is the position of the last entry that moves the leaf, -1 if there is none.
func lastMover(t *session.Tree) int {
	for i := t.Len() - 1; i >= 0; i-- {
		if !t.At(i).Aside() {
			return i
		}
	}
	return -1
}

// Replay implements session.Replayer.
func (d *reader) Replay(p session.Path) iter.Seq2[session.ContextMessage, error] {
	return func(yield func(session.ContextMessage, error) bool) {
		if d.refusal(p.Tree()) != "" {
			return
		}
		list, err := d.upTo(p.Tree(), d.end(p), p.Record)
		if err != nil {
			yield(session.ContextMessage{}, err)
			return
		}
		for _, t := range send(list) {
			if len(t.parts) > 0 && !yield(session.ContextMessage{Entry: t.entry, JSON: t.json(), Made: t.made}, nil) {
				return
			}
		}
	}
}

// refusal returns why the program does not resume the session, or "". A sub-agent in the folder of its session is not meant to be
// resumed: what it saw is shown.
func (d *reader) refusal(t *session.Tree) string {
	switch {
	case d.refused != "":
		return d.refused
	case d.kind == kindTask && (layout{}).Main(filepath.ToSlash(t.Name())):
		return "it is that of a sub-agent"
	}
	return ""
}
