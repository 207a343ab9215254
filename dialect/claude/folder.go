package claude

import (
	"bytes"
	"iter"
	"strconv"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Beside the log there may be a folder that is named after the session:
//
//	custom-title.json              {"customTitle":…}, a title
//	tool-results/<name>.txt        outputs that are too long for a message
//	subagents/agent-<id>.jsonl     the logs of sub-agents
//	subagents/agent-<id>.meta.json {"agentType":…,"description":…,"toolUseId":…}

var (
	_ dialect.Overflower = (*Dialect)(nil)
	_ dialect.Captioner  = (*Dialect)(nil)
	_ dialect.Needer     = (*decoder)(nil)
)

const (
	titleFile   = "custom-title.json"
	resultsName = "tool-results"
	metaEnd     = ".meta.json" // follows the name of a sub-agent's log
)

// CaptionFile is the file with the title.
func (d *Dialect) CaptionFile() string { return titleFile }

// Caption reads the file with the title.
func (d *Dialect) Caption(content []byte) string {
	if content = bytes.TrimSpace(content); !rawjson.IsObject(content) || !rawjson.Valid(content) {
		return ""
	}
	return rawjson.Str(content, "customTitle")
}

// Needs asks once, when a record was seen: for the title of a session, or for what is known of a sub-agent.
func (dec *decoder) Needs() []dialect.Need {
	if dec.asked || !dec.header {
		return nil
	}
	dec.asked = true
	id := dec.b.Header().ID
	name := string(id) + metaEnd
	if dec.r.layout.Main(string(id)) {
		name = string(id) + "/" + titleFile
	}
	if dialect.CheckFileID(id) != nil {
		return nil
	}
	return []dialect.Need{{Kind: dialect.NeedBeside, Name: name}}
}

// Supply takes what such a file says. Most sessions have none.
func (dec *decoder) Supply(n dialect.Need, content []byte, err error) {
	if err != nil {
		return
	}
	h := dec.b.Header()
	if strings.HasSuffix(n.Name, metaEnd) {
		if rawjson.Valid(content) {
			h.Call = rawjson.Str(bytes.TrimSpace(content), "toolUseId")
		}
	} else if title := dec.r.Caption(content); title != "" {
		h.Title = title
	}
	dec.b.SetHeader(h)
}

// nameAgent puts the session of a sub-agent into the result of the call that began it.
func nameAgent(parts []session.Part, agent string) {
	id := session.ID(agentPrefix + agent)
	if agent == "" || dialect.CheckFileID(id) != nil {
		return
	}
	for k := range parts {
		if r, ok := parts[k].(session.ToolResult); ok {
			r.Session = id
			parts[k] = r
		}
	}
}

// The text in the place of a long output: where the output is, and its beginning.
const (
	savedBegin   = "<persisted-output>\n"
	savedTo      = "Full output saved to: "
	savedPreview = "Preview (first "
	savedEnd     = "\n</persisted-output>"
)

// Whole puts outputs from their files in the place of their beginnings. An output that begins otherwise is another one.
func (d *Dialect) Whole(record []byte, get func(name string) ([]byte, error)) []byte {
	out := record
	for pointer, s := range savedIn(record) {
		if whole, err := get(s.file); err == nil && bytes.HasPrefix(whole, []byte(s.preview)) {
			out = rawjson.SetAt(out, pointer, rawjson.Quote(strings.ToValidUTF8(string(whole), "\uFFFD")))
		}
	}
	return out
}

// IsCut implements dialect.Overflower.
func (d *Dialect) IsCut(record []byte) bool {
	for range savedIn(record) {
		return true
	}
	return false
}

// saved is an output that is in a file.
type saved struct {
	file    string // relative to the session's folder
	preview string // the beginning of the output
}

// savedIn gives the outputs of a record that are in files, by JSON pointer.
func savedIn(record []byte) iter.Seq2[string, saved] {
	return func(yield func(string, saved) bool) {
		if !bytes.Contains(record, []byte(savedBegin[:len(savedBegin)-1])) {
			return
		}
		k := -1
		for item := range rawjson.Elements(rawjson.Get(rawjson.Get(record, "message"), "content")) {
			if k++; rawjson.Str(item, "type") != blockResult {
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

// parseSaved reads the text in the place of an output. The path in it may be anything: only its last element is used, and only
// if it is a plain name below a folder of the right name. The file is looked for in the session's own folder.
func parseSaved(value []byte) (s saved, ok bool) {
	text, _ := rawjson.Unquote(value)
	text, ok = strings.CutPrefix(text, savedBegin)
	if !ok {
		return s, false
	}
	head, rest, ok := strings.Cut(text, "\n\n"+savedPreview)
	_, path, named := strings.Cut(head, savedTo)
	_, preview, begun := strings.Cut(rest, ":\n")
	elements := strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' })
	if n := len(elements); !ok || !named || !begun || n < 2 || elements[n-2] != resultsName || dialect.CheckFileID(session.ID(elements[n-1])) != nil {
		return s, false
	}
	if end := strings.LastIndex(preview, savedEnd); end >= 0 {
		preview = strings.TrimSuffix(preview[:end], "\n...")
	}
	return saved{resultsName + "/" + elements[len(elements)-1], preview}, true
}
