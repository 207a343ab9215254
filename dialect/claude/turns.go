package claude

import (
	"bytes"
	"slices"

	"github.com/treeline-dev/treeline/internal/rawjson"
)

// drop is a block that the program does not send.
type drop struct {
	at  int // position of its entry
	why reason
}

// reason says why a block is dropped.
type reason uint8

const (
	dropOpen         reason = iota // in a line whose calls have no result
	dropThinking                   // in an answer of thinking alone
	dropSecondCall                 // the id of the call is used before
	dropSecondResult               // another result of the call stands before
	dropNoCall                     // a result whose call is not on the path
	dropServer                     // a call of a tool of the provider that has no result
)

// drops collects what is dropped, once for each entry.
type drops struct{ list []drop }

func (d *drops) add(b block, why reason) {
	if n := len(d.list); b.at >= 0 && (n == 0 || d.list[n-1].at != b.at) {
		d.list = append(d.list, drop{b.at, why})
	}
}

// dropOpen drops the lines of an answer none of whose calls has a result. Those of the last answer stay, and those after
// the last prompt where the turn ends with a result.
func (d *drops) dropOpen(turns []*turn) []*turn {
	answered := map[string]bool{}
	prompt := -1
	for k, t := range turns {
		if !t.user {
			continue
		}
		for _, b := range t.blocks {
			if b.kind == blockResult {
				answered[b.id] = true
			}
		}
		if t.prompt {
			prompt = k
		}
	}
	n := len(turns)
	unfinished := n > 0 && turns[n-1].user && turns[n-1].has(blockResult)
	last := ""
	if n > 0 && !turns[n-1].user {
		last = turns[n-1].answer
	}
	var out []*turn
	for k, t := range turns {
		isLast := k == n-1 || last != "" && t.answer == last
		if t.user || isLast || unfinished && k > prompt || !t.open(answered) {
			out = append(out, t)
			continue
		}
		for _, b := range t.blocks {
			d.add(b, dropOpen)
		}
	}
	return out
}

// open reports whether the line has calls and none of them has a result.
func (t *turn) open(answered map[string]bool) bool {
	calls := false
	for _, b := range t.blocks {
		if b.kind == blockCall {
			if calls = true; answered[b.id] {
				return false
			}
		}
	}
	return calls
}

// joinAnswers makes one message of the lines of an answer, also with results between them, but not across another text of
// the user. With results between them the calls come last. So they do in a last answer whose calls have no result: the
// program writes one for each of its lines.
func joinAnswers(turns []*turn) []*turn {
	var out []*turn
	open := map[string]*turn{} // answers since the last text of the user
	for k, t := range turns {
		switch {
		case t.user && !t.only(blockResult):
			clear(open)
		case !t.user && t.answer != "":
			if first := open[t.answer]; first != nil {
				first.blocks = append(first.blocks, t.blocks...)
				first.apart = first.apart || turns[k-1].user
				continue
			}
			t.blocks = slices.Clone(t.blocks)
			open[t.answer] = t
		}
		out = append(out, t)
	}
	if n := len(out); n > 0 && !out[n-1].user && out[n-1].waits(turns) {
		out[n-1].apart = true
	}
	for _, t := range out {
		if t.apart {
			slices.SortStableFunc(t.blocks, func(a, b block) int { return rank(a) - rank(b) })
		}
	}
	return out
}

// waits reports whether a call of an answer has no result.
func (t *turn) waits(turns []*turn) bool {
	open := map[string]bool{}
	for _, b := range t.blocks {
		if b.kind == blockCall {
			open[b.id] = true
		}
	}
	for _, other := range turns {
		for _, b := range other.blocks {
			if other.user && b.kind == blockResult {
				delete(open, b.id)
			}
		}
	}
	return len(open) > 0
}

func rank(b block) int {
	if b.kind == blockCall {
		return 1
	}
	return 0
}

// dropEmpty drops answers of thinking alone and user messages without a block.
func (d *drops) dropEmpty(turns []*turn) []*turn {
	var out []*turn
	for _, t := range turns {
		switch {
		case t.user && len(t.blocks) == 0:
			continue
		case t.user || t.system:
		case len(t.blocks) == 0:
			t.blocks = []block{textBlock(noContent)}
		case t.only(blockThinking, blockRedacted):
			for _, b := range t.blocks {
				d.add(b, dropThinking)
			}
			continue
		}
		out = append(out, t)
	}
	return out
}

// dropBlank drops the lines of answers that have only blanks.
func dropBlank(turns []*turn) []*turn {
	return slices.DeleteFunc(turns, func(t *turn) bool { return !t.user && !t.system && t.blank() })
}

