package llm

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// rule says which names a provider accepts: letters, digits, "_" and "-", with a greatest length.
type rule struct{ most int }

// toolNames is the rule for the names of tools, the stricter one of both providers.
var toolNames = rule{most: 64}

// clean makes a name valid. otherwise is used if nothing is left of the name.
func (r rule) clean(name, otherwise string) string {
	name = strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' {
			return c
		}
		return '_'
	}, name)
	if name == "" {
		name = otherwise
	}
	return name[:min(len(name), r.most)]
}

// names gives names that are unique in a request.
type names struct {
	rule
	used map[string]bool
	last map[string]int // the last number that was added to names of a beginning
}

// unique returns the name itself if it is valid and unused, otherwise another one.
func (n *names) unique(name string) string {
	// Some agents join the ids of two APIs with a bar; the first is that of the call.
	first, _, _ := strings.Cut(name, "|")
	name = n.clean(first, "call")
	free := name
	// Long names are cut for the number. Those that begin alike share the numbers, or each would try all of the others.
	const digits = 10
	begin := name[:min(len(name), n.most-digits)]
	for n.used[free] {
		n.last[begin]++
		number := "_" + strconv.Itoa(n.last[begin]+1)
		free = name[:min(len(name), n.most-len(number))] + number
	}
	n.used[free] = true
	return free
}

// object returns the arguments of a call as an object: those of an answer that was cut off may be any text.
func object(arguments []byte) []byte {
	if !rawjson.IsObject(arguments) || !rawjson.Valid(arguments) {
		return []byte("{}")
	}
	return wholePairs(bytes.ToValidUTF8(rawjson.Compact(arguments), []byte("\uFFFD")))
}

// wholePairs replaces escapes of half a surrogate pair by U+FFFD: the servers' parsers refuse them.
func wholePairs(value []byte) []byte {
	var out []byte // nil while nothing is replaced
	for i := 0; i < len(value); i++ {
		if value[i] != '\\' {
			continue
		}
		r, size := rawjson.Escape(value[i:])
		if size == len(`\u0000`) && r == '\uFFFD' {
			if out == nil {
				out = slices.Clone(value)
			}
			copy(out[i:], `\ufffd`)
		}
		i += max(size, 1) - 1
	}
	if out == nil {
		return value
	}
	return out
}

// omitted replaces an image that a provider would refuse.
const omitted = "(image omitted)"

// usable returns an image that providers accept: a web address, or the bytes of a common format with its true name. Anything
// else, such as a path on the user's machine, becomes a text.
func usable(i session.Image) session.Part {
	if isAddress(i.Data) {
		return session.Image{Data: i.Data}
	}
	i = dialect.ImageOf(i.Data, i.MIME)
	data, err := base64.StdEncoding.DecodeString(i.Data)
	if err != nil || len(data) == 0 {
		return session.Text{Text: omitted}
	}
	mime := format(data)
	if mime == "" {
		return session.Text{Text: omitted}
	}
	// The data is encoded again, because line breaks in it are refused.
	return session.Image{MIME: mime, Data: base64.StdEncoding.EncodeToString(data)}
}

// format returns the format of an image, from its first bytes, if providers accept it. Agents often record a wrong format.
func format(data []byte) string {
	begins := func(begin string) bool { return bytes.HasPrefix(data, []byte(begin)) }
	switch {
	case begins("\x89PNG\r\n\x1a\n"):
		return "image/png"
	case begins("\xff\xd8\xff"):
		return "image/jpeg"
	case begins("GIF87a"), begins("GIF89a"):
		return "image/gif"
	case begins("RIFF") && len(data) > 12 && string(data[8:12]) == "WEBP":
		return "image/webp"
	}
	return ""
}

// isAddress reports whether an image is a web address rather than a path or data.
func isAddress(data string) bool {
	return strings.HasPrefix(data, "https://") || strings.HasPrefix(data, "http://")
}

// text is a text block, which both providers encode in the same way.
func text(t string) []byte {
	var o dialect.Object
	o.Add("type", []byte(`"text"`))
	o.Str("text", t)
	return o.End()
}
