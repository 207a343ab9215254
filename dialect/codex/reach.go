package codex

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Reacher = (*Dialect)(nil)

// Reach returns an error if the conversation cannot continue after an entry, because the program goes back by whole turns only.
func (d *Dialect) Reach(t *session.Tree, id session.EntryID) error {
	_, err := turnsAfter(t, id)
	return err
}

// turnsAfter counts the turns that must be rolled back so that the model sees what it saw at an entry. It tries counts with
// the program's own rules, which count compactions in several ways. It fails if no count leads to the entry.
func turnsAfter(t *session.Tree, id session.EntryID) (int, error) {
	tip := tipOf(t)
	if tip == id {
		return 0, nil
	}
	at := -1
	if id != "" {
		e, err := t.Get(id)
		if err != nil {
			return 0, err
		}
		at = e.Index
	}
	then, err := historyAt(t, at, 0)
	if err != nil {
		return 0, err
	}
	turns, err := promptsAfter(t, tip, at)
	if err != nil {
		return 0, err
	}
	for _, n := range slices.Compact([]int{0, turns}) {
		now, err := historyAt(t, t.Len()-1, n)
		if err != nil {
			return 0, err
		}
		if slices.EqualFunc(now, then, func(a, b item) bool { return a.entry.Index == b.entry.Index && bytes.Equal(a.json, b.json) }) {
			return n, nil
		}
	}
	place := "entry " + string(id)
	if id == "" {
		place = "the place before the first entry"
	}
	return 0, fmt.Errorf("going on after %s is %w: Codex goes back by whole turns, and not to turns that were rolled back; fork the session there instead",
		place, dialect.ErrUnsupported)
}

// tipOf is the parent of the next entry, whatever the leaf is now; "" if the next entry is the first.
func tipOf(t *session.Tree) session.EntryID {
	end := lastMover(t)
	if end < 0 {
		return ""
	}
	e := t.At(end)
	if e.Kind != session.KindLeaf {
		return e.ID
	}
	return leafOf(e)
}

// leafOf is the entry that the leaf moves to at a rollback.
func leafOf(e session.Entry) session.EntryID {
	if t := e.Tree(); t != nil {
		if d, ok := t.Codec().EntryCodec.(*reader); ok {
			return d.leafAt(e.Index)
		}
	}
	return ""
}

// lastMover is the position of the last entry that moves the leaf, -1 if there is none.
func lastMover(t *session.Tree) int {
	for i := t.Len() - 1; i >= 0; i-- {
		if e := t.At(i); !isAside(e.Kind, e.Type) {
			return i
		}
	}
	return -1
}

// isAside reports whether an entry does not move the leaf, because the model sees nothing of it.
func isAside(kind session.Kind, typ string) bool {
	return kind == session.KindCustom && typ != typeCustom
}

// historyAt replays a log up to a position, and then rolls back turns.
func historyAt(t *session.Tree, last, turns int) ([]item, error) {
	d, ok := t.Codec().EntryCodec.(*reader)
	if !ok {
		return nil, errors.New("the tree is not one of this format")
	}
	r := newReplay(t, d)
	r.extra = turns
	err := r.read(last)
	return r.history, err
}

// promptsAfter counts the messages of the user on the path to an entry after a position.
func promptsAfter(t *session.Tree, tip session.EntryID, at int) (n int, err error) {
	path, err := t.Path(tip)
	if err != nil {
		return 0, err
	}
	for i := path.Len() - 1; i >= 0; i-- {
		e := path.At(i)
		if e.Index <= at {
			break
		}
		if e.Kind != session.KindMessage || e.Role != session.RoleUser {
			continue
		}
		raw, err := e.Raw()
		if err != nil {
			return 0, err
		}
		if it, ok := itemOf(e, rawjson.Get(raw, "payload")); ok && it.turn || e.Type == typeAgents {
			n++
		}
	}
	return n, nil
}
