package request

import (
	"bytes"
	"slices"
)

// early says where the calls of a conversation are, for moveEarly.
type early struct {
	calls       map[string]int // the answer with a call of an id; several if calls of several answers have it
	first, last []int          // by answer: its lines
	parted      []bool         // by answer: a line of another answer stands between its lines
	prompts     []int          // by line: the next one that is a message of the user without a result
}

const several = -1

func earlyIn(turns []*Turn) *early {
	e := &early{calls: map[string]int{}, prompts: make([]int, len(turns))}
	named := map[string]int{}
	before := several // the answer of the last line of an answer
	for k, t := range turns {
		if !t.assistant() {
			continue
		}
		of, known := named[t.answer]
		if !known || t.answer == "" {
			of = len(e.last)
			named[t.answer] = of
			e.first, e.last, e.parted = append(e.first, k), append(e.last, k), append(e.parted, false)
		}
		e.last[of], e.parted[of] = k, e.parted[of] || known && t.answer != "" && before != of
		before = of
		for _, b := range t.blocks {
			if b.kind != blockCall {
				continue
			}
			if had, ok := e.calls[b.id]; ok && had != of {
				e.calls[b.id] = several
			} else {
				e.calls[b.id] = of
			}
		}
	}
	next := len(turns)
	for k, t := range slices.Backward(turns) {
		if e.prompts[k] = next; t.user && !t.note && !t.has(blockResult) {
			next = k
		}
	}
	return e
}

// behind returns the line behind which a message belongs, all of whose results come before the answer with their calls. ok is
// false for any other message, if another answer has a call with the same id, and if the user says something in between.
func (e *early) behind(k int, t *Turn) (line int, ok bool) {
	if !t.user || t.note {
		return 0, false
	}
	of := several
	for _, b := range t.blocks {
		if b.kind != blockResult {
			continue
		}
		by, known := e.calls[b.id]
		if !known || by == several || e.first[by] < k || e.parted[by] || of != several && by != of {
			return 0, false
		}
		of = by
	}
	if of == several || e.prompts[k] < e.last[of] {
		return 0, false
	}
	return e.last[of], true
}

// moveEarly moves results that come before the answer with their calls to the place after it, together with the attachments
// that follow them.
func moveEarly(turns []*Turn) []*Turn {
	e := earlyIn(turns)
	moved := map[int][]*Turn{} // by the line that they come after
	out := make([]*Turn, 0, len(turns))
	for k := 0; k < len(turns); k++ {
		t := turns[k]
		line, ok := e.behind(k, t)
		if !ok {
			out = append(append(out, t), moved[k]...)
			continue
		}
		for moved[line] = append(moved[line], t); k+1 < len(turns) && turns[k+1].note; k++ {
			moved[line] = append(moved[line], turns[k+1])
		}
	}
	return out
}

// dropSecondCalls drops calls whose id was used before, and calls of tools that the provider runs without a result.
func (d *drops) dropSecondCalls(turns []*Turn) {
	calls := map[string]bool{}
	for _, t := range turns {
		if !t.assistant() || !t.has(blockCall) && !t.has(blockServer) && !t.has(blockMCP) {
			continue
		}
		results := t.served()
		t.blocks = slices.DeleteFunc(slices.Clone(t.blocks), func(b block) bool {
			if open := (b.kind == blockServer || b.kind == blockMCP) && !results[b.id]; open {
				d.add(b, Server)
				return true
			}
			again := b.kind == blockCall && calls[b.id]
			if again {
				d.add(b, SecondCall)
			}
			calls[b.id] = calls[b.id] || b.kind == blockCall
			return again
		})
		if len(t.blocks) == 0 {
			t.blocks = []block{textBlock(callDropped)}
		}
	}
}

// pair gives the message after an answer exactly one result for each call of the answer. A result that stands elsewhere is
// dropped, and one that is missing is made up.
func (d *drops) pair(turns []*Turn) []*Turn {
	called, first := map[string]bool{}, map[string]block{}
	for _, t := range turns {
		for _, b := range t.blocks {
			switch {
			case b.kind == blockCall:
				called[b.id] = true
			case t.user && b.kind == blockResult && first[b.id].json == nil:
				first[b.id] = b
			}
		}
	}
	var out []*Turn
	var open []string // calls of the answer before
	for k := 0; k <= len(turns); k++ {
		var t *Turn
		if k < len(turns) {
			t = turns[k]
		}
		if t != nil && t.system {
			out = append(out, t)
			continue
		}
		if len(open) > 0 && (t == nil || !t.user) {
			out = append(out, &Turn{user: true, Entry: out[len(out)-1].Entry, blocks: madeUp(open)})
			open = nil
		}
		if t == nil {
			break
		}
		if t.user {
			d.keepResults(t, open, called, first)
		}
		open = nil
		if out = append(out, t); t.assistant() {
			for _, b := range t.blocks {
				if b.kind == blockCall {
					open = append(open, b.id)
				}
			}
		}
	}
	return out
}

// keepResults keeps the first result of each open call, drops all other results of the message, and makes up those that are
// missing.
func (d *drops) keepResults(t *Turn, open []string, called map[string]bool, first map[string]block) {
	had := t.has(blockResult)
	if !had && len(open) == 0 {
		return
	}
	wanted, answered := map[string]bool{}, map[string]bool{}
	for _, id := range open {
		wanted[id] = true
	}
	t.blocks = slices.DeleteFunc(slices.Clone(t.blocks), func(b block) bool {
		if b.kind != blockResult {
			return false
		}
		if wanted[b.id] && !answered[b.id] {
			answered[b.id] = true
			return false
		}
		switch {
		case !called[b.id]:
			d.add(b, NoCall)
		case first[b.id].at == b.at && !wanted[b.id]:
			d.add(b, Away)
		case !bytes.Equal(first[b.id].json, b.json):
			d.add(b, SecondResult)
		}
		return true
	})
	missing := slices.DeleteFunc(slices.Clone(open), func(id string) bool { return answered[id] })
	if t.hollow = had && len(t.blocks) == 0; len(missing) > 0 {
		t.quoted, t.hollow = nil, false
		t.blocks = append(madeUp(missing), t.blocks...)
	}
}

// madeUp returns the results that the program makes up.
func madeUp(ids []string) (list []block) {
	for _, id := range ids {
		list = append(list, resultBlock(id, noResult))
	}
	return list
}
