package dialect

import (
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// ISO spells a time in ISO 8601 with milliseconds, in quotes.
func ISO(t time.Time) []byte { return []byte(session.TimeOf(t).Text) }

// Integer reads a number without its fraction; 0 for anything else, and for numbers that are too large for a count.
func Integer(value []byte) int64 {
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil || f != f || math.Abs(f) > 1<<60 {
		return 0
	}
	return int64(f)
}

// Number reads a JSON number; 0 for any other value. A number that is too large becomes an infinity.
func Number(value []byte) float64 {
	if len(value) == 1 && value[0] == '0' {
		return 0 // the most frequent value
	}
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0
	}
	return f
}

// TextParts returns a text as parts: none if it is empty.
func TextParts(s string) []session.Part {
	if s == "" {
		return nil
	}
	return []session.Part{session.Text{Text: s}}
}

// ImageOf parses a data URL. A path or another URL stays as it is, with the given type.
func ImageOf(url, mime string) session.Image {
	if rest, ok := strings.CutPrefix(url, "data:"); ok {
		if head, data, ok := strings.Cut(rest, ","); ok && strings.HasSuffix(head, ";base64") {
			return session.Image{MIME: strings.TrimSuffix(head, ";base64"), Data: data}
		}
	}
	return session.Image{MIME: mime, Data: url}
}

// ImageURL is the URL of a picture, or a data URL of its bytes.
func ImageURL(i session.Image) string {
	if i.MIME == "" {
		return i.Data
	}
	return "data:" + i.MIME + ";base64," + i.Data
}

// ProviderOf guesses the provider from the name of a model; "" for an unknown name. Some agents record only the model,
// and others need both.
func ProviderOf(model string) string {
	name := strings.ToLower(model)
	if provider, _, ok := strings.Cut(name, "/"); ok {
		return provider // a gateway prefixes the provider
	}
	for _, m := range []struct{ begin, provider string }{
		{"claude", "anthropic"}, {"gpt", "openai"}, {"chatgpt", "openai"}, {"codex", "openai"}, {"o1", "openai"}, {"o3", "openai"},
		{"o4", "openai"}, {"gemini", "google"}, {"grok", "xai"}, {"deepseek", "deepseek"}, {"mistral", "mistral"}, {"kimi", "moonshotai"},
		{"glm", "zai"},
	} {
		if strings.HasPrefix(name, m.begin) {
			return m.provider
		}
	}
	return ""
}

// BlockIDs returns the ids of the blocks of type typ in a member of a message.
func BlockIDs(m []byte, member, typ string) (ids []string) {
	for block := range rawjson.Elements(rawjson.Get(m, member)) {
		if rawjson.Str(block, "type") == typ {
			ids = append(ids, rawjson.Str(block, "id"))
		}
	}
	return ids
}

// Strip is MessageCodec.Strip for messages whose blocks are in a member: calls and results are the blocks of these types. The
// signatures of thinking were made for the message with its calls and are rejected without them, so they are removed, too.
// A message that has only thinking left is dropped.
func Strip(m []byte, member, signature string, drop func(id string) bool, types ...string) []byte {
	useful := false
	blocks := rawjson.MapElements(rawjson.Get(m, member), func(block []byte) []byte {
		typ := rawjson.Str(block, "type")
		switch {
		case typ == "thinking":
			return rawjson.Delete(block, signature)
		case slices.Contains(types, typ) && drop(rawjson.Str(block, "id")):
			return nil
		}
		useful = true
		return block
	})
	if !useful {
		return nil
	}
	return rawjson.Set(m, member, blocks)
}

// Abs makes a path absolute and clean. If home is set, a leading "~" is the home directory.
func (e Env) Abs(p string, home bool) string {
	if rest, ok := strings.CutPrefix(p, "~"); ok && home && (rest == "" || rest[0] == '/') {
		p = filepath.Join(e.Home, rest)
	}
	if !filepath.IsAbs(p) {
		p = filepath.Join(e.WorkDir, p)
	}
	return filepath.Clean(p)
}

// JSSpace reports whether JavaScript treats a character as white space, in trim and in \s. Unlike unicode.IsSpace it includes U+FEFF
// and excludes U+0085.
func JSSpace(r rune) bool {
	switch r {
	case '\t', '\n', '\v', '\f', '\r', ' ', 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff:
		return true
	}
	return r >= 0x2000 && r <= 0x200a
}

// NameResults sets the names of tools in the results among the parts of a message. tools maps the ids of calls to names; the
// calls among the parts are added to it.
//
//go:noinline // its copies took 5.6 KB
func NameResults(parts []session.Part, tools map[string]string) {
	for i, p := range parts {
		switch p := p.(type) {
		case session.ToolCall:
			tools[p.ID] = p.Name
		case session.ToolResult:
			if p.Name == "" {
				p.Name = tools[p.CallID]
				parts[i] = p
			}
		}
	}
}
