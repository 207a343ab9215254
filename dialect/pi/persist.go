package pi

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
)

const (
	// maxUnits is the length, in UTF-16 units, to which omp cuts a string.
	maxUnits = 500_000
	// notice ends a string that was cut.
	notice = "\n\n[Session persistence truncated large content]"
	// minImage is the length in base64 from which an image goes to a blob.
	minImage = 1024
	// deepest is the depth down to which Persist looks; messages are never that deep.
	deepest = 200
	// overflowMember names the blobs that hold the strings that were cut, by JSON pointer.
	overflowMember = "treelineOverflow"
)

// Persist limits the size of a record like omp: images become blobs, very long strings are cut, and what only a running turn
// needs is removed. pi changes nothing.
func (d *Dialect) Persist(record []byte, opt dialect.PersistOptions) ([]byte, error) {
	if !d.omp || !mayNeedWork(record) {
		return record, nil
	}
	p := persister{opt: opt}
	out := p.value(record, place{})
	if p.err != nil {
		return nil, p.err
	}
	if len(p.overflow) > 0 {
		whole := rawjson.Get(record, overflowMember) // for strings that were cut before the record was changed
		if !rawjson.IsObject(whole) {
			whole = []byte("{}")
		}
		for _, o := range p.overflow {
			whole = rawjson.Set(whole, o.pointer, rawjson.Quote(o.ref))
		}
		out = rawjson.Set(out, overflowMember, whole)
	}
	return out, nil
}

// mayNeedWork reports whether Persist may have to change a record. It is a fast search and may only err on the safe side: whatever
// Persist changes has one of these words in it, or is long.
func mayNeedWork(record []byte) bool {
	return len(record) > maxUnits ||
		has(record, "partialJson", 'J') || has(record, "jsonlEvents", 'E') ||
		has(record, "image", 'g') &&
			(len(record) > minImage || bytes.Contains(record, []byte("image_url")) || bytes.Contains(record, blobPrefix))
}

// has is bytes.Contains for a word with a rare letter. It searches for that letter, because the first letter may be frequent.
func has(text []byte, word string, rare byte) bool {
	before := strings.IndexByte(word, rare)
	for i := before; i < len(text); i++ {
		k := bytes.IndexByte(text[i:], rare)
		if k < 0 {
			return false
		}
		i += k
		if start := i - before; len(text)-start >= len(word) && string(text[start:start+len(word)]) == word {
			return true
		}
	}
	return false
}

type persister struct {
	opt      dialect.PersistOptions
	overflow []overflow
	err      error
}

type overflow struct{ pointer, ref string }

// place is where a value is in the record. It names a string that is cut.
type place struct {
	pointer string
	key     string // key of the member, or of the member that is the array
	element bool
	depth   int
}

func (at place) member(key string) place {
	return place{pointer: at.pointer + "/" + pointerEscape.Replace(key), key: key, depth: at.depth + 1}
}

func (at place) index(i int) place {
	return place{pointer: at.pointer + "/" + strconv.Itoa(i), key: at.key, element: true, depth: at.depth + 1}
}

var pointerEscape = strings.NewReplacer("~", "~0", "/", "~1")

// value returns what Persist keeps of a value.
func (p *persister) value(v []byte, at place) []byte {
	switch {
	case p.err != nil || at.depth > deepest:
		return v
	case rawjson.IsObject(v):
		return p.object(v, at)
	case rawjson.IsArray(v):
		return p.array(v, at)
	case rawjson.IsString(v):
		return p.str(v, at)
	}
	return v
}

// array returns what Persist keeps of an array. An array that needs no change is not parsed.
func (p *persister) array(v []byte, at place) []byte {
	if !mayNeedWork(v) {
		return v
	}
	i := -1
	return rawjson.MapElements(v, func(e []byte) []byte {
		i++
		return p.value(e, at.index(i))
	})
}

// object returns what Persist keeps of an object. Image data is handled before strings, because an image must not be cut.
func (p *persister) object(v []byte, at place) []byte {
	if !mayNeedWork(v) {
		return v
	}
	out := rawjson.Delete(rawjson.Delete(v, "partialJson"), "jsonlEvents")
	image := at.element && at.key == "content" && rawjson.Str(v, "type") == "image"
	out = rawjson.MapMembers(out, func(key string, member []byte) []byte {
		switch {
		case key == "thinkingSignature" || key == "thoughtSignature" || key == "textSignature":
			return member // a signature that was cut is useless
		case image && key == "data":
			return p.image(member)
		}
		return p.value(member, at.member(key))
	})
	if len(out) == len(v) && bytes.Equal(out, v) {
		return v
	}
	// like omp, count the lines of a file's content again, because the cut changed them
	if content, ok := rawjson.Unquote(rawjson.Get(out, "content")); ok && rawjson.Get(out, "lineCount") != nil {
		out = rawjson.Set(out, "lineCount", strconv.AppendInt(nil, int64(strings.Count(content, "\n")+1), 10))
	}
	return out
}

