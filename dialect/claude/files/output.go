package files

import (
	"bytes"
	"iter"
	"strconv"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// resultsName is the folder of the outputs, in that of the session.
const resultsName = "tool-results"

// A long output is replaced by a text of where the output is, and its beginning.
const (
	savedBegin   = "<persisted-output>\n"
	savedTo      = "Full output saved to: "
	savedPreview = "Preview (first "
	savedEnd     = "\n</persisted-output>"
)

// output is an output that is in a file.
type output struct {
	File    string // relative to the session's folder
	Preview string // the beginning of the output
}

// outputs returns the outputs of a record that are in files, each with its JSON pointer.
func outputs(record []byte) iter.Seq2[string, output] {
	return func(yield func(string, output) bool) {
		if !bytes.Contains(record, []byte(savedBegin[:len(savedBegin)-1])) {
			return
		}
		k := -1
		for item := range rawjson.Elements(rawjson.Get(rawjson.Get(record, "message"), "content")) {
			if k++; rawjson.Str(item, "type") != "tool_result" {
				continue
			}
			pointer := "/message/content/" + strconv.Itoa(k) + "/content"
			content := rawjson.Get(item, "content")
			if rawjson.IsString(content) {
				if s, ok := parseSaved(content); ok && !yield(pointer, s) {
					return
				}
				continue
			}
			n := -1
			for part := range rawjson.Elements(content) {
				n++
				if s, ok := parseSaved(rawjson.Get(part, "text")); ok && !yield(pointer+"/"+strconv.Itoa(n)+"/text", s) {
					return
				}
			}
		}
	}
}

// parseSaved reads the text that replaces an output. The path in it may be anything: only its last element is used, and only
// if it is a plain name below a folder of the right name. The file is looked for in the session's own folder.
func parseSaved(value []byte) (o output, ok bool) {
	text, _ := rawjson.Unquote(value)
	text, ok = strings.CutPrefix(text, savedBegin)
	if !ok {
		return o, false
	}
	head, rest, ok := strings.Cut(text, "\n\n"+savedPreview)
	_, path, named := strings.Cut(head, savedTo)
	_, preview, begun := strings.Cut(rest, ":\n")
	elements := strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' })
	if n := len(elements); !ok || !named || !begun || n < 2 || elements[n-2] != resultsName || dialect.CheckFileID(session.ID(elements[n-1])) != nil {
		return o, false
	}
	if end := strings.LastIndex(preview, savedEnd); end >= 0 {
		preview = strings.TrimSuffix(preview[:end], "\n...")
	}
	return output{resultsName + "/" + elements[len(elements)-1], preview}, true
}

// Whole replaces beginnings of outputs by the outputs in files. An output with another beginning is not the right one and is not used.
func Whole(record []byte, get func(name string) ([]byte, error)) []byte {
	out := record
	for pointer, s := range outputs(record) {
		if whole, err := get(s.File); err == nil && bytes.HasPrefix(whole, []byte(s.Preview)) {
			out = rawjson.SetAt(out, pointer, rawjson.Quote(strings.ToValidUTF8(string(whole), "\uFFFD")))
		}
	}
	return out
}

// HasOutputs reports whether a record has outputs that are in files.
func HasOutputs(record []byte) bool {
	for range outputs(record) {
		return true
	}
	return false
}

// Title reads the title in the content of custom-title.json; "" if there is none.
func Title(content []byte) string {
	if content = bytes.TrimSpace(content); !rawjson.IsObject(content) || !rawjson.Valid(content) {
		return ""
	}
	return rawjson.Str(content, "customTitle")
}
