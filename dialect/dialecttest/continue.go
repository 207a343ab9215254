package dialecttest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/session"
)

// continues reads from each record after the header. Entries, Problems and numbers of branches must be those of a reader that
// begins at the start, unless an id occurs on both sides: its second entry changes the meaning of the first.
func (f *fixture) continues(t *testing.T) {
	d, ok := f.d.(dialect.Continuer)
	if !ok {
		return
	}
	whole := session.NewBuilder(f.name, source(f.data))
	dec := f.d.NewDecoder(whole)
	all := records(f.data)
	for _, r := range all {
		dec.Decode(r)
	}
	if dec.Finish() != nil {
		return
	}
	tree := whole.Finish()
	h := tree.Header()
	// A log that grew can be continued at any record after the header.
	for k, r := range all {
		if r.Line <= h.Line || h.Raw == nil {
			continue
		}
		// before is what an index keeps about the entries before that place.
		before, ok := whole.Before(r.Offset)
		if !ok {
			continue
		}
		there := func(id session.EntryID) bool {
			e, ok := tree.Lookup(id)
			return ok && e.Index < before.Entries
		}
		b := session.NewBuilder(f.name, source(f.data))
		b.SetHeader(h)
		b.StartAfter(before, there)
		dec, ok := d.Continue(b)
		if !ok {
			return
		}
		for _, r := range all[k:] {
			dec.Decode(r)
		}
		err := dec.Finish()
		if errors.Is(err, dialect.ErrEarlier) {
			continue
		}
		if err != nil {
			t.Fatalf("from line %d: %v", r.Line, err)
		}
		rest := b.Finish()
		// The contract of Continue excludes this case; such a log is read again.
		if twice(tree, before.Entries) {
			continue
		}
		want, got := since(tree, before.Entries, whole.Problems(), whole.Labelled()), since(rest, 0, b.Problems(), b.Labelled())
		if diff := difftest.Diff(want, got); diff != "" {
			t.Errorf("from line %d (-whole +continued):\n%s", r.Line, diff)
		}
	}
}

// twice reports whether an id occurs both before and after the entry at n.
func twice(t *session.Tree, n int) bool {
	ids := map[session.EntryID]bool{}
	for i := range n {
		ids[t.At(i).ID], ids[t.At(i).NativeID] = true, true
	}
	for i := n; i < t.Len(); i++ {
		if e := t.At(i); ids[e.ID] || e.NativeID != "" && ids[e.NativeID] {
			return true
		}
	}
	return false
}

// since describes the entries from the nth on, and the counts of the whole log.
func since(t *session.Tree, n, problems int, labelled bool) []string {
	list := []string{fmt.Sprintf("%d problems, %d branches, labels: %v", problems, t.Tips(), labelled)}
	for i := n; i < t.Len(); i++ {
		e := t.At(i)
		list = append(list, fmt.Sprintf("%q below %q (%s) %v %v %q at %d+%d, old: %v", e.ID, e.Parent, e.NativeID, e.Kind, e.Role, e.Type,
			e.Span.Offset, e.Span.Length, e.Migrated))
	}
	return list
}
