package convert

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/convert/casting"
	"github.com/treeline-dev/treeline/convert/origin"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// stretch is a part of a path: its entries that speak are all restored, or none is.
type stretch struct {
	from, to int // positions; to is that of the last entry
	restored bool
}

// errPieces says that a path has too many stretches.
var errPieces = errors.New("too much of the session was changed to restore the rest")

// stretches divides a path, from a position on. There is at least one.
func (s *script) stretches(path session.Path, from int) []stretch {
	list := []stretch{{from: 0, to: from}}
	for k := from; k < path.Len(); k++ {
		e := path.At(k)
		last := &list[len(list)-1]
		restored := s.origins[e.Index] != nil
		switch {
		case !speaks(e) || restored == last.restored:
		case k == from || !s.spoke(path, *last):
			last.restored = restored
		default:
			list = append(list, stretch{from: k, restored: restored})
			last = &list[len(list)-1]
		}
		last.to = k
	}
	return list
}

// spoke reports whether an entry of a stretch speaks.
func (s *script) spoke(path session.Path, r stretch) bool {
	for k := r.from; k <= r.to; k++ {
		if speaks(path.At(k)) {
			return true
		}
	}
	return false
}

// restoreStretch restores the entries of a stretch and returns the place after them.
func (s *script) restoreStretch(path session.Path, r stretch) (at node) {
	for k := r.from; k <= r.to; k++ {
		o := s.origins[path.At(k).Index]
		if o == nil {
			continue
		}
		if !s.done[o.Last] {
			s.restore(o)
		}
		at.id, at.last = o.Tip, s.passageOf[o.Last]
	}
	at.key, at.at = sha256.Sum256([]byte(at.id)), s.clock
	return at
}

// assign finds the stretch of each atom. Programs join messages, so the message of an entry may continue with what entries of the next
// stretch said: what it contains beyond its content at the end of its stretch belongs to the next one. Some programs join texts into one.
func (s *script) assign(atoms []casting.Atom, path session.Path, parts []stretch) ([]casting.Atom, error) {
	if len(parts) == 1 {
		for k := range atoms {
			atoms[k].Old = parts[0].restored
		}
		return atoms, nil
	}
	had := make([]map[int]tally, len(parts)) // of each entry at the end of the stretch
	at := map[int]int{}                      // entry → stretch
	for k, r := range parts {
		for i := r.from; i <= r.to; i++ {
			at[path.At(i).Index] = k
		}
		if k == len(parts)-1 {
			break
		}
		before, err := s.context(path.At(r.to).ID)
		if err != nil {
			return nil, err
		}
		had[k] = map[int]tally{}
		for _, a := range before {
			had[k][a.Entry] = had[k][a.Entry].and(a)
		}
	}
	var list []casting.Atom
	now, count := 0, map[int]int{}
	for _, a := range atoms {
		if a.Entry < 0 { // what the program made up goes with what is before it
			a.Stretch, a.Old = now, parts[now].restored
			list = append(list, a)
			continue
		}
		now = at[a.Entry]
		for now < len(parts)-1 && count[a.Entry] >= had[now][a.Entry].atoms {
			now++
		}
		text, _ := a.Part.(session.Text)
		begin := 0
		for now < len(parts)-1 {
			end, ok := had[now][a.Entry].before(count[a.Entry], text.Text)
			if !ok {
				break
			}
			if begin < end {
				list = append(list, in(a, now, parts[now], text.Text[begin:end]))
				begin = end
			}
			now++
		}
		if begin > 0 {
			a = in(a, now, parts[now], text.Text[begin:])
		}
		count[a.Entry]++
		a.Stretch, a.Old = now, parts[now].restored
		list = append(list, a)
	}
	return list, nil
}

// in returns an atom of a stretch with a text.
func in(a casting.Atom, k int, r stretch, text string) casting.Atom {
	a.Stretch, a.Old, a.Part = k, r.restored, session.Text{Text: strings.TrimLeft(text, "\n")}
	return a
}

