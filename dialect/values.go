package dialect

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// FileIDs is the part of a Writer that makes and checks ids, for agents that name files after their sessions.
type FileIDs struct{}

// CheckID says why an id is not valid.
func (FileIDs) CheckID(id session.ID) error { return CheckFileID(id) }

// NewID makes a UUID of version 7.
func (FileIDs) NewID(t time.Time, random io.Reader) (session.ID, error) { return UUIDv7(t, random) }

// NewEntryID makes eight hex digits.
func (FileIDs) NewEntryID(random io.Reader) (session.EntryID, error) { return ShortEntryID(random) }

// NoBlobs is for agents that keep everything in the record: Writer.Persist and MessageCodec.ResolveBlobs change nothing.
type NoBlobs struct{}

// Persist implements Writer.
func (NoBlobs) Persist(record []byte, _ PersistOptions) ([]byte, error) { return record, nil }

// ResolveBlobs implements session.MessageCodec.
func (NoBlobs) ResolveBlobs(m []byte, _ func(string) ([]byte, error)) ([]byte, error) { return m, nil }

// UUID gives a member of a record that is a UUID; "" if it is another string, which two sessions may have by chance.
func UUID(record []byte, member string) string {
	const length = 36
	if id := rawjson.Str(record, member); len(id) == length && id[8] == '-' && id[23] == '-' {
		return id
	}
	return ""
}

// UUIDv4 spells 16 random bytes as a UUID of version 4.
func UUIDv4(b [16]byte) string {
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// ISO spells a time in ISO 8601 with milliseconds, in quotes.
func ISO(t time.Time) []byte { return []byte(session.TimeOf(t).Text) }

// Integer reads a number without its fraction; 0 for anything else, and for numbers that are too large to count anything.
func Integer(value []byte) int64 {
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil || f != f || math.Abs(f) > 1<<60 {
		return 0
	}
	return int64(f)
}

// Number reads a JSON number; 0 for any other value. One that is too large is an infinity.
func Number(value []byte) float64 {
	if len(value) == 1 && value[0] == '0' {
		return 0 // the usual case
	}
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0
	}
	return f
}

// TextParts gives a text as parts: none where it is empty.
func TextParts(s string) []session.Part {
	if s == "" {
		return nil
	}
	return []session.Part{session.Text{Text: s}}
}

// ImageOf takes a data URL apart. A path or another URL stays as it is, with the type that is given.
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

// ProviderOf gives the provider whose models have names like this one; "" for an unknown name. Some agents record the model
// alone, and others need both.
func ProviderOf(model string) string {
	name := strings.ToLower(model)
	if provider, _, ok := strings.Cut(name, "/"); ok {
		return provider // a gateway's name for it
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

// BlockIDs gives the ids of the blocks of a type in a member of a message.
func BlockIDs(m []byte, member, typ string) (ids []string) {
	for block := range rawjson.Elements(rawjson.Get(m, member)) {
		if rawjson.Str(block, "type") == typ {
			ids = append(ids, rawjson.Str(block, "id"))
		}
	}
	return ids
}

// Strip is MessageCodec.Strip for messages whose blocks are in a member: calls and results are blocks of these types. The
// signatures of thinking were made for the message with its calls and are rejected without them, so they are removed, too.
// Thinking alone is not worth sending.
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

// Abs makes a path absolute and clean. With home set, "~" at its beginning is the home directory.
func (e Env) Abs(p string, home bool) string {
	if rest, ok := strings.CutPrefix(p, "~"); ok && home && (rest == "" || rest[0] == '/') {
		p = filepath.Join(e.Home, rest)
	}
	if !filepath.IsAbs(p) {
		p = filepath.Join(e.WorkDir, p)
	}
	return filepath.Clean(p)
}

// JSSpace reports whether JavaScript trims a character and matches it with \s. Unlike unicode.IsSpace it includes U+FEFF
// and excludes U+0085.
func JSSpace(r rune) bool {
	switch r {
	case '\t', '\n', '\v', '\f', '\r', ' ', 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff:
		return true
	}
	return r >= 0x2000 && r <= 0x200a
}

// idPattern matches session ids that may become part of a file name. They have no dot or dash at the ends: "." and ".."
// are paths, and many programs read a name with a leading dash as a flag.
var idPattern = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$`)

// CheckFileID says why an id is not valid in the name of a file. 128 characters leave room for a time stamp and an ending
// in 255 bytes.
func CheckFileID(id session.ID) error {
	if !idPattern.MatchString(string(id)) || len(id) > 128 {
		return fmt.Errorf("session id %.80q: only letters, digits, '.', '_' and '-', beginning and ending with a letter or digit", id)
	}
	return nil
}

// UUIDv7 makes a UUID of version 7: the time in milliseconds, then random bits. Ids of the same millisecond are in no
// particular order.
func UUIDv7(t time.Time, random io.Reader) (session.ID, error) {
	var b [16]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", err
	}
	ms := uint64(t.UnixMilli())
	for i := range 6 {
		b[i] = byte(ms >> (40 - 8*i))
	}
	b[6] = b[6]&0x0f | 0x70
	b[8] = b[8]&0x3f | 0x80
	return session.ID(fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])), nil
}

// ShortEntryID makes eight hex digits from 32 random bits, as the programs do. Ids may collide: the store tries again until
// one is new.
func ShortEntryID(random io.Reader) (session.EntryID, error) {
	b := make([]byte, 4, 12) // the random bytes, then their hex digits
	if _, err := io.ReadFull(random, b); err != nil {
		return "", err
	}
	return session.EntryID(hex.AppendEncode(b, b)[4:]), nil
}

// NameResults gives the results among the parts of a message the names of their tools. tools are the names by the id of the
// call; the calls among the parts are added.
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
