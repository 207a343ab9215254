package trash

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/sorting"
	"github.com/treeline-dev/treeline/place"
)

// gcPlace is a place whose sessions must still be there.
type gcPlace struct {
	place.NotedFolder
	must bool // it must have a session, even if none was ever seen there
}

// mostSeen is the largest number of a place's sessions that are remembered: the newest.
const mostSeen = 1000

// listFolders lists the folders in which files can refer to blobs, and the places to check.
func (g *collector) listFolders(ctx context.Context) error {
	for _, r := range g.m.AgentRoots() {
		g.addPlace(place.NotedFolder{Folder: r.Sessions}, false)
	}
	for _, e := range g.m.ExtraRoots() {
		g.addPlace(place.NotedFolder{Folder: e.Path}, true)
	}
	noted, err := g.opt.Folders.Folders(ctx)
	if err != nil {
		return err
	}
	for _, f := range noted {
		g.addPlace(f, true)
	}
	if err := g.listBreadcrumbs(ctx, noted); err != nil {
		return err
	}
	for _, src := range g.m.RunSources() {
		g.addPlace(place.NotedFolder{Folder: src.Root.Sessions}, false)
	}
	if g.opt.State != "" {
		g.addFolder(place.Join(g.opt.State, folder))
	}
	return nil
}

// addPlace adds a place, or what is known about one that is in the list. A forgotten place is not checked, but if it exists, its references
// count.
func (g *collector) addPlace(f place.NotedFolder, must bool) {
	f.Folder = place.Clean(f.Folder)
	if !absent(f.Folder) {
		g.addFolder(f.Folder)
	}
	if slices.Contains(g.gc.Forget, f.Folder) {
		g.given, g.dropped = append(g.given, f.Folder), append(g.dropped, f.Folder)
		return
	}
	if f.Forgotten {
		g.dropped = append(g.dropped, f.Folder)
		return
	}
	if i := slices.IndexFunc(g.places, func(p gcPlace) bool { return p.Folder == f.Folder }); i >= 0 {
		g.places[i].Seen = append(g.places[i].Seen, f.Seen...)
		g.places[i].must = g.places[i].must || must
		return
	}
	g.places = append(g.places, gcPlace{f, must})
}

func (g *collector) addFolder(folder string) {
	if !slices.ContainsFunc(g.report.Folders, func(f string) bool { return place.Within(f, folder) }) {
		g.report.Folders = append(g.report.Folders, folder)
	}
}

// absent reports whether nothing has that name, not even a broken link. A URL is never absent.
func absent(folder string) bool {
	_, err := os.Lstat(folder)
	return errors.Is(err, fs.ErrNotExist) && backend.Scheme(folder) == ""
}

// listBreadcrumbs adds the folders that terminals used last. Agents can be told to keep sessions anywhere.
func (g *collector) listBreadcrumbs(ctx context.Context, noted []place.NotedFolder) error {
	for _, r := range g.m.AgentRoots() {
		if r.Breadcrumbs == "" {
			continue
		}
		b, err := g.m.Open(r.Breadcrumbs)
		if err != nil {
			return err
		}
		for log, err := range b.List(ctx, "") {
			if err != nil {
				g.obstacle(err)
				continue
			}
			content, err := backend.ReadAll(ctx, b, log)
			if err != nil {
				continue // agents rewrite these files all the time
			}
			// The second line is the path of the session.
			lines := strings.Split(string(content), "\n")
			if len(lines) < 2 || !filepath.IsAbs(lines[1]) {
				continue
			}
			dir := place.Dir(place.Clean(lines[1]))
			known := func(p gcPlace) bool { return place.Within(p.Folder, dir) }
			forgotten := func(f place.NotedFolder) bool { return f.Forgotten && f.Folder == dir }
			if !slices.ContainsFunc(g.places, known) && !slices.ContainsFunc(noted, forgotten) {
				g.addPlace(place.NotedFolder{Folder: dir}, true)
			}
		}
	}
	return nil
}

