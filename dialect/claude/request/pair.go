package request

import (
	"bytes"
	"slices"
)

// swapEarly moves a result that comes right before the answer with its call to the place after that answer, unless an earlier
// answer has a call with the same id.
func swapEarly(turns []*Turn) []*Turn {
	called := map[string]bool{}
	for k, t := range turns {
		for _, b := range t.blocks {
			called[b.id] = called[b.id] || b.kind == blockCall
		}
		if k+1 < len(turns) && t.user && t.only(blockResult) && turns[k+1].assistant() && t.answersEarly(turns[k+1], called) {
			turns[k], turns[k+1] = turns[k+1], t
		}
	}
	return turns
}

// answersEarly reports whether a result of a message is that of a call in an answer, and of no call before.
func (t *Turn) answersEarly(answer *Turn, called map[string]bool) bool {
	calls := map[string]bool{}
	for _, b := range answer.blocks {
		calls[b.id] = calls[b.id] || b.kind == blockCall
	}
	return slices.ContainsFunc(t.blocks, func(b block) bool { return !called[b.id] && calls[b.id] })
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

// madeUp gives the results that the program makes up.
func madeUp(ids []string) (list []block) {
	for _, id := range ids {
		list = append(list, resultBlock(id, noResult))
	}
	return list
}
