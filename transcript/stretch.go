package transcript

import "github.com/treeline-dev/treeline/session"

// Stretch is a branch from its first entry to an end. The stretches of a tree have each entry that speaks once.
type Stretch struct {
	// From is the entry before the branch, or "". First is its first entry. Tip is its end, for Request.Leaf: the id of the entry, or its
	// id and place if the id stands for another entry.
	From, First, Tip session.EntryID
	// Number is its number, from 1, among the Of branches of the fork. Both are 1 for a path without a fork before it.
	Number, Of int
}

// Opens reports whether a block certainly begins with the first entry of a stretch. Otherwise the entry may be shown in the block before it,
// as a result is.
func (k *Skeleton) Opens(s Stretch) bool {
	e, _, ok := k.named(s.First)
	if !ok {
		return false
	}
	i := int32(e.Index)
	up := k.up[i]
	return k.class[i]&byUser != 0 && (up == k.root() || k.t.At(int(up)).Kind != session.KindCompaction)
}

// Before returns the entry after which the blocks of a stretch begin. That is From, unless the path has entries of other branches between From
// and First, since an agent may put all records with one id on each path through one of them. Then it is the last of those entries.
func (d *Document) Before(s Stretch) (session.EntryID, error) {
	r, err := d.route(&s.Tip)
	if err != nil {
		return "", err
	}
	_, p, _ := r.named(d.k, s.First)
	for p--; p >= 0; p-- {
		if i := r.index[p]; d.k.class[i]&speaks != 0 {
			if up, _, ok := d.k.named(s.From); ok && int(i) != up.Index {
				return d.k.cursor(d.k.t.At(int(i))), nil
			}
			break
		}
	}
	return s.From, nil
}

// Single reports whether a stretch is a single entry.
func (k *Skeleton) Single(s Stretch) bool {
	tip, _, ok := k.named(s.Tip)
	return ok && s.First != "" && k.id(k.up[tip.Index]) == s.From && k.first[tip.Index] < 0 && tip.ID == s.First
}

// Stretches splits the tree into paths. The first one is the path from the beginning to leaf; nil means the leaf of the session. Each of
// the others follows after the stretch that it leaves.
func (k *Skeleton) Stretches(leaf *session.EntryID) []Stretch {
	end := k.leaf
	if leaf != nil {
		end = k.root()
		if e, ok := k.t.Lookup(*leaf); ok {
			end = k.speaking(int32(e.Index))
		}
	}
	on := make([]bool, len(k.class)) // on the path to leaf
	for i := end; ; i = k.up[i] {
		on[i] = true
		if i == k.root() {
			break
		}
	}
	var list []Stretch
	begin := []int32{k.root()} // stack of the first entries of stretches
	for len(begin) > 0 {
		first := begin[len(begin)-1]
		begin = begin[:len(begin)-1]
		s := Stretch{Number: 1, Of: 1}
		if first != k.root() {
			up := k.up[first]
			s = Stretch{From: k.id(up), First: k.id(first), Number: int(k.number[first]), Of: int(k.kids[up])}
		}
		var aside []int32
		at := first
		for k.first[at] >= 0 && (!on[at] || at != end) {
			next := k.onward(at, on)
			for c := k.first[at]; c >= 0; c = k.next[c] {
				if c != next {
					aside = append(aside, c)
				}
			}
			at = next
		}
		if at == end && on[at] { // branches after the leaf
			for c := k.first[at]; c >= 0; c = k.next[c] {
				aside = append(aside, c)
			}
		}
		if at != k.root() {
			s.Tip = k.cursor(k.t.At(int(at)))
		}
		if first == k.root() {
			if leaf != nil {
				s.Tip = *leaf
			} else {
				s.Tip = k.t.LeafID()
			}
		}
		list = append(list, s)
		for n := len(aside) - 1; n >= 0; n-- {
			begin = append(begin, aside[n])
		}
	}
	return list
}

// onward returns the child on the path or, if there is none, the one with the newest end.
func (k *Skeleton) onward(at int32, on []bool) int32 {
	best := k.first[at]
	for c := best; c >= 0; c = k.next[c] {
		if on[c] {
			return c
		}
		if k.tip[c] > k.tip[best] {
			best = c
		}
	}
	return best
}
