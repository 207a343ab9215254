package qwen

import (
	"slices"

	"github.com/treeline-dev/treeline/session"
)

// joining is the codec of a log in which a record has several lines. The record's parent is that of its first line, and all its lines
// are on the path.
type joining struct{ *reader }

// Leaf is the first line of the last line's record.
func (j *joining) Leaf(t *session.Tree, leaf int) int {
	if leaf < 0 {
		return leaf
	}
	return j.firstOf(t, leaf)
}

// Path walks from record to record and puts the other lines of each after its first.
func (j *joining) Path(t *session.Tree, to int) (path []int) {
	seen := map[int]bool{}
	end := j.firstOf(t, to)
	for at := end; !seen[at]; {
		seen[at] = true
		rest := j.pieces[at]
		for k := len(rest) - 1; k >= 0; k-- {
			path = append(path, rest[k])
		}
		path = append(path, at)
		parent, ok := t.Lookup(t.At(at).Parent)
		if !ok {
			break
		}
		at = j.firstOf(t, parent.Index)
	}
	slices.Reverse(path)
	return path
}

// firstOf returns the position of the first line of a record.
func (j *joining) firstOf(t *session.Tree, at int) int {
	e := t.At(at)
	if e.NativeID == "" || e.NativeID == e.ID {
		return at
	}
	first, ok := t.Lookup(e.NativeID)
	if _, found := slices.BinarySearch(j.pieces[first.Index], at); ok && found {
		return first.Index
	}
	return at
}
