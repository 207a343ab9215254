package request

import (
	"slices"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/internal/sorting"
)

// Drop is a block that the program does not send.
type Drop struct {
	At  int // position of its entry
	Why Reason
}

// Reason says why a block is dropped.
type Reason uint8

// Reasons.
const (
	Open         Reason = iota // in a line whose calls have no result
	Thinking                   // in an answer of thinking alone
	SecondCall                 // the id of the call is used before
	SecondResult               // another result of the call stands before
	NoCall                     // a result whose call is not on the path
	Away                       // a result that does not follow its call
	Server                     // a call of a tool of the provider that has no result
)

// drops collects the dropped blocks. Consecutive blocks of one entry count once.
type drops struct{ list []Drop }

func (d *drops) add(b block, why Reason) {
	if n := len(d.list); b.at >= 0 && (n == 0 || d.list[n-1].At != b.at) {
		d.list = append(d.list, Drop{b.at, why})
	}
}

// dropOpen drops lines that have calls, none of which has a result. Lines of the last answer stay. Lines after the last
// prompt stay, too, if the turn ends with a result.
func (d *drops) dropOpen(turns []*Turn) []*Turn {
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
		if !t.has(blockResult) && !t.command && !t.note {
			prompt = k
		}
	}
	n := len(turns)
	for n > 0 && (turns[n-1].command || turns[n-1].note) {
		n--
	}
	unfinished := n > 0 && turns[n-1].user && turns[n-1].has(blockResult)
	last := ""
	if n > 0 && !turns[n-1].user {
		last = turns[n-1].answer
	}
	var out []*Turn
	for k, t := range turns {
		isLast := k == n-1 || last != "" && t.answer == last
		if !t.assistant() || isLast || unfinished && k > prompt || !t.open(answered) {
			out = append(out, t)
			continue
		}
		for _, b := range t.blocks {
			d.add(b, Open)
		}
	}
	return out
}

// open reports whether the line has calls and none of them has a result.
func (t *Turn) open(answered map[string]bool) bool {
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

// joinAnswers makes one message of the lines of an answer, also across what the user says between them, if that has a result.
// The calls come last.
func joinAnswers(turns []*Turn) []*Turn {
	var out []*Turn
	open := map[string]*Turn{}     // answers since the user said something without a result
	said, answered := false, false // the user, since the last message of the model; and with a result
	for _, t := range turns {
		if !t.assistant() {
			said = said || t.user && (!t.note || len(t.notes) > 0)
			answered = answered || t.user && t.has(blockResult)
			out = append(out, t)
			continue
		}
		if said && !answered && len(open) > 0 {
			open = map[string]*Turn{} // a large map takes long to clear
		}
		if first := open[t.answer]; first != nil {
			first.blocks = append(first.blocks, t.blocks...)
			first.apart = true
			continue
		}
		if t.answer != "" {
			t.blocks = slices.Clone(t.blocks)
			open[t.answer] = t
		}
		out, said, answered = append(out, t), false, false
	}
	for _, t := range out {
		if t.apart {
			sorting.By(t.blocks, func(a, b block) int { return rank(a) - rank(b) })
		}
	}
	return out
}

func rank(b block) int {
	if b.kind == blockCall {
		return 1
	}
	return 0
}

// dropThoughts drops answers that have only thinking.
func (d *drops) dropThoughts(turns []*Turn) []*Turn {
	thinks := func(t *Turn) bool { return t.only(blockThinking, blockRedacted) }
	said := map[string]bool{} // answers with more than thinking
	for _, t := range turns {
		said[t.answer] = said[t.answer] || t.answer != "" && !thinks(t)
	}
	return slices.DeleteFunc(turns, func(t *Turn) bool {
		alone := t.assistant() && thinks(t) && !said[t.answer]
		for _, b := range t.blocks {
			if alone {
				d.add(b, Thinking)
			}
		}
		return alone
	})
}

// dropEmpty drops user messages without a block. An answer without one has a text.
func dropEmpty(turns []*Turn) []*Turn {
	var out []*Turn
	for _, t := range turns {
		switch {
		case t.user && !t.note && len(t.blocks) == 0:
			continue
		case !t.assistant():
		case len(t.blocks) == 0:
			t.blocks = []block{textBlock(noContent)}
		}
		out = append(out, t)
	}
	return out
}

// dropBlank drops the lines of answers that have only blanks.
func dropBlank(turns []*Turn) []*Turn {
	return slices.DeleteFunc(turns, func(t *Turn) bool { return t.assistant() && t.blank() })
}

// dropErrors drops the errors of the provider.
func dropErrors(turns []*Turn) []*Turn {
	return slices.DeleteFunc(turns, func(t *Turn) bool { return t.failed })
}

// served returns the ids of the calls whose results stand in the same message: those of tools that the provider runs.
func (t *Turn) served() map[string]bool {
	ids := map[string]bool{}
	for _, b := range t.blocks {
		if id := rawjson.Get(b.json, "tool_use_id"); id != nil {
			ids[string(rawjson.Inside(id))] = true
		}
	}
	return ids
}

// trimAnswers drops from answers what markThinking marked, and empty texts.
func trimAnswers(turns []*Turn) {
	for _, t := range turns {
		unsent := func(b block) bool {
			return b.foreign || !t.user && b.kind == blockText && rawjson.Str(b.json, "text") == ""
		}
		if slices.ContainsFunc(t.blocks, unsent) {
			t.blocks = slices.DeleteFunc(slices.Clone(t.blocks), unsent)
		}
	}
}
