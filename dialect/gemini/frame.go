package gemini

import (
	"bytes"
	"fmt"
	"iter"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var (
	_ dialect.Framer  = (*Dialect)(nil)
	_ dialect.Reacher = (*Dialect)(nil)
)

// Frame returns what the program writes for entries: after a message it notes the time, and a $rewindTo removes what
// follows the entry where a branch begins.
func (d *Dialect) Frame(t *session.Tree, batch iter.Seq[dialect.NewRecord]) iter.Seq2[dialect.Framed, error] {
	return func(yield func(dialect.Framed, error) bool) {
		for n := range batch {
			out, err := frame(t, n)
			if !yield(out, err) || err != nil {
				return
			}
		}
	}
}

// frame frames one entry.
func frame(t *session.Tree, n dialect.NewRecord) (out dialect.Framed, err error) {
	out.Record = n.Record
	if b, ok := n.Body.(session.Leaf); ok {
		id, _, err := after(t, b.Target)
		out.Record = rewound(id)
		return out, err
	}
	if n.Moved {
		id, ok, err := after(t, n.Parent)
		if err != nil {
			return out, err
		}
		if ok {
			out.Before = append(out.Before, rewound(id))
		}
	}
	if _, ok := n.Body.(session.Message); ok {
		out.After = append(out.After, updated(n.Time))
	}
	return out, nil
}

// rewound is the line that removes a message and all after it.
func rewound(id string) []byte {
	var w dialect.Object
	w.Str(typeRewind, id)
	return w.End()
}

// updated is the line that says when the session was last changed.
func updated(at time.Time) []byte {
	var w dialect.Object
	w.Add("lastUpdated", dialect.ISO(at))
	return set(w.End())
}

// Reach returns an error if the conversation cannot continue after an entry.
func (d *Dialect) Reach(t *session.Tree, id session.EntryID) error {
	_, _, err := after(t, id)
	return err
}

// after returns the id of the message that follows an entry in the conversation at the end of the log; ok is false if
// there is none. It fails if the messages up to the entry are not the first ones of that conversation.
func after(t *session.Tree, id session.EntryID) (next string, ok bool, err error) {
	r, _ := t.Codec().EntryCodec.(*reader)
	if r == nil {
		return "", false, nil
	}
	end := lastMover(t)
	if end >= 0 && t.At(end).Kind != session.KindLeaf && t.At(end).ID == id {
		return "", false, nil
	}
	at := -1
	if id != "" {
		e, err := t.Get(id)
		if err != nil {
			return "", false, err
		}
		at = e.Index
	}
	record := func(e session.Entry) ([]byte, error) { return e.Raw() }
	now, err := r.upTo(t, t.Len()-1, record)
	if err != nil {
		return "", false, err
	}
	then, err := r.upTo(t, at, record)
	if err != nil {
		return "", false, err
	}
	if len(then) > len(now) || !sameMessages(now[:len(then)], then) {
		place := "entry " + string(id)
		if id == "" {
			place = "the place before the first entry"
		}
		return "", false, fmt.Errorf("going on after %s is %w: Gemini CLI takes messages back from the end only, and that entry is not in the conversation any more; fork the session there instead",
			place, dialect.ErrUnsupported)
	}
	if len(then) == len(now) {
		return "", false, nil
	}
	return now[len(then)].id, true, nil
}

// sameMessages reports whether two conversations are the same, even if an answer was written again with its calls.
func sameMessages(a, b []message) bool {
	for k := range a {
		if a[k].id != b[k].id || a[k].entry.FirstPiece() != b[k].entry.FirstPiece() && !bytes.Equal(rawjson.Get(a[k].json, "content"), rawjson.Get(b[k].json, "content")) {
			return false
		}
	}
	return true
}
