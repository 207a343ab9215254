package claude

import (
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Peek makes a list row from the two ends of a log: the working directory and the first prompt from its beginning, the title
// and the time of the last entry from its end. The id is in the name of the file: see Placer.
func (d *Dialect) Peek(head, tail []byte, whole bool) dialect.Summary {
	var p peek
	if whole {
		s := dialect.ReadWhole(d, head, func(_ *dialect.Summary, e session.Entry, record []byte) {
			var f fields
			p.text.Reset(record)
			if _, err := f.scan(&p.text, 0); err == nil {
				p.record(record, &f)
			}
		})
		p.fill(&s)
		return s
	}
	s := dialect.NewSummary(false)
	p.lines(dialect.TrimBOM(head), true, false)
	if s.OK = p.seen; !s.OK {
		return s
	}
	s.ID, s.CWD, s.Created, s.Version = session.ID(p.id), p.cwd, p.created, version
	if len(tail) > 0 {
		p.active = nil // only the tail has the last time
		prompt, command := p.prompt, p.command
		p.lines(tail, false, true)
		p.prompt, p.command = prompt, command // those found in the tail are later ones
	}
	p.fill(&s)
	s.TailShort = p.active == nil
	return s
}

// peek is what Peek has found so far.
type peek struct {
	text              rawjson.Text
	seen              bool // a line of the program was seen
	id, cwd           string
	created           session.Time
	prompt, command   string
	active            []byte
	custom, made, old string // the titles of the user, of the program, and of old versions
}

// fill puts the findings into a summary.
func (p *peek) fill(s *dialect.Summary) {
	if !s.OK {
		return
	}
	if s.Prompt = p.prompt; p.prompt == "" {
		s.Command = p.command
	}
	for _, title := range []string{p.old, p.made, p.custom} {
		if title != "" {
			s.Title = title
		}
	}
	if p.active != nil {
		s.Active = session.Time{Text: string(p.active)}
	}
}

// lines takes the whole lines and ignores damaged ones.
func (p *peek) lines(b []byte, fromStart, toEnd bool) {
	for line, end := range dialect.PeekLines(b, fromStart, toEnd) {
		start := rawjson.SkipSpace(line, 0)
		if end == dialect.LineCut || start >= len(line) || line[start] != '{' {
			continue
		}
		var f fields
		p.text.Reset(line)
		if n, err := f.scan(&p.text, start); err == nil {
			p.record(line[start:n], &f)
		}
	}
}

// record takes one line.
func (p *peek) record(line []byte, f *fields) {
	p.seen = p.seen || f.ours()
	if p.id == "" {
		p.id = string(rawjson.Inside(f.session))
	}
	if p.cwd == "" {
		p.cwd = string(rawjson.Inside(f.cwd))
	}
	if p.created.Text == "" {
		p.created = session.Time{Text: string(f.timestamp)}
	}
	switch string(f.typ) {
	case typeUser, typeAssistant, typeSystem, typeAttachment:
		if rawjson.IsString(f.timestamp) && !f.side {
			p.active = f.timestamp
		}
		if string(f.typ) == typeUser && p.prompt == "" && !f.side {
			text := dialect.TextOf(contentParts(rawjson.Get(rawjson.Get(line, "message"), "content")))
			if realPrompt(line) {
				p.prompt = text
			} else if p.command == "" {
				p.command = typedCommand(text)
			}
		}
	case "custom-title":
		p.custom, _ = rawjson.Unquote(f.title)
	case "ai-title":
		p.made, _ = rawjson.Unquote(f.title)
	case "summary":
		p.old, _ = rawjson.Unquote(f.title)
	}
}
