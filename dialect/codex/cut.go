package codex

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// limit is how much of a tool's output the program sends. The middle of a longer output is cut out.
type limit struct {
	bytes int
	unit  string // the unit in which the program counts what it cut
	size  int    // bytes per unit; 0 if it counts characters
}

// The limit for models that the program knows, and the one for all others.
var (
	knownLimit = limit{48000, "tokens", 4}
	otherLimit = limit{12000, "chars", 0}
)

// knownModels are prefixes of the names of models that the program (0.166) knows.
var knownModels = []string{"gpt-5.5", "gpt-5.6", "gpt-6", "gpt-daybreak", "codex-auto-review"}

// limitOf is the limit of the model that the log names last before a position. The program uses the model of its
// configuration, which is usually the same.
func limitOf(t *session.Tree, last int) limit {
	for i := last; i >= 0; i-- {
		e := t.At(i)
		if e.Kind != session.KindModelChange {
			continue
		}
		raw, err := e.Raw()
		if err != nil {
			break
		}
		model := rawjson.Str(rawjson.Get(raw, "payload"), "model")
		for _, known := range knownModels {
			if strings.HasPrefix(model, known) {
				return knownLimit
			}
		}
		break
	}
	return otherLimit
}

// cut removes the middle of a text that is longer than most bytes; parts are the beginning, a note, and the end.
func (l limit) cut(text string, most int) (parts [3]string, cut bool) {
	if len(text) <= most {
		return parts, false
	}
	head, tail := most/2, len(text)-(most-most/2)
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	removed := utf8.RuneCountInString(text[head:tail])
	if l.size > 0 {
		removed = (tail - head + l.size - 1) / l.size
	}
	return [3]string{text[:head], fmt.Sprintf("…%d %s truncated…", removed, l.unit), text[tail:]}, true
}

// output cuts an output, which is a text or a list whose texts are counted together. It returns nil if nothing is too long.
func (l limit) output(out []byte) []byte {
	if !rawjson.IsArray(out) {
		text, _ := rawjson.Unquote(out)
		if parts, cut := l.cut(text, l.bytes); cut {
			return rawjson.Quote(strings.Join(parts[:], ""))
		}
		return nil
	}
	left, omitted, changed := l.bytes, 0, false
	var list [][]byte
	for part := range rawjson.Elements(out) {
		text, ok := rawjson.Unquote(rawjson.Get(part, "text"))
		if !ok || rawjson.Str(part, "type") != "input_text" {
			list = append(list, part)
			continue
		}
		if left == 0 {
			omitted++
			continue
		}
		if parts, cut := l.cut(text, left); cut {
			part = rawjson.Set(part, "text", rawjson.Quote(strings.Join(parts[:], "")))
			left, changed = 0, true
		}
		left = max(left-len(text), 0)
		list = append(list, part)
	}
	if omitted > 0 {
		list = append(list, inputText(fmt.Sprintf("[omitted %d text items ...]", omitted)))
	}
	if !changed && omitted == 0 {
		return nil
	}
	return dialect.Array(list)
}

// keptTokens is how many tokens of the user's messages survive a compaction without a replacement.
const keptTokens = 20000

// keepNewest returns the user's messages that survive a compaction, in the order of the log: the texts of the newest
// ones whole, then the beginning and end of one more.
func keepNewest(history []item) []item {
	left := keptTokens
	for k := len(history) - 1; k >= 0; k-- {
		i := &history[k]
		if i.kept && i.tokens <= left {
			left -= i.tokens
			continue
		}
		var texts [][]byte
		for part := range rawjson.Elements(rawjson.Get(i.json, "content")) {
			if rawjson.Str(part, "type") == "input_text" {
				texts = append(texts, inputText(rawjson.Str(part, "text")))
			}
		}
		if texts == nil && count(rawjson.Get(i.json, "content")) > 0 {
			texts = [][]byte{inputText("")}
		}
		text := contentText(i.json)
		tokens := (len(text) + 3) / 4
		if tokens > left {
			if left == 0 {
				return history[k+1:]
			}
			parts, _ := knownLimit.cut(text, 4*left)
			texts = [][]byte{inputText(parts[0]), inputText(parts[1]), inputText(parts[2])}
		}
		i.json, i.kept, i.tokens = said("user", dialect.Array(texts)), tokens <= left, tokens
		if left -= tokens; left < 0 {
			return history[k:]
		}
	}
	return history
}

// inputText is a part with a text of the user.
func inputText(text string) []byte { return textPart("input_text", text) }
