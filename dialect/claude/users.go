package claude

import (
	"slices"

	"github.com/treeline-dev/treeline/internal/rawjson"
)

// trailing splits off the output of commands at the end. The next prompt is joined to it; an answer to the messages before
// does not wait for it. Where calls wait for a result, the output is joined to what the program makes up.
func trailing(turns []*turn, waits bool) (before, commands []*turn) {
	n := len(turns)
	for n > 0 && (turns[n-1].system || turns[n-1].command && !waits) {
		n--
	}
	return turns[:n:n], turns[n:]
}

// waiting reports whether a call of the last answer has no result.
func waiting(turns []*turn) bool {
	for _, t := range slices.Backward(turns) {
		if !t.user && !t.system {
			return t.waits(turns)
		}
	}
	return false
}

// endsWithCommand reports whether the conversation ends with a command that the user ran: its caveat, its name and its
// output. The program does not wait for an answer to it.
func endsWithCommand(turns []*turn) bool {
	for _, t := range slices.Backward(turns) {
		switch {
		case t.caveat:
			return true
		case !t.system && !t.begins("<command-name>") && !t.begins("<local-command-"):
			return false
		}
	}
	return false
}

// joinUsers makes one message of those of the user in a row: results first, and a newline after a text before another.
func joinUsers(turns []*turn) []*turn {
	var out []*turn
	var last *turn // the last message that is not the text of an attachment
	for _, t := range turns {
		if !t.user || last == nil || !last.user {
			if out = append(out, t); !t.system {
				last = t
			}
			continue
		}
		follows := len(t.blocks) > 0 && t.blocks[0].kind == blockText
		if last.rest == nil { // the first one that follows it
			blocks := slices.Clone(last.blocks)
			if follows {
				breakLine(blocks) // not one that a result follows
			}
			last.quoted, last.blocks, last.rest = nil, nil, []block{}
			last.join(blocks)
		} else if follows {
			breakLine(last.rest)
		}
		last.join(t.blocks)
		last.command = t.command
		if last.entry.Type == "" {
			last.entry = t.entry
		}
	}
	for _, t := range out {
		t.blocks, t.rest = append(t.blocks, t.rest...), nil
	}
	return out
}

// breakLine ends the last text, where another one follows. It changes the blocks.
func breakLine(blocks []block) {
	if k := len(blocks) - 1; k >= 0 && blocks[k].kind == blockText {
		text := rawjson.Str(blocks[k].json, "text")
		blocks[k].json = rawjson.Set(blocks[k].json, "text", rawjson.Quote(text+"\n"))
	}
}

// fill drops texts of the user without a visible character, unless they are all of a line, and puts a note where nothing is
// left.
func fill(turns []*turn) {
	for k, t := range turns {
		if !t.user {
			if len(t.blocks) == 0 && t.quoted == nil && !t.system {
				t.blocks = []block{textBlock(noContent)}
			}
			continue
		}
		if k == len(turns)-1 && t.command {
			t.quoted, t.blocks = nil, slices.Clone(t.blocks)
			breakLine(t.blocks)
		}
		if t.quoted != nil {
			continue
		}
		t.blocks = slices.DeleteFunc(slices.Clone(t.blocks), func(b block) bool { return b.kind == blockText && blank(b) })
		switch {
		case len(t.blocks) > 0:
		case k == 0 && t.hollow:
			t.blocks = []block{textBlock(orphansRemoved)}
		default:
			t.blocks = []block{textBlock(noContent)}
		}
	}
}

// join adds blocks to a message that others are joined to.
func (t *turn) join(blocks []block) {
	for _, b := range blocks {
		if b.kind == blockResult {
			t.blocks = append(t.blocks, b)
		} else {
			t.rest = append(t.rest, b)
		}
	}
}
