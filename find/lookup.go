package find

import (
	"context"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
)

// Keys name sessions. A session must have one of them.
type Keys struct {
	IDs   []session.ID
	Paths []string
	// Prefixes are the beginnings of ids.
	Prefixes []string
	// Files are the last parts of paths.
	Files []string
	// Parents are names of parents: ids, and the last parts of paths.
	Parents []string
	// Origins are the sessions from which others were converted.
	Origins []session.ID
	// Twins are ids that only matter if several sessions have them: a session with a unique id may be left out.
	Twins []session.ID
}

// LookUp brings the catalogue up to date and returns the sessions that have one of the keys, newest first. Rows with an Err are left out.
// In an archive it costs no more than these sessions. Short ids are not filled in.
func (f *Finder) LookUp(ctx context.Context, k Keys) ([]place.Row, error) {
	if beside, err := f.fresh(ctx, RefreshOptions{}); err != nil {
		return nil, err
	} else if beside {
		return f.sharedLookUp(ctx, k)
	}
	wanted := k.set()
	rows, err := f.Catalogue(ctx, RefreshOptions{})
	return place.Drop(rows, func(r *place.Row) bool { return r.Err != nil || !wanted.has(r) }), err
}

// sharedLookUp is LookUp on a shared index, without an update.
func (f *Finder) sharedLookUp(ctx context.Context, k Keys) ([]place.Row, error) {
	wanted := k.set()
	var names []string
	for _, path := range k.Paths {
		if name, ok := f.m.ArchivedFolder(path); ok {
			names = append(names, name)
		}
	}
	var rows []place.Row
	known := map[string]bool{}
	for _, one := range []struct {
		keys []string
		sel  func(keys []string) index.Selection
	}{
		{idTexts(k.IDs), func(keys []string) index.Selection { return index.Selection{IDs: keys} }},
		{idTexts(k.Twins), func(keys []string) index.Selection { return index.Selection{IDs: keys, Repeated: true} }},
		{k.Prefixes, func(keys []string) index.Selection { return index.Selection{Prefixes: keys} }},
		{names, func(keys []string) index.Selection { return index.Selection{Names: keys} }},
		{k.Files, func(keys []string) index.Selection { return index.Selection{Files: keys} }},
		{k.Parents, func(keys []string) index.Selection { return index.Selection{Parents: keys} }},
		{idTexts(k.Origins), func(keys []string) index.Selection { return index.Selection{Origins: keys} }},
	} {
		if len(one.keys) == 0 {
			continue
		}
		sel := one.sel(one.keys)
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
	return rows, nil
}

// wanted are keys as sets.
type wanted struct {
	ids, paths, files, parents, origins map[string]bool
	prefixes                            []string
}

func (k *Keys) set() wanted {
	return wanted{ids: setOf(idTexts(slices.Concat(k.IDs, k.Twins))), prefixes: k.Prefixes, paths: setOf(k.Paths), files: setOf(k.Files),
		parents: setOf(k.Parents), origins: setOf(idTexts(k.Origins))}
}

func idTexts(ids []session.ID) (list []string) {
	for _, id := range ids {
		list = append(list, string(id))
	}
	return list
}

func setOf(list []string) map[string]bool {
	set := make(map[string]bool, len(list))
	for _, s := range list {
		set[s] = true
	}
	return set
}

// has reports whether a row has one of the keys. Columns of an index may be truncated, so rows are checked again.
func (w *wanted) has(r *place.Row) bool {
	begins := func(prefix string) bool { return strings.HasPrefix(string(r.ID), prefix) }
	return w.ids[string(r.ID)] || slices.ContainsFunc(w.prefixes, begins) || w.paths[r.Path] || w.files[index.LastPart(r.Path)] || r.Parent != "" && w.parents[index.LastPart(r.Parent)] ||
		r.Known != nil && r.Known.Origin != "" && w.origins[string(r.Known.Origin)]
}

// Projects returns the working directories of the sessions in an archive, in order; it may include those of sessions that are gone. Without
// a shared index it returns none.
func (f *Finder) Projects(ctx context.Context) ([]string, error) {
	if !f.beside() {
		return nil, nil
	}
	return f.shared.Values(ctx, index.ValueCWD, nil)
}