// dropErrors drops the errors of the provider.
func dropErrors(turns []*turn) []*turn {
	return slices.DeleteFunc(turns, func(t *turn) bool { return t.failed })
}

// dropDoubles drops calls whose id was used before, second results, and results without a call.
func (d *drops) dropDoubles(turns []*turn) {
	calls := map[string]bool{}
	for _, t := range turns {
		if t.user || !t.has(blockCall) && !t.has(blockServer) && !t.has(blockMCP) {
			continue
		}
		results := t.results()
		t.blocks = slices.DeleteFunc(slices.Clone(t.blocks), func(b block) bool {
			if open := (b.kind == blockServer || b.kind == blockMCP) && !results[b.id]; open {
				d.add(b, dropServer)
				return true
			}
			again := b.kind == blockCall && calls[b.id]
			if again {
				d.add(b, dropSecondCall)
			}
			calls[b.id] = calls[b.id] || b.kind == blockCall
			return again
		})
		if len(t.blocks) == 0 {
			t.blocks = []block{textBlock(callDropped)}
		}
	}
	results := map[string]block{}
	for _, t := range turns {
		if !t.user || !t.has(blockResult) {
			continue
		}
		t.blocks = slices.DeleteFunc(slices.Clone(t.blocks), func(b block) bool {
			if b.kind != blockResult {
				return false
			}
			first, again := results[b.id]
			switch {
			case !calls[b.id]:
				d.add(b, dropNoCall)
			case again && !bytes.Equal(first.json, b.json):
				d.add(b, dropSecondResult)
			}
			if !again {
				results[b.id] = b
			}
			return again || !calls[b.id]
		})
		t.hollow = len(t.blocks) == 0
	}
}

// results gives the ids of the calls whose results stand in the same message: those of tools that the provider runs.
func (t *turn) results() map[string]bool {
	ids := map[string]bool{}
	for _, b := range t.blocks {
		if id := rawjson.Get(b.json, "tool_use_id"); id != nil {
			ids[string(rawjson.Inside(id))] = true
		}
	}
	return ids
}

// markThinking marks the thinking of other models than the last one that answered, with which the program goes on. A
// provider accepts only what the model itself has thought.
func markThinking(turns []*turn) {
	last := ""
	for _, t := range slices.Backward(turns) {
		if !t.user && !t.system && t.model != synthetic {
			last = t.model
			break
		}
	}
	for _, t := range turns {
		for k := range t.blocks {
			b := &t.blocks[k]
			b.foreign = !t.user && t.model != last && (b.kind == blockThinking || b.kind == blockRedacted)
		}
	}
}

// trimAnswers drops from answers what markThinking marked, and empty texts.
func trimAnswers(turns []*turn) {
	for _, t := range turns {
		unsent := func(b block) bool {
			return b.foreign || !t.user && b.kind == blockText && rawjson.Str(b.json, "text") == ""
		}
		if slices.ContainsFunc(t.blocks, unsent) {
			t.blocks = slices.DeleteFunc(slices.Clone(t.blocks), unsent)
		}
	}
}

// placeResults moves each result right behind its call, in file order, and makes up those that are missing.
func placeResults(turns []*turn) []*turn {
	type found struct {
		block
		from *turn
		at   int
	}
	results, n := map[string]found{}, 0
	last := len(turns) - 1 // the last answer whose calls may be open
	for last >= 0 && turns[last].user && turns[last].only(blockResult) {
		last--
	}
	for _, t := range turns {
		for _, b := range t.blocks {
			if t.user && b.kind == blockResult {
				results[b.id] = found{b, t, n}
				n++
			}
		}
	}
	var out []*turn
	for k, t := range turns {
		if t.user {
			if t.has(blockResult) {
				t.blocks = slices.DeleteFunc(t.blocks, func(b block) bool { return b.kind == blockResult })
			}
			if len(t.blocks) > 0 || t.hollow {
				out = append(out, t)
			}
			continue
		}
		out = append(out, t)
		answers := &turn{user: true}
		var have []found
		var made []block
		for _, b := range t.blocks {
			if b.kind != blockCall {
				continue
			}
			if r, ok := results[b.id]; ok {
				have = append(have, r)
				answers.entry = r.from.entry
			} else if k == last {
				made = append(made, resultBlock(b.id, interrupted))
			} else {
				made = append(made, resultBlock(b.id, noResult))
			}
		}
		slices.SortFunc(have, func(a, b found) int { return a.at - b.at })
		if k != last {
			answers.blocks = made
		}
		for _, r := range have {
			answers.blocks = append(answers.blocks, r.block)
		}
		if k == last {
			answers.blocks = append(answers.blocks, made...)
		}
		if len(answers.blocks) > 0 {
			out = append(out, answers)
		}
	}
	return out
}
