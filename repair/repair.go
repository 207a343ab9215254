package repair

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Kinds of repairs beside those of problems.
const (
	// RepairNewline: the last record is whole and has no newline behind it.
	RepairNewline session.ProblemKind = "no-newline"
	// RepairVersion: a log of an old version that must be changed is written as today's. Version 1 counts records: taking
	// one out would change what others mean.
	RepairVersion session.ProblemKind = "old-version"
)

// Repair is one thing that is wrong with a log, and what is done about it.
type Repair struct {
	Line   int
	Offset int64
	Kind   session.ProblemKind
	// Entry is the entry that it is about, if it is about one.
	Entry session.EntryID
	// Problem says what is wrong, Action what is done about it.
	Problem, Action string
	// Change is false where the log is left as it is.
	Change bool
}

// RepairPlan says what a repair does, or did, to a log.
type RepairPlan struct {
	Path string
	// Repairs are in the order of the log.
	Repairs []Repair
	// Backup and Aside are the files that keep the log as it was, and what was taken out of it; "" until it is done, and
	// where there is none.
	Backup, Aside string

	lines [][]byte // what the log becomes
	aside []byte   // what is taken out
}

// Changes counts the repairs that change the log.
func (p *RepairPlan) Changes() int {
	n := 0
	for _, r := range p.Repairs {
		if r.Change {
			n++
		}
	}
	return n
}

// RepairOptions change what a repair does.
type RepairOptions struct {
	// Reattach hangs an entry whose parent is missing onto the entry before it in the file. Otherwise it stays a root.
	Reattach bool
}

// planner makes a plan from a log and its tree. It is pure.
type planner struct {
	d     dialect.WritingDialect
	t     *session.Tree
	all   []byte // the log
	opt   RepairOptions
	newID func() (session.EntryID, error)

	repairs []Repair
	parents map[int]session.EntryID // entries that get another parent
	ids     map[int]session.EntryID // entries that get another id
	fresh   map[session.EntryID]int // ids that are new
	byID    map[session.EntryID][]int
	noID    map[int64]bool
}

// plan says what becomes of a log. Every byte of it is afterwards in the log, or in what is taken out; but for the members
// that a repair names, each entry is as it was.
func (p *planner) plan() (lines [][]byte, aside []byte, err error) {
	// Tree first, lines second: the lines are written with the ids and parents that the tree gets.
	p.fresh = map[session.EntryID]int{}
	p.parents, p.ids, p.noID = map[int]session.EntryID{}, map[int]session.EntryID{}, map[int64]bool{}
	if err := p.mendTree(); err != nil {
		return nil, nil, err
	}
	lines, aside, err = p.mendLines()
	if err != nil {
		return nil, nil, err
	}
	changed := slices.ContainsFunc(p.repairs, func(r Repair) bool { return r.Change })
	// Encode gives entries of an old version in today's form in any case; it is only said here.
	if h := p.t.Header(); changed && p.t.Len() > 0 && p.t.At(0).Migrated {
		p.add(Repair{Line: h.Line, Offset: h.Span.Offset, Kind: RepairVersion, Change: true,
			Problem: fmt.Sprintf("the log is of version %d", h.Version), Action: "it is written as today's version"})
	}
	for _, problem := range p.t.Problems() {
		switch problem.Kind {
		case session.ProblemLabelTarget, session.ProblemLeafTarget:
			p.add(Repair{Line: problem.Line, Offset: problem.Offset, Kind: problem.Kind, Problem: problem.Message, Action: "it is left as it is"})
		}
	}
	slices.SortStableFunc(p.repairs, func(a, b Repair) int { return int(a.Offset - b.Offset) })
	// What is merely reported gives no plan for the log: not a byte is written.
	if !changed {
		return nil, nil, nil
	}
	return lines, aside, p.verify(lines)
}

func (p *planner) add(r Repair) { p.repairs = append(p.repairs, r) }

// about begins a repair of an entry.
func (p *planner) about(e session.Entry, kind session.ProblemKind, problem string) Repair {
	return Repair{Line: e.Line, Offset: e.Span.Offset, Kind: kind, Entry: e.ID, Problem: problem}
}

// record gives what an entry is written as.
func (p *planner) record(e session.Entry) ([]byte, error) {
	record, err := p.d.Dialect.Encode(e)
	if err != nil {
		return nil, err
	}
	if id, ok := p.ids[e.Index]; ok {
		if record, err = p.d.Dialect.(dialect.Namer).SetID(record, id); err != nil {
			return nil, err
		}
	}
	if parent, ok := p.parents[e.Index]; ok {
		if record, err = p.d.Dialect.(dialect.Editor).Rechain(record, parent, ""); err != nil {
			return nil, err
		}
	}
	return record, nil
}

// piece is a record in a line: the header, or the entry at an index.
type piece struct {
	span   session.Span
	header bool
	index  int
}

