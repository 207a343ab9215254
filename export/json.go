package export

import (
	"bufio"
	"context"
	"iter"
	"slices"

	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/wire"
)

// json writes a wire.Export, entry by entry.
func (x *exporter) json(ctx context.Context, out *bufio.Writer) error {
	head, err := wire.NewSession(x.s)
	if err != nil {
		return err
	}
	head.Title, head.CWD, head.Path, head.Parent = x.scrub.short(head.Title), x.scrub.short(head.CWD), x.scrub.short(head.Path), x.scrub.short(head.Parent)
	if x.Leaf != nil {
		head.LeafID = x.Leaf
	}
	entries, err := x.entries()
	if err != nil {
		return err
	}
	r := x.reader(ctx)
	err = wire.WriteExport(out, head, func(yield func(wire.Entry, error) bool) {
		for e := range entries {
			v, err := r.Look(e)
			x.report.Entries++
			if !yield(wire.NewEntry(v, x.scrub.short(x.s.Tree().Label(v.ID)), r.BlobSize), err) || err != nil {
				return
			}
		}
	})
	x.report.Problems = r.Problems
	return err
}

// entries returns those of the path, or the whole tree in the order of the log.
func (x *exporter) entries() (iter.Seq[session.Entry], error) {
	if x.AllBranches {
		return x.s.Tree().Entries(), nil
	}
	list, err := x.path(x.doc.Skeleton().Stretches(x.Leaf)[0])
	return slices.Values(list), err
}
