// Package view makes the lists of sessions that pages and operations show.
//
// A [List] gives each session a key for addresses, and [List.FamilyOf] relates its sessions to each other. A client that is limited to
// projects gets a list in which no other session exists ([Rows], [List.Limited]). A list from an archive with an index of its own has only
// what one request needs ([Archive]).
package view

import (
	"cmp"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/internal/sorting"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
)

// Rows returns the rows that exist for a caller that is limited to projects. may reports whether a working directory is in one of them. A
// row that cannot be read has no working directory, so it is left out. So is a session whose log continues that of another session that is
// left out (see dialect.LogNeeder): reading it would show the other one.
func Rows(rows []place.Row, may func(cwd string) bool) []place.Row {
	asked, needy := map[string]bool{}, map[dialect.Dialect]bool{}
	hidden := map[string]bool{} // ids and paths of sessions that are left out, and the ids in the names of their logs
	hide := func(r *place.Row) { hidden[string(r.ID)], hidden[r.Path], hidden[idInName(r.Path)] = true, true, true }
	var list []int
	for i := range rows {
		r := &rows[i]
		ok, known := asked[r.CWD]
		if !known {
			ok = may(r.CWD)
			asked[r.CWD] = ok
		}
		if !ok || r.Err != nil {
			hide(r)
			continue
		}
		list = append(list, i)
		if _, known := needy[r.Dialect]; !known {
			_, needy[r.Dialect] = r.Dialect.NewDecoder(session.NewBuilder("", nil)).(dialect.LogNeeder)
		}
	}
	for again := true; again; { // until a pass leaves out no more rows: logs may continue each other in a chain
		again = false
		list = slices.DeleteFunc(list, func(i int) bool {
			r := &rows[i]
			if r.Parent == "" || !hidden[r.Parent] || !needy[r.Dialect] {
				return false
			}
			hide(r)
			again = true
			return true
		})
	}
	seen := make([]place.Row, len(list))
	for k, i := range list {
		seen[k] = rows[i]
	}
	return seen
}

// idInName returns the id at the end of a log's name, by which a log that continues it may find it, or "". The name and the header of a
// copied log may have different ids.
func idInName(path string) string {
	name, _, _ := strings.Cut(index.LastPart(path), ".")
	if id := name[max(0, len(name)-36):]; dialect.IsAnyUUID(id) {
		return id
	}
	return ""
}

// Sources describes the sources of some sessions, as far as the rows tell.
func Sources(rows []place.Row) []place.SourceInfo {
	var list []place.SourceInfo
	at := map[string]int{}
	for i := range rows {
		row := &rows[i]
		k, known := at[row.Source.Root.Sessions]
		if !known {
			k = len(list)
			at[row.Source.Root.Sessions] = k
			list = append(list, place.SourceInfo{Source: row.Source, Exists: true})
		}
		info := &list[k]
		info.Sessions++
		info.Bytes += row.Log.Size
		if row.Log.Time.After(info.Newest) {
			info.Newest = row.Log.Time
		}
		if !slices.Contains(info.Dialects, row.Dialect) {
			info.Dialects = append(info.Dialects, row.Dialect)
		}
	}
	sorting.By(list, func(a, b place.SourceInfo) int { return cmp.Compare(a.Root.Sessions, b.Root.Sessions) })
	return list
}
