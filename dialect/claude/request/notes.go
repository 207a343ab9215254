package request

import (
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
)

// attachment reads the texts of an attachment. If they are not recorded, or not in the program's form, it makes
// them again, including images and prompts that the user typed meanwhile.
func (t *Turn) attachment(raw []byte) {
	t.note = true
	t.system = rawjson.Str(raw, "renderedRole") == "system"
	items, ok := rendered(rawjson.Get(raw, "rendered"))
	if !ok {
		items, t.system = remade(rawjson.Get(raw, "attachment")), false
	}
	for _, item := range items {
		if item = slices.DeleteFunc(item, func(b block) bool { return b.kind == blockText && blank(b) }); len(item) == 0 {
			continue
		}
		for k := range item {
			item[k].at = t.Entry.Index
		}
		t.notes = append(t.notes, item)
	}
	t.user = !t.system
}

// rendered returns the texts that were sent with an attachment. list has objects whose only member is a content, which is a text or a
// list of texts. ok is false if it has anything else.
func rendered(list []byte) (items [][]block, ok bool) {
	if !rawjson.IsArray(list) {
		return nil, false
	}
	for object := range rawjson.Elements(list) {
		content := rawjson.Get(object, "content")
		if !rawjson.IsObject(object) || members(object) != 1 {
			return nil, false
		}
		if text, ok := rawjson.Unquote(content); ok {
			items = append(items, []block{textBlock(text)})
			continue
		}
		if !rawjson.IsArray(content) {
			return nil, false
		}
		var item []block
		for part := range rawjson.Elements(content) {
			text, ok := rawjson.Unquote(rawjson.Get(part, "text"))
			if !ok || rawjson.Str(part, "type") != blockText || members(part) != 2 {
				return nil, false
			}
			item = append(item, textBlock(text))
		}
		items = append(items, item)
	}
	return items, len(items) > 0
}

// members counts the members of an object.
func members(object []byte) (n int) {
	for range rawjson.Members(object) {
		n++
	}
	return n
}

// remade returns the texts and images of an attachment without recorded texts. It handles those kinds that hold something of the
// user's that the model would otherwise miss.
func remade(a []byte) (items [][]block) {
	switch rawjson.Str(a, "type") {
	case "queued_command":
		prompt := rawjson.Get(a, "prompt")
		if !rawjson.IsString(prompt) && !rawjson.IsArray(prompt) {
			return nil
		}
		said, _ := rawjson.Unquote(prompt)
		var images []block
		for part := range rawjson.Elements(prompt) {
			switch rawjson.Str(part, "type") {
			case blockText:
				said += rawjson.Str(part, "text")
			case "image":
				images = append(images, block{kind: "image", json: part})
			}
		}
		return [][]block{append([]block{reminder("The user sent a new message while you were working:\n" + said)}, images...)}
	case "file":
		file := rawjson.Get(rawjson.Get(a, "content"), "file")
		if rawjson.Str(rawjson.Get(a, "content"), "type") != "image" || !rawjson.IsObject(file) {
			return nil
		}
		var source, image dialect.Object
		source.Str("type", "base64")
		for _, m := range [...]struct{ key, member string }{{"data", "base64"}, {"media_type", "type"}} { // one that is missing stays so
			if v := rawjson.Get(file, m.member); v != nil {
				source.Add(m.key, v)
			}
		}
		image.Str("type", "image")
		image.Add("source", source.End())
		return [][]block{{{kind: "image", json: image.End()}}}
	}
	return nil
}

// reminder makes a text in the form in which the program tells the model something.
func reminder(text string) block {
	return textBlock("<system-reminder>\n" + text + "\n</system-reminder>")
}

// raise moves the texts of attachments up to the answer or the result before them, or to the beginning.
func raise(turns []*Turn) []*Turn {
	var out, notes []*Turn // both from the end
	for _, t := range slices.Backward(turns) {
		if t.note && !t.system {
			notes = append(notes, t)
			continue
		}
		if t.assistant() || t.user && len(t.blocks) > 0 && t.blocks[0].kind == blockResult {
			out = append(out, notes...)
			notes = notes[:0]
		}
		out = append(out, t)
	}
	out = append(out, notes...)
	slices.Reverse(out)
	return out
}

// add adds the blocks of an attachment to a message: texts to the result that the message ends with, everything else
// after the last block.
func (t *Turn) add(note []block) {
	t.quoted = nil
	k := len(t.blocks) - 1
	intoResult := len(t.rest) == 0 && k >= 0 && t.blocks[k].kind == blockResult &&
		!slices.ContainsFunc(note, func(b block) bool { return b.kind != blockText || b.next })
	if t.rest != nil && !intoResult {
		t.rest = append(t.rest, note...)
		return
	}
	if !t.owned {
		t.blocks, t.owned = slices.Clone(t.blocks), true
	}
	if intoResult {
		t.blocks[k].notes = append(t.blocks[k].notes, note...)
	} else {
		t.blocks = append(t.blocks, note...)
	}
}

// appendText adds texts to the content of a result, after an empty line.
func appendText(result []byte, notes []block) []byte {
	content := rawjson.Get(result, "content")
	if !rawjson.IsArray(content) {
		said, _ := rawjson.Unquote(content)
		var texts []string
		for _, text := range append([]string{said}, textsOf(notes)...) {
			if text = trim(text); text != "" {
				texts = append(texts, text)
			}
		}
		return rawjson.Set(result, "content", rawjson.Quote(strings.Join(texts, "\n\n")))
	}
	var items [][]byte
	for item := range rawjson.Elements(content) {
		items = append(items, item)
	}
	if rawjson.Truthy(rawjson.Get(result, "is_error")) { // an error has a single text
		var texts []string
		for _, item := range items {
			texts = append(texts, rawjson.Str(item, "text"))
		}
		text := textBlock(strings.Join(append(texts, textsOf(notes)...), "\n\n"))
		return rawjson.Set(result, "content", dialect.Array([][]byte{text.json}))
	}
	for _, n := range notes {
		if k := len(items) - 1; k >= 0 && rawjson.Str(items[k], "type") == blockText {
			items[k] = rawjson.Set(items[k], "text", rawjson.Quote(rawjson.Str(items[k], "text")+"\n"))
		}
		items = append(items, n.json)
	}
	return rawjson.Set(result, "content", dialect.Array(items))
}

func textsOf(notes []block) (texts []string) {
	for _, n := range notes {
		texts = append(texts, rawjson.Str(n.json, "text"))
	}
	return texts
}
