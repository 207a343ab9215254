package export

import (
	"bufio"
	"context"
	"fmt"

	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/transcript"
	"github.com/treeline-dev/treeline/wire"
)

// text writes what a terminal would show, with nothing folded.
func (x *exporter) text(ctx context.Context, out *bufio.Writer) error {
	if title := screen.OneLine(x.title(ctx), 200); title != "" {
		fmt.Fprintln(out, title)
	}
	fmt.Fprintln(out, x.about())
	r := x.reader(ctx)
	for s := range x.stretches() {
		if s.First != "" {
			fmt.Fprintf(out, "\n── %s ──\n", heading(s))
		}
		t := &wire.Transcript{Page: wire.Page{Writer: out, Zone: x.Zone}, All: true, Dir: x.s.Header().CWD, BlobSize: r.BlobSize}
		t.Label = func(id session.EntryID) string { return x.scrub.short(x.s.Tree().Label(id)) }
		t.Section()
		entries, err := x.path(s)
		if err != nil {
			return err
		}
		for _, e := range entries {
			v, err := r.Look(e)
			if err != nil {
				return err
			}
			x.report.Entries++
			t.Entry(v)
			if _, err := out.Write(nil); err != nil {
				return err
			}
		}
	}
	x.report.Problems = r.Problems
	return nil
}

// heading describes the branch.
func heading(s transcript.Stretch) string {
	text := fmt.Sprintf("branch %d of %d", s.Number, s.Of)
	if s.Of == 0 {
		text = "sub-agent"
	}
	if s.From != "" {
		text += ", after " + screen.OneLine(string(s.From), 0)
	}
	return text
}

// path returns the entries of a stretch.
func (x *exporter) path(s transcript.Stretch) (list []session.Entry, err error) {
	path, err := x.doc.Path(s)
	if err != nil {
		return nil, err
	}
	list = make([]session.Entry, 0, path.Len())
	for _, e := range path.Entries() {
		if s.First != "" && e.ID == s.First {
			list = list[:0]
		}
		list = append(list, e)
	}
	if len(list) > 0 && x.doc.Skeleton().Single(s) {
		list = list[:1] // the path goes on with other records of the same id
	}
	return list, nil
}

// about describes the session on one line.
func (x *exporter) about() string {
	h := x.s.Header()
	line := x.s.Dialect().Name() + " · " + screen.OneLine(string(h.ID), 60)
	if h.CWD != "" {
		line += " · " + x.scrub.short(wire.Tilde(screen.OneLine(h.CWD, 0), x.Home))
	}
	if t, ok := h.Timestamp.Time(); ok {
		line += " · " + x.when(t)
	}
	return line
}
