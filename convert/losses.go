package convert

import (
	"bytes"
	"cmp"
	"context"
	"path"
	"strings"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/internal/sorting"
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
	// Migrated: converting back gives it in the format's current version.
	Migrated Became = "migrated"
)

// Loss is a line of a Report.
type Loss struct {
	// Path is a JSON pointer into records of this kind; "" is the whole record.
	Path string `json:"path"`
	// Kind is that of the entries; or "header", "slot" for a title slot, "leaf" for the place before the first entry as the leaf,
	// "line" for a line that is not an entry, "sub-agent" for the log of one, which stays a session of its own, "spacing" for
	// white space around records, blank lines, several records on a line and a last line without its newline.
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
	// Lossless: nothing was dropped or migrated, so converting back gives the same log, byte for byte.
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
	// View is what the model sees. The log of a run has none.
	View View `json:"view"`
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
//
//go:noinline // its copies took 5.7 KB
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
	rank := map[Became]int{Dropped: 0, Migrated: 1, Carried: 2, Mapped: 3}
	list := append([]Loss{}, l.losses...)
	sorting.By(list, func(a, b Loss) int {
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

// outline is what a log holds besides its header and entries.
type outline struct {
	loose  []int  // the lines with something that is neither header nor entry
	spaced []int  // the lines with another form than a record and its newline
	slot   []byte // the title slot before the header
	tasks  int    // the logs of sub-agents in the session's own folder
}

// tasksOf counts the logs of sub-agents in the folder that is named like a log. They are sessions of their own.
func tasksOf(ctx context.Context, l *logtree.Log) (n int, err error) {
	p, ok := l.Dialect.Layout().(dialect.Placer)
	name := strings.TrimSuffix(l.At.Name, path.Ext(l.At.Name))
	if !ok || l.Path == "" || name == l.At.Name {
		return 0, nil
	}
	for log, err := range l.Source.Backend().List(ctx, name+"/") {
		// The session is converted even if a folder beside it cannot be read.
		if err == nil && strings.HasSuffix(log.Name, path.Ext(l.At.Name)) && !p.Main(log.Name) {
			n++
		}
	}
	return n, ctx.Err()
}

// outlineOf reads a log once more, as lines.
func outlineOf(ctx context.Context, l *logtree.Log) (o outline, err error) {
	if l.Path == "" || l.At.Name == "" || !backend.Lines(l.Source.Backend(), l.At.Name) {
		return o, nil
	}
	if o.tasks, err = tasksOf(ctx, l); err != nil {
		return o, err
	}
	h := l.Tree.Header()
	next, slotLine := foreign(l.Tree), 0
	last, lastLine := int64(-1), 0
	// follow notes a line whose newline is two bytes: a carriage return is no part of its record.
	follow := func(offset int64) {
		if offset-last == 2 && lastLine > 0 && (len(o.spaced) == 0 || o.spaced[len(o.spaced)-1] != lastLine) {
			o.spaced = append(o.spaced, lastLine)
		}
	}
	for r, err := range logtree.Records(ctx, l.Source.Backend(), l.At) {
		if err != nil {
			return o, err
		}
		follow(r.Offset)
		end := r.Offset + int64(len(r.Data))
		last, lastLine = end, r.Line
		// Header and entries are blanked out, and the rest is looked at.
		rest := bytes.Clone(r.Data)
		covered, records := int64(0), 0
		blank := func(span session.Span) {
			if span.Offset >= r.Offset && span.End() <= end {
				copy(rest[span.Offset-r.Offset:span.End()-r.Offset], bytes.Repeat([]byte{' '}, int(span.Length)))
				covered, records = covered+span.Length, records+1
			}
		}
		if h.Raw != nil && !h.InEntry {
			blank(h.Span)
		}
		for ; next < l.Tree.Len() && l.Tree.At(next).Span.End() <= end; next++ {
			blank(l.Tree.At(next).Span)
		}
		// NUL bytes, which a crash leaves at the end of a file, and a byte order mark do not count.
		rest = bytes.TrimSpace(bytes.Trim(dialect.TrimBOM(rest), "\x00"))
		switch {
		case len(rest) == 0:
			if r.Torn || records != 1 || covered != int64(len(r.Data)) {
				o.spaced = append(o.spaced, r.Line)
			}
		case r.Line < h.Line && dialect.IsSlot(l.Dialect, r.Data):
			if o.slot != nil {
				o.loose = append(o.loose, slotLine) // only the last slot counts
			}
			o.slot, slotLine = bytes.Clone(dialect.TrimBOM(r.Data)), r.Line
			if len(o.slot) != len(r.Data) {
				o.spaced = append(o.spaced, r.Line)
			}
		default:
			o.loose = append(o.loose, r.Line)
		}
	}
	follow(l.At.Size)
	return o, nil
}
