package copilot

import (
	"encoding/json"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
)

// Beside the log is workspace.yaml, in which the program keeps the name of the session, a line "name: …". It is the first prompt until
// the session gets another name. The program's lists show it.

var (
	_ dialect.Recaptioner = (*Dialect)(nil)
	_ dialect.Needer      = (*decoder)(nil)
)

const workspaceFile = "workspace.yaml"

// CaptionFile is the file with the name.
func (d *Dialect) CaptionFile() string { return workspaceFile }

// Caption returns the name.
func (d *Dialect) Caption(content []byte) string {
	for line := range strings.Lines(string(content)) {
		if value, ok := strings.CutPrefix(line, "name: "); ok {
			return scalar(strings.TrimSpace(value))
		}
	}
	return ""
}

// SetCaption changes the name, and records that the user gave it. A name cannot be removed: the program always has one.
func (d *Dialect) SetCaption(content []byte, title string) []byte {
	if title == "" {
		return nil
	}
	var out []byte
	name, inName := false, false
	for line := range strings.Lines(string(content)) {
		key, _, _ := strings.Cut(line, ":")
		// The further lines of a multi-line text are indented, or empty.
		if inName = inName && (strings.HasPrefix(line, " ") || strings.TrimSpace(line) == ""); inName {
			continue
		}
		switch key {
		case "name":
			name, inName = true, true
			line = "name: " + string(rawjson.Quote(title)) + "\n"
		case "user_named":
			line = "user_named: true\n"
		}
		out = append(out, line...)
	}
	if !name {
		return nil
	}
	return out
}

// scalar returns the text of a YAML value on one line, plain or quoted. It returns "" for any other value, such as a block of several lines.
func scalar(value string) string {
	switch {
	case value == "" || strings.ContainsAny(value[:1], "|>&*!{[") || value == "~" || value == "null":
		return ""
	case value[0] == '"':
		var text string
		if json.Unmarshal([]byte(value), &text) != nil {
			return "" // an escape that JSON does not have; none has been seen
		}
		return text
	case value[0] == '\'':
		if len(value) < 2 || !strings.HasSuffix(value, "'") {
			return ""
		}
		return strings.ReplaceAll(value[1:len(value)-1], "''", "'")
	}
	return value
}

// Needs asks for the file once, after the header was read.
func (dec *decoder) Needs() []dialect.Need {
	if dec.asked || !dec.Begun {
		return nil
	}
	dec.asked = true
	return []dialect.Need{{Kind: dialect.NeedBeside, Name: workspaceFile}}
}

// Supply takes the name. A session without the file can still be resumed.
func (dec *decoder) Supply(_ dialect.Need, content []byte, err error) {
	if err != nil {
		return
	}
	if title := Copilot.Caption(content); title != "" {
		h := dec.b.Header()
		h.Title = title
		dec.b.SetHeader(h)
	}
}
