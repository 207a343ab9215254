package codelia

import (
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/session"
)

// Peek makes a list row from the two ends of a log. The messages of a whole log are counted as a decoder counts them.
func (d *Dialect) Peek(head, tail []byte, whole bool) dialect.Summary {
	if whole {
		return dialect.ReadWhole(d, head, func(s *dialect.Summary, e session.Entry, record []byte) {
			take(s, record, run.Type(e.Type))
		})
	}
	p := peek{s: dialect.Summary{Messages: -1}}
	p.lines(dialect.TrimBOM(head), true, false)
	if p.s.OK && len(tail) > 0 {
		p.s.Active = session.Time{} // only the tail has the last time
		p.lines(tail, false, true)
	}
	p.s.TailShort = p.s.Active.Text == "" // a longer tail shows the last record
	return p.s
}

type peek struct {
	s       dialect.Summary
	text    rawjson.Text
	refused bool
}

// lines takes the whole lines. A line that is cut at the end of head does not count.
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
		record := line[start:end] // the line may have further records
		if p.s.OK {
			take(&p.s, record, run.Type(s.Type))
			continue
		}
		h, err := run.DecodeHeader(record)
		if p.refused = err != nil; !p.refused {
			h := headerOf(h, record)
			p.s.OK, p.s.ID, p.s.CWD, p.s.Version, p.s.Created = true, h.ID, h.CWD, h.Version, h.Timestamp
		}
	}
}

// take takes a record after the header. The prompt is the first input of the run.
func take(s *dialect.Summary, record []byte, typ run.Type) {
	if at := rawjson.Get(record, "ts"); rawjson.IsString(at) {
		s.Active = session.Time{Text: string(at)}
	}
	if typ != run.TypeRunStart || s.Prompt != "" {
		return
	}
	b, err := run.Decode(record)
	if start, ok := b.(*run.RunStart); err == nil && ok {
		for _, part := range MessageParts(userMessage(start)) {
			if t, ok := part.(session.Text); ok {
				s.Prompt += t.Text
			}
		}
	}
}
