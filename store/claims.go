package store

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/dialect"
)

// claim is the part of a source's logs that another source lists already: their folders overlap.
type claim struct {
	// A log whose name begins with below is called above and the rest of its name there. One of them is empty.
	below, above string
	// layout is the other source's: what it does not own, this one may list.
	layout dialect.Layout
}

func (c claim) has(name string) bool {
	rest, ok := strings.CutPrefix(name, c.below)
	return ok && c.layout.Owns(c.above+rest)
}

// owns says whether a log of that name, relative to the folder of sessions, is listed for this source.
func (src *Source) owns(name string) bool {
	return src.Dialect.Layout().Owns(name) && !slices.ContainsFunc(src.claims, func(c claim) bool { return c.has(name) })
}

// beside makes sources that someone added fit beside the known ones, so that each log is listed once: what lies inside a
// known source is left out, what lies around one leaves its logs to it. Among those that were added the inner ones come
// first, for their dialects were meant for them in particular.
func (s *Store) beside(known, added []Source) []Source {
	if len(known)+len(added) < 2 {
		return added
	}
	type placed struct {
		Source
		real string // links lead from one folder to the other as well
	}
	place := func(src Source) placed { return placed{src, s.canonical(src.Root.Sessions)} }
	var before, list []placed
	for _, src := range known {
		before = append(before, place(src))
	}
	for _, src := range added {
		p := place(src)
		i := slices.IndexFunc(list, func(o placed) bool { return o.real != p.real && within(o.real, p.real) })
		if i < 0 {
			i = len(list)
		}
		list = slices.Insert(list, i, p)
	}
	var fit []Source
	for _, p := range list {
		// A name as the agent would give it: where the source around claims that, it claims all that matters here.
		usual := p.Dialect.Layout().File(time.Time{}, "x")
		covered := false
		for _, o := range before {
			c := claim{layout: o.Dialect.Layout()}
			switch {
			case within(o.real, p.real):
				c.above = folderBelow(o.real, p.real)
				covered = covered || c.has(usual)
			case within(p.real, o.real):
				c.below = folderBelow(p.real, o.real)
			default:
				continue
			}
			// Also what covers the source only in part: the rest of its logs are its own.
			p.claims = append(p.claims, c)
		}
		if !covered {
			fit, before = append(fit, p.Source), append(before, p)
		}
	}
	return fit
}

// folderBelow is how the names of logs in dir, a folder inside another, begin there; "" where they are the same.
func folderBelow(outer, dir string) string {
	rel, err := filepath.Rel(outer, dir)
	if err != nil || rel == "." {
		return ""
	}
	return filepath.ToSlash(rel) + "/"
}
