package find

import (
	"context"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
)

// Keys name sessions. Any of them is enough.
type Keys struct {
	IDs   []session.ID
	Paths []string
	// Prefixes are the beginnings of ids.
	Prefixes []string
	// Files are the last parts of paths.
	Files []string
	// Parents are what sessions name as their parent: ids, and the last parts of paths.
	Parents []string
}

// LookUp brings the catalogue up to date and gives the sessions that any of the keys names, newest first. Rows with
// an Err are left out. In an archive it costs no more than these sessions. Short ids are not filled in.
func (f *Finder) LookUp(ctx context.Context, k Keys) ([]place.Row, error) {
	if f.beside() {
		if rows, err := f.sharedLookUp(ctx, k); !f.alone(err) {
			return rows, err
		}
	}
	wanted := k.set()
	rows, err := f.Catalogue(ctx, RefreshOptions{})
	return place.Sort(place.Drop(rows, func(r *place.Row) bool { return r.Err != nil || !wanted.has(r) }), place.OrderWhen), err
}

// sharedLookUp is LookUp on a shared index.
func (f *Finder) sharedLookUp(ctx context.Context, k Keys) ([]place.Row, error) {
	if err := f.update(ctx, RefreshOptions{}); err != nil {
		return nil, err
	}
	wanted := k.set()
	var names, ids []string
	for _, path := range k.Paths {
		if name, ok := f.m.ArchivedFolder(path); ok {
			names = append(names, name)
		}
	}
	for _, id := range k.IDs {
		ids = append(ids, string(id))
	}
	var rows []place.Row
	known := map[string]bool{}
	for _, sel := range []index.Selection{{IDs: ids}, {Prefixes: k.Prefixes}, {Names: names}, {Files: k.Files}, {Parents: k.Parents}} {
		if sel.IDs == nil && sel.Prefixes == nil && sel.Names == nil && sel.Files == nil && sel.Parents == nil {
			continue
		}
		sel.Below, sel.Sessions, sel.Limit = f.m.ArchiveFolder(), true, pageSize
		err := f.eachShared(ctx, sel, place.Filter{}, func(_ *index.Found, r *place.Row) bool {
			if !known[r.Path] && r.Err == nil && wanted.has(r) {
				known[r.Path], rows = true, append(rows, *r)
			}
			return true
		})
		if err != nil {
			return nil, err
		}
	}
	return place.Sort(rows, place.OrderWhen), nil
}

// wanted are keys as sets.
type wanted struct {
	ids, paths, files, parents map[string]bool
	prefixes                   []string
}

func (k *Keys) set() wanted {
	w := wanted{ids: make(map[string]bool, len(k.IDs)), prefixes: k.Prefixes, paths: setOf(k.Paths), files: setOf(k.Files), parents: setOf(k.Parents)}
	for _, id := range k.IDs {
		w.ids[string(id)] = true
	}
	return w
}

func setOf(list []string) map[string]bool {
	set := make(map[string]bool, len(list))
	for _, s := range list {
		set[s] = true
	}
	return set
}

// has reports whether one of the keys is that of a row. Columns of an index may be shorter than what they stand for.
func (w *wanted) has(r *place.Row) bool {
	begins := func(prefix string) bool { return strings.HasPrefix(string(r.ID), prefix) }
	return w.ids[string(r.ID)] || slices.ContainsFunc(w.prefixes, begins) || w.paths[r.Path] || w.files[index.LastPart(r.Path)] || r.Parent != "" && w.parents[index.LastPart(r.Parent)]
}

// Projects gives the working directories of the sessions in an archive, in order; those of sessions that are gone may be among them.
// Without a shared index it gives none.
func (f *Finder) Projects(ctx context.Context) ([]string, error) {
	if !f.beside() {
		return nil, nil
	}
	return f.shared.Values(ctx, index.ValueCWD, nil)
}
