package convert

import (
	"crypto/sha256"

	"github.com/treeline-dev/treeline/session"
)

// run is a part of a path: its entries that speak are all restored, or none is.
type run struct {
	from, to int // positions; to is that of the last entry
	restored bool
}

// runs divides a path, from a position on. There is at least one.
func (s *script) runs(path session.Path, from int) []run {
	list := []run{{from: 0, to: from}}
	for k := from; k < path.Len(); k++ {
		e := path.At(k)
		last := &list[len(list)-1]
		restored := s.origins[e.Index] != nil
		switch {
		case !speaks(e) || restored == last.restored:
		case k == from || !s.spoke(path, *last):
			last.restored = restored
		default:
			list = append(list, run{from: k, restored: restored})
			last = &list[len(list)-1]
		}
		last.to = k
	}
	return list
}

// spoke reports whether an entry of a run speaks.
func (s *script) spoke(path session.Path, r run) bool {
	for k := r.from; k <= r.to; k++ {
		if speaks(path.At(k)) {
			return true
		}
	}
	return false
}

// restoreRun restores the entries of a run and gives the place after them.
func (s *script) restoreRun(path session.Path, r run) (at node) {
	for k := r.from; k <= r.to; k++ {
		o := s.origins[path.At(k).Index]
		if o == nil {
			continue
		}
		if !s.done[o.last] {
			s.restore(o)
		}
		at.id = o.Tip
	}
	at.key, at.at = sha256.Sum256([]byte(at.id)), s.clock
	return at
}

// assign says which run each atom belongs to. Programs join messages, so that the message of an entry may go on with what
// entries of the next run said: what the message has more than at the end of its run is theirs.
func (s *script) assign(atoms []atom, path session.Path, runs []run) error {
	if len(runs) == 1 {
		for k := range atoms {
			atoms[k].old = runs[0].restored
		}
		return nil
	}
	had := make([]map[int]int, len(runs)) // atoms of each entry at the end of the run
	at := map[int]int{}                   // entry → run
	for k, r := range runs {
		for i := r.from; i <= r.to; i++ {
			at[path.At(i).Index] = k
		}
		if k == len(runs)-1 {
			break
		}
		before, err := s.context(path.At(r.to).ID)
		if err != nil {
			return err
		}
		had[k] = map[int]int{}
		for _, a := range before {
			had[k][a.entry]++
		}
	}
	now, count := 0, map[int]int{}
	for k := range atoms {
		a := &atoms[k]
		if a.entry >= 0 { // what the program made up goes with what is before it
			now = at[a.entry]
			for now < len(runs)-1 && count[a.entry] >= had[now][a.entry] {
				now++
			}
			count[a.entry]++
		}
		a.run, a.old = now, runs[now].restored
	}
	return nil
}
