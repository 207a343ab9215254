package mcp

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/treeline-dev/treeline/wire"
)

// partCost is what a part costs in addition to its text: about the length of its names in JSON.
const partCost = 100

// window returns a stretch of the texts of some parts, in order: `most` bytes after the first `skip`. A part costs partCost and the bytes
// of its text. taken is the cost of the stretch, and left that of what follows. JSON that is cut is returned as a string.
func window(parts []wire.Part, skip, most int) (part []wire.Part, taken, left int) {
	w := stretch{skip: skip, most: most}
	part = w.of(parts)
	return part, w.taken, w.left
}

type stretch struct{ skip, most, taken, left int }

func (w *stretch) of(parts []wire.Part) []wire.Part {
	list := []wire.Part{}
	for _, p := range parts {
		var inner []wire.Part
		before := w.taken
		shown := w.head()
		text, isText := textOf(&p)
		if isText {
			text, shown = w.piece(text, shown)
		}
		if p.Parts != nil {
			inner = w.of(*p.Parts)
			shown = shown || len(inner) > 0
		}
		if !shown && w.taken == before {
			continue
		}
		if isText {
			setText(&p, text)
		}
		if p.Parts != nil {
			p.Parts = &inner
		}
		list = append(list, p)
	}
	return list
}

// head counts the cost of a part without its text, and reports whether the part is shown. It is never split.
func (w *stretch) head() bool {
	switch {
	case w.skip >= partCost:
		w.skip -= partCost
		return false
	case w.left > 0 || w.taken >= w.most:
		w.left += partCost
		return false
	}
	w.taken += partCost - w.skip
	w.skip = 0
	return true
}

// piece returns the part of a text that belongs to the stretch. It is shown if the part is shown, or if it is not empty.
func (w *stretch) piece(text string, shown bool) (string, bool) {
	n := min(w.skip, len(text))
	text, w.skip = text[n:], w.skip-n
	if w.left > 0 {
		w.left += len(text)
		return "", shown
	}
	n = min(len(text), max(w.most-w.taken, 0))
	for n > 0 && n < len(text) && !utf8.RuneStart(text[n]) {
		n--
	}
	w.taken += n
	w.left += len(text) - n
	return text[:n], shown || n > 0
}

// textOf returns the text of a part: of a call its arguments, of an opaque part its JSON.
func textOf(p *wire.Part) (string, bool) {
	switch {
	case p.Text != nil:
		return *p.Text, true
	case p.Arguments != nil:
		return string(p.Arguments), true
	case p.JSON != nil:
		return string(p.JSON), true
	}
	return "", false
}

func setText(p *wire.Part, text string) {
	whole, _ := textOf(p)
	if len(text) == len(whole) {
		return
	}
	if p.Text != nil {
		p.Text = &text
		return
	}
	piece, err := json.Marshal(text)
	if err != nil {
		return // a string always encodes
	}
	if p.Arguments != nil {
		p.Arguments = piece
	} else {
		p.JSON = piece
	}
}
