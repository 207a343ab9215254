package repair

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/internal/sorting"
	"github.com/treeline-dev/treeline/session"
)

// piece is a record in a line: the header, or the entry at an index.
type piece struct {
	span   session.Span
	header bool
	index  int
}

// mendLines puts each record on a line of its own, and collects everything else in aside. A line without changes keeps its bytes. Pieces
// are the records that the reader found; the bytes between them are gaps.
func (p *planner) mendLines() (lines [][]byte, aside []byte, err error) {
	var pieces []piece
	for e := range p.t.Entries() {
		pieces = append(pieces, piece{span: e.Span, index: e.Index})
	}
	if h := p.t.Header(); h.Raw != nil && h.Span.Length > 0 {
		pieces = append(pieces, piece{span: h.Span, header: true})
	}
	sorting.By(pieces, func(a, b piece) int { return cmp.Compare(a.span.Offset, b.span.Offset) })
	// In a log without a header the first message serves as one too, so its record occurs twice.
	pieces = slices.CompactFunc(pieces, func(a, b piece) bool { return a.span == b.span })
	for number, start := 1, 0; start < len(p.all); number++ {
		end := bytes.IndexByte(p.all[start:], '\n')
		torn := end < 0
		if end += start; torn {
			end = len(p.all)
		}
		n := 0
		for n < len(pieces) && pieces[n].span.End() <= int64(end) {
			n++
		}
		l := lineMend{planner: p, number: number, start: start, end: end, torn: torn}
		if err := l.mend(pieces[:n]); err != nil {
			return nil, nil, err
		}
		lines, aside = append(lines, l.out...), append(aside, l.aside...)
		for range l.out {
			p.numbers = append(p.numbers, number)
		}
		pieces, start = pieces[n:], end+1
	}
	return append(lines, p.tail...), aside, nil
}

// lineMend is the repair of one line.
type lineMend struct {
	*planner
	number, start, end int
	torn               bool // unterminated
	out                [][]byte
	aside              []byte
	removed            bool
}

// mend splits a line into its records and the gaps between them.
func (l *lineMend) mend(pieces []piece) error {
	at, changed := l.start, false
	if len(pieces) > 1 && pieces[1].span.Offset < pieces[0].span.End() {
		l.out = [][]byte{l.all[l.start:l.end]} // records inside the header stay where they are
		return nil
	}
	for _, pc := range pieces {
		l.gap(at, int(pc.span.Offset), len(pieces) > 0)
		was := l.all[pc.span.Offset:pc.span.End()]
		var now []byte
		var err error
		if pc.header {
			now, _, err = l.w.EditHeader(l.t.Header(), nil, dialect.HeaderEdit{})
		} else {
			now, err = l.record(l.t.At(pc.index))
		}
		if err != nil {
			return err
		}
		changed = changed || !bytes.Equal(was, now)
		l.out = append(l.out, now)
		at = int(pc.span.End())
	}
	l.gap(at, l.end, len(pieces) > 0)
	if len(pieces) > 1 {
		l.add(Repair{Line: l.number, Offset: int64(l.start), Kind: session.ProblemGlued, Change: true,
			Problem: fmt.Sprintf("%d records share the line", len(pieces)), Action: "each gets its own line"})
	}
	if l.torn && len(pieces) > 0 && at == l.end {
		l.add(Repair{Line: l.number, Offset: int64(l.end), Kind: KindNewline, Change: true,
			Problem: "the last line has no newline", Action: "it gets one"})
	}
	// A missing newline does not count as a change: the backend terminates every line that it writes.
	if !changed && !l.removed && len(pieces) < 2 {
		l.out = [][]byte{l.all[l.start:l.end]} // keeps spaces, a carriage return, an empty line
		if l.start == l.end && l.torn {
			l.out = nil
		}
	}
	return nil
}

// gap handles the bytes between records. White space is dropped only if the line is rewritten.
func (l *lineMend) gap(from, to int, beside bool) {
	text := l.all[from:to]
	if len(bytes.TrimSpace(text)) == 0 {
		return
	}
	kind, problem := l.what(text, from, to)
	if kind == "" {
		l.out = append(l.out, text)
		return
	}
	l.removed = true
	l.aside = append(append(l.aside, text...), '\n')
	action := "moved to a separate file"
	if beside {
		action += "; the rest of the line is kept"
	}
	l.add(Repair{Line: l.number, Offset: int64(from), Kind: kind, Change: true, Problem: problem, Action: action})
}

// what classifies a gap by the problem that the reader reported there. The kind is "" for a record before the header,
// which belongs to the header.
func (l *lineMend) what(text []byte, from, to int) (session.ProblemKind, string) {
	size := fmt.Sprintf("%d bytes", len(text))
	if from == 0 && bytes.HasPrefix(text, []byte("\xef\xbb\xbf")) && len(bytes.TrimSpace(text[3:])) == 0 {
		return session.ProblemBOM, "a byte order mark before the first record"
	}
	if len(bytes.Trim(text, "\x00")) == 0 {
		return session.ProblemNULs, fmt.Sprintf("%d NUL bytes", len(text))
	}
	first, _ := slices.BinarySearchFunc(l.damage, int64(from), func(p session.Problem, at int64) int { return cmp.Compare(p.Offset, at) })
	for _, p := range l.damage[first:] {
		if p.Offset >= int64(to) {
			break
		}
		switch p.Kind {
		case session.ProblemTorn:
			return p.Kind, size + " of a torn record"
		case session.ProblemMalformed:
			return p.Kind, size + " that are not JSON"
		case session.ProblemNotObject:
			return p.Kind, size + " of JSON that is not an object"
		case session.ProblemHeaderAgain:
			return p.Kind, "a second header"
		}
	}
	if h := l.t.Header(); int64(to) <= h.Span.Offset && rawjson.IsObject(text) && rawjson.Valid(text) {
		return "", ""
	}
	return session.ProblemMalformed, size + " that are not a record"
}
