package trash

import (
	"cmp"
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
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/place"
)

// GCOptions say what to collect.
type GCOptions struct {
	// Apply removes what is found. Otherwise it is only reported.
	Apply bool
	// ForgetMissing treats noted folders that do not exist as gone for good. Otherwise nothing is removed while one is
	// missing: it may be on a disk that is not mounted.
	ForgetMissing bool
}

// gcAge is the least age of what is removed. A blob is written shortly before the record that refers to it.
const gcAge = time.Hour

// GCBlob is a blob that nothing refers to.
type GCBlob struct {
	Ref  blob.Ref
	Path string
	Size int64
	Time time.Time

	item   blob.Item
	folder string
}

// GCReport says what was found and, with Apply, removed.
type GCReport struct {
	// Unused are the blobs that nothing refers to. Young counts further ones that are too young to tell, Used those that
	// something refers to.
	Unused      []GCBlob
	Young, Used int
	// Folders are where references were looked for, Files counts the files in them. Missing are noted folders that do not
	// exist.
	Folders []string
	Files   int
	Missing []string
	// Leftovers counts unfinished files that crashes left.
	Leftovers int
	// Obstacles say why nothing can be removed: what cannot be read might refer to any blob.
	Obstacles []error
	// Applied is set if what was found was removed.
	Applied bool
}

// GC finds blobs that nothing refers to, and unfinished files that crashes left. A reference counts in any file below the
// agents' own folders, the noted folders, those that terminals used last, and the trash: in sessions as in backups and torn
// ends. If any of these cannot be read, nothing is removed.
func (t *Trash) GC(ctx context.Context, opt GCOptions) (GCReport, error) {
	// The limit is fixed at the start: what is made during the collection is younger.
	g := collector{
		Trash: t, gc: opt, before: t.opt.Clock().Add(-gcAge), used: map[blob.Ref]bool{}, seen: map[string]backend.Log{},
	}
	err := g.run(ctx)
	return g.report, err
}

// collector is one collection.
type collector struct {
	*Trash
	gc     GCOptions
	before time.Time
	report GCReport
	blobs  []string // folders of blobs
	found  []GCBlob
	used   map[blob.Ref]bool      // the blobs that exist, and whether something refers to them
	seen   map[string]backend.Log // files that were searched, by folder and name
	buf    []byte
}

func (g *collector) run(ctx context.Context) error {
	// Blobs are listed before references are searched: a blob that is put in between is not in the list, and stays.
	if err := g.listBlobs(ctx); err != nil {
		return err
	}
	if err := g.listFolders(ctx); err != nil {
		return err
	}
	// Sessions move and grow meanwhile, so the search repeats until it finds nothing new.
	for pass := 0; ; pass++ {
		fresh := 0
		for _, folder := range g.report.Folders {
			n, err := g.search(ctx, folder)
			if err != nil {
				return err
			}
			fresh += n
		}
		if fresh == 0 || len(g.report.Obstacles) > 0 {
			break
		}
		if pass == mostRetries {
			g.obstacle(errors.New("sessions change faster than they can be read"))
			break
		}
	}
	g.report.Files = len(g.seen)
	g.sort()
	if err := g.sweep(ctx, false); err != nil {
		return err
	}
	if !g.gc.Apply || len(g.report.Obstacles) > 0 {
		return nil
	}
	return g.apply(ctx)
}

func (g *collector) obstacle(err error) { g.report.Obstacles = append(g.report.Obstacles, err) }

// listBlobs lists the blobs of the agents' own folders.
func (g *collector) listBlobs(ctx context.Context) error {
	for _, r := range g.m.AgentRoots() {
		if slices.Contains(g.blobs, r.Blobs) {
			continue
		}
		lister, ok := g.m.BlobsIn(r.Blobs).(blob.Lister)
		if !ok {
			continue
		}
		g.blobs = append(g.blobs, r.Blobs)
		n := len(g.found)
		for item, err := range lister.List(ctx) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil {
				g.obstacle(err)
				break
			}
			g.used[item.Ref] = false
			g.found = append(g.found, GCBlob{
				Ref: item.Ref, Path: place.Join(r.Blobs, item.Ref.Hex()), Size: item.Size, Time: item.Time, item: item, folder: r.Blobs,
			})
		}
		// Blobs without sessions: the folder of sessions was more likely moved than deleted.
		if len(g.found) > n && absent(r.Sessions) {
			g.missing(r.Sessions)
		}
	}
	return nil
}

