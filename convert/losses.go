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

// Became is the outcome for a part of a session in a conversion.
type Became string

const (
	// Mapped means that the target expresses it, and that converting back results in the same.
	Mapped Became = "mapped"
	// Carried means that the target cannot express it. It is carried along, and converting back restores it.
	Carried Became = "carried"
	// Dropped means that it is not in the converted session.
	Dropped Became = "dropped"
	// Migrated means that converting back results in the format's current version.
	Migrated Became = "migrated"
)

// Loss is a line of a Report.
type Loss struct {
	// Path is a JSON pointer into records of this kind; "" means the whole record.
	Path string `json:"path"`
	// Kind is the kind of the entries, or one of these: "header", "slot" for a title slot, "leaf" if the leaf is the position before the
	// first entry, "line" for a line that is not an entry, "sub-agent" for the log of a sub-agent, which remains a session of its own, and
	// "spacing" for white space around records, blank lines, several records on a line and a last line without its newline.
	Kind   string `json:"kind"`
	Count  int    `json:"count"`
	Became Became `json:"became"`
	// Entries are the entries with this loss.
	Entries []session.EntryID `json:"entries,omitempty"`
	// Lines are the numbers of the lines with this loss, if they are not entries.
	Lines []int `json:"lines,omitempty"`
}

// Report describes the outcome for everything in a converted session.
type Report struct {
	Source Converted `json:"source"`
	Target Converted `json:"target"`
	// Lossless means that nothing was dropped or migrated, so that converting back results in the same log, byte for byte.
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
	// View is what the model sees. It is zero for the log of a run.
	View View `json:"view"`
}

// ledger collects losses, and combines equal ones.
type ledger struct {
	losses []Loss
	at     map[lossKey]int
}

type lossKey struct {
	path, kind string
	became     Became
}

// note adds a loss. The returned Loss is valid until the next call.
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

// entry adds a loss of an entry.
func (l *ledger) entry(path string, e session.Entry, became Became) {
	loss := l.note(path, e.Kind.String(), became)
	loss.Entries = append(loss.Entries, e.ID)
}

// sorted returns the losses, the worst first.
func (l *ledger) sorted() []Loss {
	rank := map[Became]int{Dropped: 0, Migrated: 1, Carried: 2, Mapped: 3}
	list := append([]Loss{}, l.losses...)
	sorting.By(list, func(a, b Loss) int {
		return cmp.Or(cmp.Compare(rank[a.Became], rank[b.Became]), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Path, b.Path))
	})
	return list
}

// differences returns, for each record of a passage, the paths at which it differs after converting there and back. If the number of
// records changed, the last ones are those with the old ids.
func differences(before, after [][]byte) [][]string {
	paths := make([][]string, len(before))
	extra := len(after) - len(before)
	for i, r := range before {
		// Additional records come first.
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

// outline is what a log has in addition to its header and entries.
type outline struct {
	loose  []int  // the lines that contain something other than a header or entries
	spaced []int  // the lines that are not just a record and its newline
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
		// If a folder next to the session cannot be read, the session is converted nevertheless.
		if err == nil && strings.HasSuffix(log.Name, path.Ext(l.At.Name)) && !p.Main(log.Name) {
			n++
		}
	}
	return n, ctx.Err()
}

// outlineOf reads a log again, line by line.
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
	// follow notes a line that ends with two bytes: a carriage return is not part of the record.
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
		// The header and the entries are blanked, and what remains is examined.
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
