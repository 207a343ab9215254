package convert

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Became says what a conversion made of something.
type Became string

const (
	// Mapped: the target expresses it, and converting back gives the same.
	Mapped Became = "mapped"
	// Carried: the target has no words for it; it is carried along, and converting back restores it.
	Carried Became = "carried"
	// Dropped: it is not in the converted session.
	Dropped Became = "dropped"
)

// Loss is a line of a ConvertReport.
type Loss struct {
	// Path is a JSON pointer into records of this kind; "" is the whole record.
	Path string `json:"path"`
	// Kind is that of the entries; or "header", "slot" for a title before it, "line" for what is no entry.
	Kind   string `json:"kind"`
	Count  int    `json:"count"`
	Became Became `json:"became"`
	// Entries are those that it is about.
	Entries []session.EntryID `json:"entries,omitempty"`
	// Lines are the numbers of lines that are no entries.
	Lines []int `json:"lines,omitempty"`
}

// ConvertReport says what became of everything in a session that was converted.
type ConvertReport struct {
	Source ConvertedSession `json:"source"`
	Target ConvertedSession `json:"target"`
	// Lossless: nothing was dropped, so that converting back gives the same session.
	Lossless bool `json:"lossless"`
	// Mapped, Carried and Dropped count the entries: one is carried where any of it is.
	Mapped  int    `json:"mapped"`
	Carried int    `json:"carried"`
	Dropped int    `json:"dropped"`
	Losses  []Loss `json:"losses"`
}

// ConvertedSession is one side of a conversion.
type ConvertedSession struct {
	Dialect string     `json:"dialect"`
	File    string     `json:"file"`
	ID      session.ID `json:"id"`
	Entries int        `json:"entries"`
}

// ledger collects losses, equal ones together.
type ledger struct {
	losses []Loss
	at     map[lossKey]int
}

type lossKey struct {
	path, kind string
	became     Became
}

// note counts one more of a loss, and gives its line, which is valid until the next call.
func (l *ledger) note(path, kind string, became Became) *Loss {
	key := lossKey{path, kind, became}
	i, ok := l.at[key]
	if !ok {
		if l.at == nil {
			l.at = map[lossKey]int{}
		}
		i = len(l.losses)
		l.at[key] = i
		l.losses = append(l.losses, Loss{Path: path, Kind: kind, Became: became})
	}
	l.losses[i].Count++
	return &l.losses[i]
}

// entry notes a loss of an entry.
func (l *ledger) entry(path string, e session.Entry, became Became) {
	loss := l.note(path, e.Kind.String(), became)
	loss.Entries = append(loss.Entries, e.ID)
}

// sorted gives the losses, the worst first.
func (l *ledger) sorted() []Loss {
	rank := map[Became]int{Dropped: 0, Carried: 1, Mapped: 2}
	list := append([]Loss{}, l.losses...)
	slices.SortStableFunc(list, func(a, b Loss) int {
		return cmp.Or(cmp.Compare(rank[a.Became], rank[b.Became]), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Path, b.Path))
	})
	return list
}

// differences compares the records of a passage with what they became on the way there and back: the paths at which each
// differs. Where there are more or fewer records than before, the last ones are those with the old ids.
func differences(before, after [][]byte) [][]string {
	paths := make([][]string, len(before))
	extra := len(after) - len(before)
	for i, r := range before {
		// More records than before: those that were added stand in front.
		k := i + max(extra, 0)
		if k >= len(after) {
			paths[i] = []string{""}
			continue
		}
		rawjson.Diff(r, after[k], func(p string) { paths[i] = append(paths[i], p) })
		if extra != 0 && paths[i] == nil {
			paths[i] = []string{""} // it is not alone any more
		}
	}
	return paths
}

// looseLines gives the numbers of the lines of a log that have something on them which is neither header nor entry, and
// the title slot.
func (s *Session) looseLines(ctx context.Context) (loose []int, slot []byte, err error) {
	if !backend.IsText(s.log.Name) || s.path == "" {
		return nil, nil, nil
	}
	lines, err := s.lines(ctx)
	if err != nil {
		return nil, nil, err
	}
	h := s.tree.Header()
	next, slotLine := 0, 0
	for i, l := range lines {
		// Header and entries are blanked out: what is then left is neither.
		rest := bytes.Clone(l.data)
		blank := func(span session.Span) {
			if span.Offset < l.offset || span.End() > l.end() {
				return
			}
			for k := span.Offset - l.offset; k < span.End()-l.offset; k++ {
				rest[k] = ' '
			}
		}
		if h.Raw != nil {
			blank(h.Span)
		}
		for ; next < s.tree.Len() && s.tree.At(next).Span.End() <= l.end(); next++ {
			blank(s.tree.At(next).Span)
		}
		// NUL bytes, which a crash leaves at the end of a file, and a byte order mark say nothing that could be lost.
		rest = bytes.TrimSpace(bytes.Trim(bytes.TrimPrefix(rest, bom), "\x00"))
		switch {
		case len(rest) == 0:
		case i+1 < h.Line && isSlot(s.dialect, l.data):
			if slot != nil {
				loose = append(loose, slotLine) // the last one counts
			}
			slot, slotLine = bytes.TrimPrefix(l.data, bom), i+1
		default:
			loose = append(loose, i+1)
		}
	}
	return loose, slot, nil
}