// image puts an image into a blob. Base64 that is not in canonical form stays, because it could not be restored exactly.
func (p *persister) image(member []byte) []byte {
	data, ok := new(rawjson.Room).Unquote(member)
	if !ok || p.isRef(data) || len(data) < minImage || p.opt.Put == nil {
		return member
	}
	b, err := base64.StdEncoding.Strict().DecodeString(data)
	if err != nil || strings.ContainsAny(data, "\r\n") { // a decoder ignores line breaks
		return member
	}
	return p.put(b, member)
}

// isRef reports whether an image already is a reference. A malformed reference is refused, because it could become
// part of a path.
func (p *persister) isRef(data string) bool {
	digits, ok := strings.CutPrefix(data, "blob:sha256:")
	if ok && (len(digits) != 64 || strings.Trim(digits, "0123456789abcdef") != "") && p.err == nil {
		p.err = fmt.Errorf("the picture %.80q is not a blob reference: blob:sha256: and 64 hex digits", data)
	}
	return ok
}

// put stores a blob and gives its reference, quoted; the member itself if there is no blob store.
func (p *persister) put(b, member []byte) []byte {
	if p.opt.Put == nil {
		return member
	}
	ref, err := p.opt.Put(b)
	if err != nil {
		p.err = err
		return member
	}
	return rawjson.Quote(ref)
}

// str cuts a string that is too long and, if asked to, puts the whole string into a blob. A string has at least as many bytes as
// UTF-16 units, so most strings are not decoded.
func (p *persister) str(v []byte, at place) []byte {
	if at.key == "image_url" && !at.element {
		url, ok := rawjson.Unquote(v)
		switch {
		case p.isRef(url):
			return v
		case ok && strings.HasPrefix(url, "data:image/") && strings.Contains(url, ";base64,"):
			return p.put([]byte(url), v)
		}
	}
	if len(v) <= maxUnits {
		return v
	}
	var room rawjson.Room // a text without escapes is not copied
	text, ok := room.Inside(v)
	if !ok {
		return v
	}
	kept, cut := cutUnits(room.String(text), maxUnits)
	if !cut {
		return v
	}
	if p.opt.KeepOverflow {
		if p.opt.Put == nil {
			return v // there is no other place for the whole text
		}
		ref, err := p.opt.Put(text)
		if err != nil {
			p.err = err
			return v
		}
		p.overflow = append(p.overflow, overflow{at.pointer, ref})
	}
	return rawjson.Quote(kept + notice)
}

// cutUnits cuts a text that is longer than most UTF-16 units, so that the notice still fits. It does not cut a character in two.
func cutUnits(text string, most int) (string, bool) {
	units := 0
	for _, r := range text {
		units += utf16.RuneLen(r)
	}
	if units <= most {
		return text, false
	}
	room := most - len(notice)
	for i, r := range text {
		if room -= utf16.RuneLen(r); room < 0 {
			return text[:i], true
		}
	}
	return text, true
}

var _ dialect.Overflower = (*Dialect)(nil)

// Whole restores what Persist cut off. A string whose beginning has changed was edited since and stays.
func (d *Dialect) Whole(record []byte, get func(ref string) ([]byte, error)) []byte {
	out := record
	for pointer, ref := range cuts(record) {
		kept, _ := rawjson.Unquote(rawjson.At(out, pointer))
		if whole, err := get(ref); err == nil && bytes.HasPrefix(whole, []byte(strings.TrimSuffix(kept, notice))) {
			out = rawjson.SetAt(out, pointer, rawjson.Quote(string(whole)))
		}
	}
	return out
}

// IsCut implements dialect.Overflower.
func (d *Dialect) IsCut(record []byte) bool {
	for range cuts(record) {
		return true
	}
	return false
}

// cuts returns the strings of a record that are cut, by JSON pointer, with the references of the blobs that hold them whole.
func cuts(record []byte) iter.Seq2[string, string] {
	return func(yield func(pointer, ref string) bool) {
		// A string that was cut is nearly as long as the limit, so most records need not be searched.
		if len(record) < maxUnits || !bytes.Contains(record, []byte(`"`+overflowMember+`"`)) {
			return
		}
		// Each pointer is looked up in the whole record. There cannot be many: a string that was cut is half a megabyte long. A few
		// more are allowed, since some may name strings that were changed since.
		left := 16 + len(record)/maxUnits
		for pointer, value := range rawjson.Fields(rawjson.Get(record, overflowMember)) {
			if left--; left < 0 {
				return
			}
			ref, isRef := rawjson.Unquote(value)
			kept, isString := rawjson.Unquote(rawjson.At(record, pointer))
			if isRef && isString && strings.HasSuffix(kept, notice) && !yield(pointer, ref) {
				return
			}
		}
	}
}
