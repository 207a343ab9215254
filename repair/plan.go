package repair

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/sorting"
	"github.com/treeline-dev/treeline/session"
)

// Kinds of repairs in addition to those of session.Problem.
const (
	// KindNewline means that the last record is whole, but its line is unterminated.
	KindNewline session.ProblemKind = "no-newline"
	// KindVersion means that a log of an old version must change, and is written in the current version. Version 1 refers to records by
	// number, so removing one would change what others refer to.
	KindVersion session.ProblemKind = "old-version"
)

// Repair is one defect of a log, and what is done about it.
type Repair struct {
	Line   int
	Offset int64
	Kind   session.ProblemKind
	// Entry is the entry concerned, if any.
	Entry session.EntryID
	// Problem describes the defect; Action says what is done about it.
	Problem, Action string
	// Change is false if the log stays as it is.
	Change bool
}

// Plan says what a repair does, or did, to a log.
type Plan struct {
	Path string
	// Repairs are in the order of the log.
	Repairs []Repair
	// Backup is the copy of the old log, and Aside the log with what was removed. Both are "" until they are written.
	Backup, Aside string
	// Late says what other programs did to the log during the repair. The new log contains what they wrote.
	Late backend.Late

	lines [][]byte // the new content
	aside []byte   // what is taken out
}

// Changes counts the repairs that change the log.
func (p *Plan) Changes() int {
	n := 0
	for _, r := range p.Repairs {
		if r.Change {
			n++
		}
	}
	return n
}

// planner makes a plan from a log and its tree. It does no I/O besides reading the tree's entries.
type planner struct {
	d        dialect.Dialect
	w        dialect.Writer // of the dialect
	t        *session.Tree
	all      []byte // the log
	reattach bool
	newID    func() (session.EntryID, error)

	repairs []Repair
	damage  []session.Problem         // of the tree, by offset
	parents map[int]session.EntryID   // new parents, by index
	ids     map[int]session.EntryID   // new ids, by index
	fresh   map[session.EntryID]int   // indexes of the entries that get new ids, by new id
	byID    map[session.EntryID][]int // the entries of each id
	noID    map[int64]bool            // offsets of entries without id
	edits   map[int][]edit            // changes of a dialect.Mender, by index
	tail    [][]byte                  // records that are added to the end of the log
	numbers []int                     // for each new line, the line of the log that it comes from
}

// edit changes a record.
type edit = func(record []byte) ([]byte, error)

// plan computes the new lines of a log and what is removed from it; lines is nil if nothing changes. Every byte that is not white space
// ends up in one of the two. Entries keep their bytes, except for the members that a repair names.
func (p *planner) plan() (lines [][]byte, aside []byte, err error) {
	p.fresh = map[session.EntryID]int{}
	p.parents, p.ids, p.noID = map[int]session.EntryID{}, map[int]session.EntryID{}, map[int64]bool{}
	p.damage = slices.Clone(p.t.Problems())
	sorting.By(p.damage, func(a, b session.Problem) int { return cmp.Compare(a.Offset, b.Offset) })
	// The tree comes first: lines are written with its new ids and parents.
	if err := p.mendTree(); err != nil {
		return nil, nil, err
	}
	if err := p.mendForProgram(); err != nil {
		return nil, nil, err
	}
	lines, aside, err = p.mendLines()
	if err != nil {
		return nil, nil, err
	}
	changed := slices.ContainsFunc(p.repairs, func(r Repair) bool { return r.Change })
	// Encode writes entries of an old version in the current form anyway; this only reports it.
	if h := p.t.Header(); changed && p.t.Len() > 0 && p.t.At(0).Migrated {
		p.add(Repair{Line: h.Line, Offset: h.Span.Offset, Kind: KindVersion, Change: true,
			Problem: fmt.Sprintf("the log is of version %d", h.Version), Action: "it is written as today's version"})
	}
	for _, problem := range p.damage {
		switch problem.Kind {
		case session.ProblemLabelTarget, session.ProblemLeafTarget:
			p.add(Repair{Line: problem.Line, Offset: problem.Offset, Kind: problem.Kind, Problem: problem.Message, Action: "it is left as it is"})
		}
	}
	sorting.By(p.repairs, func(a, b Repair) int { return cmp.Compare(a.Offset, b.Offset) })
	if !changed {
		return nil, nil, nil
	}
	return lines, aside, p.verify(lines)
}

func (p *planner) add(r Repair) { p.repairs = append(p.repairs, r) }

// about returns a Repair of an entry.
func (p *planner) about(e session.Entry, kind session.ProblemKind, problem string) Repair {
	return Repair{Line: e.Line, Offset: e.Span.Offset, Kind: kind, Entry: e.ID, Problem: problem}
}

// record returns the record with which an entry is written.
func (p *planner) record(e session.Entry) ([]byte, error) {
	record, err := p.d.Encode(e)
	if err != nil {
		return nil, err
	}
	if id, ok := p.ids[e.Index]; ok {
		if record, err = p.d.(dialect.Namer).SetID(record, id); err != nil {
			return nil, err
		}
	}
	if parent, ok := p.parents[e.Index]; ok {
		if record, err = p.d.(dialect.Editor).Rechain(record, parent, ""); err != nil {
			return nil, err
		}
	}
	for _, change := range p.edits[e.Index] {
		if record, err = change(record); err != nil {
			return nil, err
		}
	}
	return record, nil
}

// verify decodes the new lines and compares every entry. It is the last step before anything is written, so that a bug in the planner ends
// in an error and not in the log.
func (p *planner) verify(lines [][]byte) error {
	t, err := p.decode(lines, nil)
	if err != nil {
		return fmt.Errorf("the repair would make the log unreadable: %w", err)
	}
	if t.Len() != p.t.Len()+len(p.tail) {
		return fmt.Errorf("the repair would turn %d entries into %d", p.t.Len(), t.Len())
	}
	for i := range p.t.Len() {
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

// decode builds the tree of lines. numbers are their line numbers in the log; nil means that they are counted.
func (p *planner) decode(lines [][]byte, numbers []int) (*session.Tree, error) {
	all := lineSource(bytes.Join(lines, []byte{'\n'}))
	b := session.NewBuilder("", all)
	dec := p.d.NewDecoder(b)
	offset := int64(0)
	for i, l := range lines {
		r := dialect.Record{Data: l, Offset: offset, Line: i + 1}
		if i < len(numbers) {
			r.Line = numbers[i]
		}
		dec.Decode(r)
		offset += int64(len(l)) + 1
	}
	if err := dec.Finish(); err != nil {
		return nil, err
	}
	return b.Finish(), nil
}

// lineSource is the content of a log in memory.
type lineSource []byte

// Bytes implements session.Source.
func (s lineSource) Bytes(span session.Span) ([]byte, error) {
	if span.Offset < 0 || span.End() > int64(len(s)) {
		return nil, errors.New("the span is not in the log")
	}
	return bytes.Clone(s[span.Offset:span.End()]), nil
}
