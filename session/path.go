package session

import (
	"fmt"
	"iter"
	"slices"
)

// Path is the entries from a root to an entry.
type Path struct {
	tree  *Tree
	index []int32
	// restore is ContextOptions.Restore; nil on a path that no context made.
	restore func(Entry, []byte) []byte
}

// Record returns the record of an entry for a context, completed by ContextOptions.Restore if that is set.
func (p Path) Record(e Entry) ([]byte, error) {
	record, err := e.Raw()
	if err != nil || p.restore == nil {
		return record, err
	}
	return p.restore(e, record), nil
}

// Tree is the tree that the path is in.
func (p Path) Tree() *Tree { return p.tree }

// Len is the number of entries on the path.
func (p Path) Len() int { return len(p.index) }

// At returns the entry at a position, the root first.
//
//go:noinline // its copies took 7.9 KB
func (p Path) At(i int) Entry { return p.tree.At(int(p.index[i])) }

// Indexes returns the indexes of the entries, the root first. The list must not be changed.
func (p Path) Indexes() []int32 { return p.index }

// Entries iterates over the path from root to leaf.
func (p Path) Entries() iter.Seq2[int, Entry] {
	return func(yield func(int, Entry) bool) {
		for i := range p.index {
			if !yield(i, p.At(i)) {
				return
			}
		}
	}
}

// visible returns the entries of a path that are not hidden by a reset or a compaction. The last compaction is first in the list;
// compacted reports whether there is one.
func (t *Tree) visible(path []int32) (list []int32, compacted bool, err error) {
	last, resets := -1, t.Rules().Resets
	for k := len(path) - 1; k >= 0 && last < 0; k-- {
		kind := t.links[path[k]].kind
		if kind == KindReset && resets {
			path = path[k+1:]
			break
		}
		if kind == KindCompaction {
			last = k
		}
	}
	if last < 0 {
		return path, false, nil
	}
	body, err := t.At(int(path[last])).Body()
	if err != nil {
		return nil, false, err
	}
	compaction, ok := body.(Compaction)
	if !ok {
		return nil, false, fmt.Errorf("%s: entry %s is not a compaction", t.name, t.nodes[path[last]].id)
	}
	list = append([]int32{path[last]}, t.kept(path[:last], compaction)...)
	return append(list, path[last+1:]...), true, nil
}

// Seen reports for each entry of the tree, by index, whether it is on the path and not hidden from the model at the path's end by
// a reset or a compaction. It reads at most one record.
func (p Path) Seen() ([]bool, error) {
	list, _, err := p.tree.visible(p.index)
	if err != nil {
		return nil, err
	}
	seen := make([]bool, p.tree.Len())
	for _, i := range list {
		seen[i] = true
	}
	return seen, nil
}

// kept returns the entries before a compaction that the model still sees.
func (t *Tree) kept(before []int32, compaction Compaction) []int32 {
	if compaction.FirstKept == "" || compaction.ReplacesAll {
		return nil
	}
	for k, i := range before {
		if t.nodes[i].id != compaction.FirstKept {
			continue
		}
		kept := before[k:]
		if t.Rules().KeepSystem {
			return kept
		}
		return slices.DeleteFunc(slices.Clone(kept), func(i int32) bool {
			return t.links[i].kind == KindMessage && t.links[i].role == RoleSystem
		})
	}
	return nil
}
