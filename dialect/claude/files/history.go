package files

import (
	"strings"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Historian = Layout{}

// HistoryFile is the file in which the program keeps the user's prompts.
func (Layout) HistoryFile() string { return "history.jsonl" }

// ReadTyped parses a line of that file:
//
//	{"display":text,"pastedContents":{"1":{"id":1,"type":"text","content":text}},"timestamp":ms,"project":cwd,"sessionId":id}
//
// A long text that was pasted is shown as [Pasted text #1 +12 lines]. The text is put back, so that the prompt equals the one in the
// session.
func (Layout) ReadTyped(line []byte) (t dialect.Typed, ok bool) {
	display := rawjson.Get(line, "display")
	if !rawjson.IsObject(line) || !rawjson.Valid(line) || !rawjson.IsString(display) {
		return t, false
	}
	t.Text, _ = rawjson.Unquote(display)
	for number, pasted := range rawjson.Fields(rawjson.Get(line, "pastedContents")) {
		if content := rawjson.Get(pasted, "content"); rawjson.IsString(content) && rawjson.Str(pasted, "type") == "text" {
			text, _ := rawjson.Unquote(content)
			t.Text = putBack(t.Text, number, text)
		}
	}
	if ms := dialect.Integer(rawjson.Get(line, "timestamp")); ms > 0 {
		t.At = time.UnixMilli(ms)
	}
	t.CWD, t.Session = rawjson.Str(line, "project"), session.ID(rawjson.Str(line, "sessionId"))
	return t, true
}

// putBack replaces the marks of a pasted text by the text. number is the number in the mark.
func putBack(text, number, pasted string) string {
	mark := "[Pasted text #" + number
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, mark)
		if out.WriteString(before); !found {
			return out.String()
		}
		end := strings.IndexByte(rest, ']')
		// #1 must not match #12.
		if end < 0 || end > 0 && rest[0] >= '0' && rest[0] <= '9' {
			out.WriteString(mark)
			text = rest
			continue
		}
		out.WriteString(pasted)
		text = rest[end+1:]
	}
}