// absent reports whether a folder does not exist. A URL never counts as absent.
func absent(folder string) bool {
	_, err := os.Stat(folder)
	return errors.Is(err, fs.ErrNotExist) && backend.Scheme(folder) == ""
}

// missing reports a folder with sessions that does not exist.
func (g *collector) missing(folder string) {
	g.report.Missing = append(g.report.Missing, folder)
	if !g.gc.ForgetMissing {
		g.obstacle(fmt.Errorf("%s: this folder with sessions does not exist", folder))
	}
}

// listFolders lists the folders in which files can refer to blobs.
func (g *collector) listFolders(ctx context.Context) error {
	for _, r := range g.m.AgentRoots() {
		if !absent(r.Sessions) {
			g.addFolder(r.Sessions)
		}
	}
	noted, err := g.opt.Folders.Folders(ctx)
	if err != nil {
		return err
	}
	for _, folder := range noted {
		if absent(folder) {
			g.missing(folder)
		} else {
			g.addFolder(folder)
		}
	}
	if err := g.listBreadcrumbs(ctx); err != nil {
		return err
	}
	if g.opt.State != "" {
		g.addFolder(place.Join(g.opt.State, folder))
	}
	return nil
}

func (g *collector) addFolder(folder string) {
	if !slices.ContainsFunc(g.report.Folders, func(f string) bool { return place.Within(f, folder) }) {
		g.report.Folders = append(g.report.Folders, folder)
	}
}

// listBreadcrumbs adds the folders that terminals used last. Agents can be told to keep sessions anywhere.
func (g *collector) listBreadcrumbs(ctx context.Context) error {
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
				continue // agents rewrite them all the time
			}
			// The second line is the path of the session.
			lines := strings.Split(string(content), "\n")
			if len(lines) < 2 || !filepath.IsAbs(lines[1]) {
				continue
			}
			if _, err := os.Stat(lines[1]); err == nil {
				g.addFolder(place.Dir(lines[1]))
			}
		}
	}
	return nil
}

// sort tells blobs that may be removed from those that stay.
func (g *collector) sort() {
	for _, b := range g.found {
		switch {
		case g.used[b.Ref]:
			g.report.Used++
		case !b.Time.Before(g.before):
			g.report.Young++
		default:
			g.report.Unused = append(g.report.Unused, b)
		}
	}
	slices.SortFunc(g.report.Unused, func(a, b GCBlob) int { return cmp.Compare(a.Path, b.Path) })
}

// sweep counts or removes unfinished files that are old enough not to be in use.
func (g *collector) sweep(ctx context.Context, remove bool) error {
	if g.m.ReadOnly() {
		return nil
	}
	g.report.Leftovers = 0
	folders := append(slices.Clone(g.report.Folders), g.blobs...)
	if g.opt.State != "" {
		folders = append(folders, g.opt.State)
	}
	for i, folder := range folders {
		if slices.ContainsFunc(folders[i+1:], func(above string) bool { return place.Within(above, folder) }) {
			continue // the folder above it covers it
		}
		b, err := g.m.OpenWriting(folder, "")
		if err != nil {
			return err
		}
		sweeper, ok := b.(backend.Sweeper)
		if !ok {
			continue
		}
		n, err := sweeper.Sweep(ctx, g.before, remove)
		g.report.Leftovers += n
		if err != nil {
			return err
		}
	}
	return nil
}

// apply removes what was found. The report then lists what was removed.
func (g *collector) apply(ctx context.Context) error {
	removed := g.report.Unused[:0]
	for _, b := range g.report.Unused {
		lister, ok := g.m.BlobsInWriting(b.folder).(blob.Lister)
		if !ok {
			continue
		}
		// Remove compares the time again: a blob that was put again meanwhile stays.
		ok, err := lister.Remove(ctx, b.item, g.before)
		if err != nil {
			return err
		}
		if ok {
			removed = append(removed, b)
		} else {
			g.report.Young++
		}
	}
	g.report.Unused = removed
	if err := g.sweep(ctx, true); err != nil {
		return err
	}
	if len(g.report.Missing) > 0 && g.opt.State != "" {
		if err := g.opt.Folders.ForgetFolders(ctx, g.report.Missing); err != nil && !errors.Is(err, backend.ErrNotExist) {
			return err
		}
	}
	g.report.Applied = true
	return nil
}
