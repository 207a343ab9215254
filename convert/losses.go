package convert

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/session"
)

// Became says what a conversion made of something.
type Became string

const (
	// Mapped: the target expresses it, and converting back gives the same.
	Mapped Became = "mapped"
	// Carried: the target cannot express it. It is carried along, and converting back restores it.
	Carried Became = "carried"
	// Dropped: it is not in the converted session.
	Dropped Became = "dropped"
)

// Loss is a line of a Report.
type Loss struct {
	// Path is a JSON pointer into records of this kind; "" is the whole record.
	Path string `json:"path"`
	// Kind is that of the entries; or "header", "slot" for a title slot, "line" for a line that is not an entry.
	Kind   string `json:"kind"`
	Count  int    `json:"count"`
	Became Became `json:"became"`
	// Entries are the entries concerned.
	Entries []session.EntryID `json:"entries,omitempty"`
	// Lines are the numbers of the lines concerned, if they are not entries.
	Lines []int `json:"lines,omitempty"`
}

// Report says what became of everything in a session that was converted.
type Report struct {
	Source Converted `json:"source"`
	Target Converted `json:"target"`
	// Lossless: nothing was dropped, so converting back gives the same session.
	Lossless bool `json:"lossless"`
	// Mapped, Carried and Dropped count entries. An entry counts as carried if any part of it is.
	Mapped  int    `json:"mapped"`
	Carried int    `json:"carried"`
	Dropped int    `json:"dropped"`
	Losses  []Loss `json:"losses"`
}

// Converted is one side of a conversion.
type Converted struct {
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

// note counts a loss. The Loss that it gives is valid until the next call.
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

// differences gives the paths at which each record of a passage differs after the way there and back. If the number of
// records changed, the last ones are those with the old ids.
func differences(before, after [][]byte) [][]string {
	paths := make([][]string, len(before))
	extra := len(after) - len(before)
	for i, r := range before {
		// Records that were added come first.
		k := i + max(extra, 0)
		if k >= len(after) {
			paths[i] = []string{""}
			continue
		}
		rawjson.Diff(r, after[k], func(p string) { paths[i] = append(paths[i], p) })
		if extra != 0 && paths[i] == nil {
			paths[i] = []string{""} // the number of records is the difference
		}
	}
	return paths
}

// looseLines gives the numbers of the lines that hold something other than header and entries, and the title slot.
func looseLines(ctx context.Context, l *logtree.Log) (loose []int, slot []byte, err error) {
	if l.Path == "" || l.At.Name == "" || !backend.Lines(l.Source.Backend(), l.At.Name) {
		return nil, nil, nil
	}
	h := l.Tree.Header()
	next, slotLine := 0, 0
	for r, err := range logtree.Records(ctx, l.Source.Backend(), l.At) {
		if err != nil {
			return nil, nil, err
		}
		end := r.Offset + int64(len(r.Data))
		// Header and entries are blanked out, and the rest is looked at.
		rest := bytes.Clone(r.Data)
		blank := func(span session.Span) {
			if span.Offset >= r.Offset && span.End() <= end {
				copy(rest[span.Offset-r.Offset:span.End()-r.Offset], bytes.Repeat([]byte{' '}, int(span.Length)))
			}
		}
		if h.Raw != nil {
			blank(h.Span)
		}
		for ; next < l.Tree.Len() && l.Tree.At(next).Span.End() <= end; next++ {
			blank(l.Tree.At(next).Span)
		}
		// NUL bytes, which a crash leaves at the end of a file, and a byte order mark do not count.
		rest = bytes.TrimSpace(bytes.Trim(dialect.TrimBOM(rest), "\x00"))
		slotted, ok := l.Dialect.(dialect.Slotted)
		switch {
		case len(rest) == 0:
		case r.Line < h.Line && ok && slotted.IsSlot(dialect.TrimBOM(r.Data)):
			if slot != nil {
				loose = append(loose, slotLine) // only the last slot counts
			}
			slot, slotLine = bytes.Clone(dialect.TrimBOM(r.Data)), r.Line
		default:
			loose = append(loose, r.Line)
		}
	}
	return loose, slot, nil
}