// tally is what is known of the message of an entry at an earlier place: how many atoms it has, and the last one if that is a text. The
// text itself would keep a whole session in memory.
type tally struct {
	atoms  int
	length int // of the text, 0 if it is none
	sum    [sha256.Size]byte
}

func (t tally) and(a casting.Atom) tally {
	t.atoms, t.length = t.atoms+1, 0
	if text, ok := a.Part.(session.Text); ok {
		t.length, t.sum = len(text.Text), sha256.Sum256([]byte(text.Text))
	}
	return t
}

// before returns the end of the message's last text at the earlier place, if that text is the nth atom and is longer now.
func (t tally) before(nth int, text string) (end int, ok bool) {
	if nth != t.atoms-1 || t.length == 0 || len(text) <= t.length || strings.TrimSpace(text[t.length:]) == "" {
		return 0, false
	}
	return t.length, sha256.Sum256([]byte(text[:t.length])) == t.sum
}

// restore takes the records that some entries were converted from, with their old ids. The records of a new session name it.
func (c *crossing) restore(o *origin.Found) {
	p := &passage{restored: true, head: o.Head, tip: o.Tip, records: c.copies(o.Spans), at: o.At}
	for i := o.First; i <= o.Last; i++ {
		id := c.tree.At(i).ID
		c.first[id], c.last[id] = o.Head, o.Tip
		c.learn(c.tree.At(i), p.records)
		c.done[i] = true
		p.entries = append(p.entries, i)
	}
	c.tip = o.Tip
	c.settle(p)
}

// unpair gives up the origins of results whose calls are not restored: a call is written with its result, and no provider accepts a second
// one. In a session that went on with what came back, calls without an origin are not changed ones, and the results that were added to them
// have the origins of other records.
func (c *crossing) unpair() error {
	if c.back == nil {
		return nil
	}
	fresh := map[string]bool{} // calls that are not restored
	for e := range c.tree.Entries() {
		o := c.origins[e.Index]
		if e.Kind != session.KindMessage || o != nil && len(fresh) == 0 || o == nil && e.Role != session.RoleAssistant {
			continue
		}
		parts, err := e.Parts()
		if err != nil {
			return err
		}
		others, results := dialect.Results(parts)
		if o != nil && slices.ContainsFunc(results, func(r session.ToolResult) bool { return fresh[r.CallID] }) {
			clear(c.origins[o.First : o.Last+1])
			o = nil
		}
		for _, p := range others {
			if call, ok := p.(session.ToolCall); ok {
				if delete(fresh, call.ID); o == nil && call.ID != "" {
					fresh[call.ID] = true
				}
			}
		}
	}
	return nil
}

// made reports whether a conversion made a result, see casting.Missing, and the restored records do not contain it.
func (c *crossing) made(r session.ToolResult, restored []session.Span) bool {
	return dialect.TextOf(r.Parts) == casting.NoResult && !slices.ContainsFunc(restored, func(at session.Span) bool {
		raw, err := c.pile.Bytes(at)
		return err == nil && bytes.Contains(raw, []byte(casting.NoResult)) // reading it again reports an error
	})
}

// copies returns restored records for the new session. If each record names its session, copies are made that name the new one.
func (c *crossing) copies(records []session.Span) []session.Span {
	d, ok := c.to.Dialect.(dialect.Stamper)
	if !ok || !c.fresh {
		return records
	}
	out := make([]session.Span, len(records))
	for i, at := range records {
		raw, err := c.pile.Bytes(at)
		if err != nil {
			return records // reading them again reports it
		}
		out[i] = c.pile.Put(d.Copy(raw, session.Header{ID: c.back.Session}, dialect.NewSession{ID: c.newOf.ID, CWD: c.newOf.CWD}))
	}
	return out
}
