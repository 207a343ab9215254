package codelia

import (
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/session"
)

// Peek makes a list row from the two ends of a log. A whole log is counted as a decoder counts it.
func (d *Dialect) Peek(head, tail []byte, whole bool) dialect.Summary {
	if whole {
		return d.count(head)
	}
	p := peek{s: dialect.Summary{Messages: -1}}
	p.lines(dialect.TrimBOM(head), true, false)
	if p.s.OK && len(tail) > 0 {
		p.s.Active = session.Time{} // only the tail has the last
		p.lines(tail, false, true)
	}
	return p.s
}

// count reads a whole log as a decoder does.
func (d *Dialect) count(log []byte) dialect.Summary {
	p := peek{s: dialect.Summary{Messages: -1}}
	b := session.NewBuilder("", nil)
	if dialect.DecodeLog(d.NewDecoder(b), log) != nil || b.Header().Raw == nil {
		return p.s
	}
	p.header(b.Header())
	p.s.Messages = 0
	for e := range b.Finish().Entries() {
		if e.Kind == session.KindMessage {
			p.s.Messages++
		}
		p.entry(log[e.Span.Offset:e.Span.End()], run.Type(e.Type))
	}
	return p.s
}

type peek struct {
	s       dialect.Summary
	text    rawjson.Text
	refused bool
}

// lines looks at the whole lines. A line that is cut at the end of head does not count.
func (p *peek) lines(b []byte, fromStart, toEnd bool) {
	for line, cut := range dialect.PeekLines(b, fromStart, toEnd) {
		start := rawjson.SkipSpace(line, 0)
		if p.refused || cut == dialect.LineCut || start >= len(line) || line[start] != '{' {
			continue
		}
		var s run.Scanned
		p.text.Reset(line)
		end, err := s.Scan(&p.text, start)
		if err != nil {
			continue
		}
		record := line[start:end] // the line may have another one
		if p.s.OK {
			p.entry(record, run.Type(s.Type))
			continue
		}
		h, err := run.DecodeHeader(record)
		if p.refused = err != nil; !p.refused {
			p.header(headerOf(h, record))
		}
	}
}

func (p *peek) header(h session.Header) {
	p.s.OK = true
	p.s.ID, p.s.CWD, p.s.Version, p.s.Created = h.ID, h.CWD, h.Version, h.Timestamp
}

// entry takes a record after the header. The prompt is the first input of the run.
func (p *peek) entry(record []byte, typ run.Type) {
	if at := rawjson.Get(record, "ts"); rawjson.IsString(at) {
		p.s.Active = session.Time{Text: string(at)}
	}
	if typ != run.TypeRunStart || p.s.Prompt != "" {
		return
	}
	b, err := run.Decode(record)
	if start, ok := b.(*run.RunStart); err == nil && ok {
		for _, part := range MessageParts(userMessage(start)) {
			if t, ok := part.(session.Text); ok {
				p.s.Prompt += t.Text
			}
		}
	}
}
