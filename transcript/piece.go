package transcript

import (
	"strings"
	"unicode/utf8"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/wire"
)

// pieceOptions say how much of a part is shown.
type pieceOptions struct {
	reader *wire.Reader
	most   int // bytes of a text; a negative value means no limit
	images int // number of the entry's pictures so far
}

// cut returns the beginning of a text, without splitting a character, and the number of bytes omitted.
func (o *pieceOptions) cut(s string) (string, int) {
	if o.most < 0 || len(s) <= o.most {
		return s, 0
	}
	end := o.most
	for end > 0 && end > o.most-utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	return strings.Clone(s[:end]), len(s) - end // so that the rest is not kept in memory
}

func (o *pieceOptions) text(id session.EntryID, s string) Text {
	shown, cut := o.cut(s)
	return Text{Text: shown, Cut: cut, CutLines: strings.Count(strings.TrimRight(s[len(s)-cut:], "\n"), "\n"), Entry: id}
}

func (o *pieceOptions) thinking(id session.EntryID, p session.Thinking) Thinking {
	s, cut := o.cut(p.Text)
	return Thinking{Text: s, Redacted: p.Redacted || p.Text == "", Cut: cut, Entry: id}
}

func (o *pieceOptions) raw(kind string, json session.Raw) Raw {
	s, cut := o.cut(string(json))
	return Raw{Type: kind, JSON: session.Raw(s), Cut: cut}
}

// images counts the pictures of a part.
func images(p session.Part) (n int) {
	switch p := p.(type) {
	case session.Image:
		return 1
	case session.ToolResult:
		for _, q := range p.Parts {
			n += images(q)
		}
	}
	return n
}

// piece makes a piece from a text, a picture or an unknown part. It returns nil if there is nothing to show.
func (o *pieceOptions) piece(id session.EntryID, p session.Part) Piece {
	switch p := p.(type) {
	case session.Text:
		if strings.TrimSpace(p.Text) == "" { // models send empty texts between calls
			return nil
		}
		return o.text(id, p.Text)
	case session.Image:
		j := wire.NewImage(p, o.reader.BlobSize)
		i := Image{MIME: j.MIME, Data: p.Data, Blob: j.Blob != "", URL: j.URL, Size: -1, Entry: id, Index: o.images}
		if j.Size != nil {
			i.Size = *j.Size
		}
		o.images++
		return i
	case session.OpaquePart:
		return o.raw(p.Type, p.JSON)
	case session.Thinking:
		return o.thinking(id, p)
	}
	return nil
}

// call makes a Tool from a call.
func (o *pieceOptions) call(id session.EntryID, c session.ToolCall) Tool {
	input, cut := o.cut(string(c.Arguments))
	t := Tool{CallID: c.ID, Name: c.Name, Call: id, Input: session.Raw(input), InputCut: cut, Edits: Edits(c.Arguments)}
	t.Title = title(c.Arguments, t.Edits)
	return t
}

// output makes pieces from the parts of a result.
func (o *pieceOptions) output(id session.EntryID, parts []session.Part) (list []Piece) {
	for _, p := range parts {
		if piece := o.piece(id, p); piece != nil {
			list = append(list, piece)
		}
	}
	return list
}

const titleWidth = 120 // columns of a title

// title says on one line what a call is about: the files that it changes, its command as it is typed, or its arguments.
func title(arguments session.Raw, edits []Edit) string {
	if len(edits) > 0 {
		var paths []string
		for _, e := range edits {
			paths = append(paths, e.Path)
		}
		return screen.OneLine(strings.Join(paths, ", "), titleWidth)
	}
	for _, key := range []string{"command", "cmd"} {
		value := rawjson.Get(arguments, key)
		if s, ok := rawjson.Unquote(value); ok && s != "" {
			return screen.OneLine(s, titleWidth)
		}
		if words := textList(value); len(words) > 0 {
			if len(words) == 3 && strings.HasPrefix(words[1], "-") && strings.HasSuffix(words[1], "c") {
				words = words[2:] // remove the shell and its option
			}
			return screen.OneLine(strings.Join(words, " "), titleWidth)
		}
	}
	for _, key := range []string{"description", "title"} {
		if s := rawjson.Str(arguments, key); s != "" && rawjson.Get(arguments, "prompt") != nil {
			return screen.OneLine(s, titleWidth)
		}
	}
	return wire.Brief(arguments, titleWidth)
}

// textList returns the texts of a JSON list, or none for another value.
func textList(list []byte) (texts []string) {
	for v := range rawjson.Elements(list) {
		if s, ok := rawjson.Unquote(v); ok {
			texts = append(texts, s)
		}
	}
	return texts
}