// mendLines puts each record on a line of its own, and what is no record aside. A line of which nothing changes stays
// byte for byte. Pieces are the records that reading found, by their places; all bytes that no piece covers are gaps.
func (p *planner) mendLines() (lines [][]byte, aside []byte, err error) {
	var pieces []piece
	for e := range p.t.Entries() {
		pieces = append(pieces, piece{span: e.Span, index: e.Index})
	}
	if h := p.t.Header(); h.Raw != nil && h.Span.Length > 0 {
		pieces = append(pieces, piece{span: h.Span, header: true})
	}
	slices.SortStableFunc(pieces, func(a, b piece) int { return int(a.span.Offset - b.span.Offset) })
	// A record may be several things at once: the first message of a log that has no header stands for one.
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
		pieces, start = pieces[n:], end+1
	}
	return lines, aside, nil
}

// lineMend is the mending of one line.
type lineMend struct {
	*planner
	number, start, end int
	torn               bool // it has no newline
	out                [][]byte
	aside              []byte
	removed            bool
}

// mend takes a line apart into the records on it and the gaps between them.
func (l *lineMend) mend(pieces []piece) error {
	at, changed := l.start, false
	for _, pc := range pieces {
		l.gap(at, int(pc.span.Offset), len(pieces) > 0)
		was := l.all[pc.span.Offset:pc.span.End()]
		now := was
		var err error
		if pc.header {
			now, _, err = l.d.EditHeader(l.t.Header(), nil, dialect.HeaderEdit{})
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
			Problem: fmt.Sprintf("%d records share the line", len(pieces)), Action: "each gets a line of its own"})
	}
	if l.torn && len(pieces) > 0 && at == l.end {
		l.add(Repair{Line: l.number, Offset: int64(l.end), Kind: RepairNewline, Change: true,
			Problem: "the last line has no newline", Action: "it gets one"})
	}
	// A line break that is missing at the end does not count: the backend writes one behind each line.
	if !changed && !l.removed && len(pieces) < 2 {
		l.out = [][]byte{l.all[l.start:l.end]} // spaces, a carriage return, an empty line: as they were
		if l.start == l.end && l.torn {
			l.out = nil
		}
	}
	return nil
}

// gap looks at what lies between records. White space is dropped only where the line is put together anew.
func (l *lineMend) gap(from, to int, beside bool) {
	text := l.all[from:to]
	if len(bytes.TrimSpace(text)) == 0 {
		return
	}
	kind, problem := l.what(text, from, to)
	if kind == "" { // a record before the header, which is part of it
		l.out = append(l.out, text)
		return
	}
	l.removed = true
	l.aside = append(append(l.aside, text...), '\n')
	action := "they are moved to a file of their own"
	if beside {
		action += "; the rest of the line is kept"
	}
	l.add(Repair{Line: l.number, Offset: int64(from), Kind: kind, Change: true, Problem: problem, Action: action})
}

// what says what a piece of a line is that is no entry; "" for a part of the header. The reader has said what is wrong
// already: its problems are looked up by their offsets.
func (l *lineMend) what(text []byte, from, to int) (session.ProblemKind, string) {
	size := fmt.Sprintf("%d bytes", len(text))
	if from == 0 && bytes.HasPrefix(text, []byte("\xef\xbb\xbf")) && len(bytes.TrimSpace(text[3:])) == 0 {
		return session.ProblemBOM, "a byte order mark before the first record"
	}
	if len(bytes.Trim(text, "\x00")) == 0 {
		return session.ProblemNULs, fmt.Sprintf("%d NUL bytes", len(text))
	}
	for _, p := range l.t.Problems() {
		if p.Offset < int64(from) || p.Offset >= int64(to) {
			continue
		}
		switch p.Kind {
		case session.ProblemTorn:
			return p.Kind, size + " of a record that was cut off"
		case session.ProblemMalformed:
			return p.Kind, size + " that are not JSON"
		case session.ProblemNotObject:
			return p.Kind, size + " of JSON that is no object"
		case session.ProblemHeaderAgain:
			return p.Kind, "a second header"
		}
	}
	if h := l.t.Header(); int64(to) <= h.Span.Offset && rawjson.IsObject(text) && rawjson.Valid(text) {
		return "", ""
	}
	return session.ProblemMalformed, size + " that are no record"
}

// verify decodes what the log becomes: nothing may have got lost. It is the last step before anything is written: a mistake
// of ours ends in an error and not in the file.
func (p *planner) verify(lines [][]byte) error {
	b := session.NewBuilder("", nil)
	b.SetSource(lineSource(lines))
	dec := p.d.Dialect.NewDecoder(b)
	for i, l := range lines {
		dec.Decode(dialect.Record{Data: l, Offset: int64(i), Line: i + 1})
	}
	// The decoder is the one that reads it next time.
	if err := dec.Finish(); err != nil {
		return fmt.Errorf("the repair would make the log unreadable: %w", err)
	}
	t := b.Finish()
	if t.Len() != p.t.Len() {
		return fmt.Errorf("the repair would make %d entries of %d", t.Len(), p.t.Len())
	}
	for i := range t.Len() {
		want, err := p.record(p.t.At(i))
		if err != nil {
			return err
		}
		if got := bytes.TrimSpace(lines[t.At(i).Line-1]); !bytes.Equal(got, bytes.TrimSpace(want)) {
			return fmt.Errorf("the repair would change entry %s on line %d", p.t.At(i).ID, p.t.At(i).Line)
		}
	}
	return nil
}

// lineSource is for a tree that is only counted.
type lineSource [][]byte

func (lineSource) Bytes(session.Span) ([]byte, error) { return nil, errors.New("not to be read") }