// prove checks that no place lost its sessions: each place has a session, and one of those seen there last is still there or in the trash.
// Sessions that cannot be read, such as those on a disk that is not mounted, might refer to any blob.
func (g *collector) prove(ctx context.Context) error {
	var trashed []Item
	if g.opt.State != "" {
		var err error
		if trashed, err = g.List(ctx); err != nil {
			return err
		}
	}
	for _, p := range g.places {
		if !p.must && len(p.Seen) == 0 {
			continue
		}
		some, same := false, len(p.Seen) == 0
		for path := range g.sessions {
			if name, ok := place.Below(p.Folder, path); ok {
				some = true
				same = same || slices.Contains(p.Seen, name)
			}
		}
		for _, item := range trashed {
			name, ok := place.Below(p.Folder, item.From)
			same = same || ok && slices.Contains(p.Seen, name)
		}
		why := ""
		switch {
		case absent(p.Folder):
			why = "this place with sessions does not exist"
		case !some:
			why = "this place has no sessions; it may be a disk that is not mounted"
		case !same:
			why = "none of the sessions that were last seen in this place is there; another disk may be mounted"
		default:
			continue
		}
		g.report.Missing = append(g.report.Missing, p.Folder)
		g.obstacle(fmt.Errorf("%s: %s", p.Folder, why))
	}
	seen := map[string]bool{}
	for _, folder := range g.report.Folders {
		if backend.Scheme(folder) == "" {
			g.brokenLinks(folder, seen)
		}
	}
	return nil
}

// brokenLinks finds broken symbolic links, which may have led to sessions or to folders of them. It follows the other links, each once.
func (g *collector) brokenLinks(dir string, seen map[string]bool) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		if info, lerr := os.Lstat(dir); lerr == nil && info.Mode()&fs.ModeSymlink != 0 {
			g.unread(dir, errors.New("this link leads nowhere, and what it led to may refer to blobs"))
		}
		return
	}
	if seen[real] {
		return
	}
	seen[real] = true
	entries, _ := os.ReadDir(dir) // the search reports errors
	for _, e := range entries {
		if e.IsDir() || e.Type()&fs.ModeSymlink != 0 {
			g.brokenLinks(filepath.Join(dir, e.Name()), seen)
		}
	}
}

// forget removes the places that the user gave up from the notes, even if nothing else is to be removed. A place that is not noted, such as
// one that a terminal used, is noted as forgotten. An unknown place is an error.
func (g *collector) forget(ctx context.Context) error {
	if len(g.gc.Forget) == 0 {
		return nil
	}
	if g.opt.State == "" || g.m.ReadOnly() {
		return ErrNoState
	}
	for _, folder := range g.gc.Forget {
		if !slices.Contains(g.given, folder) {
			return fmt.Errorf("%s: %w; nothing was forgotten or removed", folder, ErrNoPlace)
		}
	}
	return g.opt.Folders.ChangeFolders(ctx, func(list []place.NotedFolder) []place.NotedFolder {
		list = slices.DeleteFunc(list, func(f place.NotedFolder) bool { return slices.Contains(g.gc.Forget, f.Folder) })
		for _, folder := range g.gc.Forget {
			list = append(list, place.NotedFolder{Folder: folder, Forgotten: true})
		}
		return list
	})
}

// remember notes the sessions that each place has now.
func (g *collector) remember(ctx context.Context) error {
	if g.opt.State == "" {
		return nil
	}
	now := map[string][]string{}
	for _, p := range g.places {
		if names := g.newest(p.Folder); len(names) > 0 {
			now[p.Folder] = names
		}
	}
	return g.opt.Folders.ChangeFolders(ctx, func(list []place.NotedFolder) []place.NotedFolder {
		var kept []place.NotedFolder
		for _, f := range list {
			if _, ok := now[f.Folder]; !ok {
				kept = append(kept, f)
			}
		}
		for _, p := range g.places {
			if names, ok := now[p.Folder]; ok {
				kept = append(kept, place.NotedFolder{Folder: p.Folder, Seen: names})
			}
		}
		return kept
	})
}

// newest returns the names of the sessions in a place that were written last.
func (g *collector) newest(folder string) []string {
	type session struct {
		name string
		time time.Time
	}
	var list []session
	for path, at := range g.sessions {
		if name, ok := place.Below(folder, path); ok {
			list = append(list, session{name, at})
		}
	}
	sorting.By(list, func(a, b session) int {
		if c := b.time.Compare(a.time); c != 0 {
			return c
		}
		return strings.Compare(a.name, b.name)
	})
	var names []string
	for _, s := range list[:min(len(list), mostSeen)] {
		names = append(names, s.name)
	}
	return names
}
