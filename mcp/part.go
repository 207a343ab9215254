package mcp

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/treeline-dev/treeline/wire"
)

// partCost is what a part counts besides its text, about the length of its names in JSON.
const partCost = 100

// window gives a stretch of the texts of some parts, which are laid end to end: `most` bytes after the first `skip`. A part counts partCost and
// the bytes of its text. taken is what the stretch has, left what comes after it. Of JSON that is cut, the piece is given as a string.
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

// head takes what a part counts besides its text, and reports whether the part is shown. It is never split.
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

// piece takes what belongs to the stretch of a text. It is shown if its part is, or if it is not empty.
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

// textOf gives the text of a part: for a call its arguments, for an opaque part its JSON.
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
		return // a string can always be encoded
	}
	if p.Arguments != nil {
		p.Arguments = piece
	} else {
		p.JSON = piece
	}
}
