package wave

import (
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Peek makes a list row from the two ends of a log: the working directory and the first prompt from its beginning, the time
// of the last message from its end. If the last line begins before the tail, the time is unknown. The id is in the name
// of the file: see Placer.
func (d *Dialect) Peek(head, tail []byte, whole bool) dialect.Summary {
	p := peek{s: dialect.Summary{Messages: -1}}
	if whole {
		return d.count(head)
	}
	p.lines(dialect.TrimBOM(head), true, false)
	if p.s.OK && len(tail) > 0 {
		first := p.s.Prompt
		p.active = nil // only the tail has the last time
		p.lines(tail, false, true)
		p.s.Prompt = first // a prompt in the tail is not the first
	}
	if p.active != nil {
		p.s.Active = session.Time{Text: string(p.active)}
	}
	p.s.TailShort = p.active == nil // a longer tail shows the last line
	return p.s
}

// count reads a whole log like a decoder. The last time counts.
func (d *Dialect) count(log []byte) dialect.Summary {
	return dialect.ReadWhole(d, log, func(s *dialect.Summary, e session.Entry, record []byte) {
		if e.Kind != session.KindMessage && e.Kind != session.KindCompaction {
			return
		}
		if s.Prompt == "" {
			s.Prompt = prompt(record)
		}
		if at := rawjson.Get(record, "timestamp"); rawjson.IsString(at) {
			s.Active = session.Time{Text: string(at)}
		}
	})
}

type peek struct {
	s      dialect.Summary
	text   rawjson.Text
	active []byte
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
		if _, err := f.scan(&p.text, start); err != nil {
			continue
		}
		p.record(line, &f)
	}
}

// record takes one record. In a log without a metadata line the first message is the header.
func (p *peek) record(line []byte, f *fields) {
	switch {
	case f.isMetadata():
		if p.s.OK {
			return
		}
		p.s.OK, p.s.Version = true, version
		p.s.CWD, p.s.Created = string(rawjson.Inside(f.workdir)), session.Time{Text: string(f.createdAt)}
		p.s.Parent = rawjson.Str(rawjson.Get(line, ours), "parent")
		return
	case f.role == nil && f.blocks == nil:
		return
	case !p.s.OK:
		own := rawjson.Get(rawjson.Get(line, "metadata"), ours)
		p.s.OK, p.s.Version, p.s.Created = true, version, session.Time{Text: string(f.timestamp)}
		p.s.CWD, p.s.Parent = rawjson.Str(own, "workdir"), rawjson.Str(own, "parent")
	}
	if rawjson.IsString(f.timestamp) {
		p.active = f.timestamp
	}
	if p.s.Prompt == "" {
		p.s.Prompt = prompt(line)
	}
}

// prompt is what the program shows of a session: the text of a message that is not the agent's own, or the command or summary in it.
func prompt(message []byte) string {
	if rawjson.Truthy(rawjson.Get(message, "isMeta")) {
		return ""
	}
	var said, ran, summary string
	for _, b := range Blocks(rawjson.Get(message, "blocks")) {
		switch b := b.(type) {
		case TextBlock:
			if said == "" {
				said = b.Content
			}
		case BangBlock:
			if ran == "" && b.Command != "" {
				ran = "!" + b.Command
			}
		case CompactBlock:
			summary = b.Content
		}
	}
	switch {
	case said != "":
		return said
	case ran != "":
		return ran
	}
	return summary
}
