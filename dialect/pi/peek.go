package pi

import (
	"bytes"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Peek makes a list's row from the two ends of a log.
func (d *Dialect) Peek(head, tail []byte, whole bool) dialect.Summary {
	p := peek{s: dialect.Summary{Messages: -1}}
	if whole {
		p.s.Messages = 0
	}
	p.lines(bytes.TrimPrefix(head, bom), true, whole, p.front)
	p.lines(tail, false, true, p.back)
	if p.name != "" {
		p.s.Title = p.name
	}
	if p.s.Title == "" && !p.untitled {
		p.s.Title = p.short
	}
	return p.s
}

type peek struct {
	s        dialect.Summary
	slot     bool
	untitled bool   // the title slot says that there is no title
	name     string // the last session_info
	short    string // the last compaction's short summary
}

// lines calls f for each line that is there whole.
func (p *peek) lines(b []byte, fromStart, toEnd bool, f func([]byte)) {
	if !fromStart {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			return
		}
		b = b[i+1:]
	}
	for len(b) > 0 {
		line, rest, found := bytes.Cut(b, []byte{'\n'})
		if !found && !toEnd {
			p.cut(line)
			return
		}
		if rawjson.IsObject(line) && rawjson.Valid(line) {
			f(line)
		}
		b = rest
	}
}

// front looks at a record near the beginning.
func (p *peek) front(line []byte) {
	if p.s.OK {
		p.back(line)
		return
	}
	switch rawjson.Str(line, "type") {
	case "title":
		p.slot, p.s.Title = true, rawjson.Str(line, "title")
		p.untitled = p.s.Title == ""
	case "session":
		if !rawjson.IsString(rawjson.Get(line, "id")) {
			return
		}
		p.s.OK = true
		p.s.ID = session.ID(rawjson.Str(line, "id"))
		p.s.CWD = rawjson.Str(line, "cwd")
		p.s.Parent = rawjson.Str(line, "parentSession")
		p.s.Version = headerVersion(line)
		p.s.Created = session.Time{Text: string(rawjson.Get(line, "timestamp"))}
		if !p.slot {
			p.s.Title = rawjson.Str(line, "title")
		}
	}
}

// back looks at an entry.
func (p *peek) back(line []byte) {
	if t := rawjson.Get(line, "timestamp"); rawjson.IsString(t) {
		p.s.Active = session.Time{Text: string(t)}
	}
	switch rawjson.Str(line, "type") {
	case "message":
		if p.s.Messages >= 0 {
			p.s.Messages++
		}
		if m := rawjson.Get(line, "message"); p.s.Prompt == "" && rawjson.Str(m, "role") == "user" {
			p.s.Prompt = plainText(rawjson.Get(m, "content"))
		}
	case "session_info":
		p.name = oneLine(rawjson.Str(line, "name"))
	case "compaction":
		if short := rawjson.Str(line, "shortSummary"); short != "" {
			p.short = short
		}
	}
}

// cut looks at a line that goes on behind the bytes at hand: the beginning of a long first prompt is enough for a list.
func (p *peek) cut(line []byte) {
	if !p.s.OK || p.s.Prompt != "" {
		return
	}
	m := bytes.Index(line, []byte(`"role":"user"`))
	if m < 0 || !bytes.HasPrefix(line, []byte(`{"type":"message"`)) {
		return
	}
	rest := line[m:]
	for _, key := range []string{`"text":"`, `"content":"`} {
		if i := bytes.Index(rest, []byte(key)); i >= 0 {
			s := rest[i+len(key)-1:]
			if len(s) > 600 {
				s = s[:600]
			}
			if end := bytes.LastIndexByte(s, '\\'); end > len(s)-7 {
				s = s[:end]
			}
			p.s.Prompt, _ = rawjson.Unquote(append(bytes.ToValidUTF8(bytes.Clone(s), nil), '"'))
			return
		}
	}
}

// plainText joins the text blocks of a message's content.
func plainText(content []byte) string {
	if s, ok := rawjson.Unquote(content); ok {
		return s
	}
	var texts []string
	for b := range rawjson.Elements(content) {
		if rawjson.Str(b, "type") == "text" {
			texts = append(texts, rawjson.Str(b, "text"))
		}
	}
	return strings.Join(texts, " ")
}
