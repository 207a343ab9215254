package place

import (
	"slices"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/dialect"
)

// claim is the part of a source's logs that an overlapping source lists already.
type claim struct {
	// The same log is below+rest here and above+rest there; one prefix is empty.
	below, above string
	// layout is the other source's: this source may list what that layout does not own.
	layout dialect.Layout
}

func (c claim) has(name string) bool {
	rest, ok := strings.CutPrefix(name, c.below)
	return ok && c.layout.Owns(c.above+rest)
}

// Owns reports whether a log of that name, relative to the folder of sessions, is listed for this source.
func (src *Source) Owns(name string) bool {
	return src.Dialect.Layout().Owns(src.below+name) && !slices.ContainsFunc(src.claims, func(c claim) bool { return c.has(name) })
}

// beside fits added sources in with the known ones, so that each log is listed once: a source inside a known one is left out, and one
// around it does not list its logs. Among the added ones the inner come first: their dialects were chosen for them in particular.
func (m *Machine) beside(known, added []Source) []Source {
	if len(known)+len(added) < 2 {
		return added
	}
	type placed struct {
		Source
		real string // links resolved
	}
	place := func(src Source) placed { return placed{src, m.Resolved(src.Root.Sessions)} }
	var before, list []placed
	for _, src := range known {
		before = append(before, place(src))
	}
	for _, src := range added {
		p := place(src)
		i := slices.IndexFunc(list, func(o placed) bool { return o.real != p.real && Within(o.real, p.real) })
		if i < 0 {
			i = len(list)
		}
		list = slices.Insert(list, i, p)
	}
	var fit []Source
	for _, p := range list {
		// The usual name of a log stands for all names in the folder.
		usual := p.Dialect.Layout().File(time.Time{}, "x")
		covered := false
		for _, o := range before {
			c := claim{layout: o.Dialect.Layout()}
			switch {
			case Within(o.real, p.real):
				c.above = folderBelow(o.real, p.real)
				covered = covered || c.has(usual)
			case Within(p.real, o.real):
				c.below = folderBelow(p.real, o.real)
			default:
				continue
			}
			p.claims = append(p.claims, c)
		}
		if !covered {
			fit, before = append(fit, p.Source), append(before, p)
		}
	}
	return fit
}

// folderBelow returns the prefix that names of logs in dir have in outer, a folder around it; "" if they are the same.
func folderBelow(outer, dir string) string {
	name, _ := Below(outer, dir)
	if name != "" {
		name += "/"
	}
	return name
}
