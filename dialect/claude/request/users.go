package request

import (
	"slices"

	"github.com/treeline-dev/treeline/internal/rawjson"
)

// spread turns the texts of attachments into messages.
func spread(turns []*Turn) (out []*Turn) {
	for _, t := range turns {
		if !t.note {
			out = append(out, t)
		}
		for k, item := range t.notes {
			out = append(out, &Turn{Entry: t.Entry, user: t.user, system: t.system, note: true, alone: k > 0, blocks: item})
		}
	}
	return out
}

// joinUsers joins consecutive messages of the user: results come first, and a text before another one gets a newline. The
// text of an attachment follows without a newline, or becomes part of the result before it. Several texts of an attachment
// after an answer stay separate messages.
func joinUsers(turns []*Turn) []*Turn {
	var out []*Turn
	var last *Turn // the last message that is not a system message
	for _, t := range turns {
		if !t.user || last == nil || !last.user || t.alone && last.alone {
			if out = append(out, t); !t.system {
				last = t
				last.alone = t.user && t.note
			}
			continue
		}
		if last.alone = false; t.note {
			last.add(t.blocks)
			continue
		}
		follows := len(t.blocks) > 0 && t.blocks[0].kind == blockText
		if last.rest == nil { // the first one that follows it
			blocks := slices.Clone(last.blocks)
			if follows {
				breakLine(blocks) // not the blocks that a result follows
			}
			last.quoted, last.blocks, last.rest, last.owned = nil, nil, []block{}, true
			last.join(blocks)
		} else if follows {
			breakLine(last.rest)
		}
		last.join(t.blocks)
		if last.Entry.Type == "" || last.note {
			last.Entry, last.note = t.Entry, false
		}
	}
	for _, t := range out {
		t.blocks, t.rest = append(t.blocks, t.rest...), nil
		for k, b := range t.blocks {
			if b.notes != nil {
				t.blocks[k].json, t.blocks[k].notes = appendText(b.json, b.notes), nil
			}
		}
	}
	return out
}

// breakLine adds a newline to the last text, because another text follows. It changes blocks.
func breakLine(blocks []block) {
	if k := len(blocks) - 1; k >= 0 && blocks[k].kind == blockText {
		text := rawjson.Str(blocks[k].json, "text")
		blocks[k].json = rawjson.Set(blocks[k].json, "text", rawjson.Quote(text+"\n"))
	}
}

// fill drops texts of the user without a visible character, unless they are the whole content of a line, and puts a note where nothing is
// left.
func fill(turns []*Turn) {
	for k, t := range turns {
		if !t.user {
			if len(t.blocks) == 0 && t.quoted == nil && !t.system {
				t.blocks = []block{textBlock(noContent)}
			}
			continue
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

// join adds blocks to a message to which others are joined.
func (t *Turn) join(blocks []block) {
	for _, b := range blocks {
		if b.kind == blockResult {
			t.blocks = append(t.blocks, b)
		} else {
			t.rest = append(t.rest, b)
		}
	}
}
