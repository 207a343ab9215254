package trash

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/internal/sorting"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/place"
)

// GCOptions are the options of GC.
type GCOptions struct {
	// Apply removes what is found. Otherwise it is only reported.
	Apply bool
	// Forget are places that are gone for good. They are no longer obstacles until a session is written there again. For an unknown place,
	// the error is ErrNoPlace.
	Forget []string
}

// gcAge is the least age of a blob that is removed, since a blob is written shortly before the record that refers to it.
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
	// Unused are the blobs that nothing refers to. Young counts further blobs that are too young to decide, and Used those that something
	// refers to.
	Unused      []GCBlob
	Young, Used int
	// Folders are the folders that were searched for references, and Files counts the files in them. Missing are places that do not exist,
	// or no longer have the sessions that they had. Unread are places that cannot be read completely, and may be forgotten.
	Folders []string
	Files   int
	Missing []string
	Unread  []string
	// Restored counts blobs in the trash that something refers to again, and Expired those that were there for 30 days. With Applied, they
	// were put back and deleted.
	Restored, Expired int
	// Leftovers counts unfinished files that crashes left.
	Leftovers int
	// Obstacles say why nothing can be removed: what cannot be read might refer to any blob.
	Obstacles []error
	// Applied reports whether what was found was moved to the trash.
	Applied bool
}

// GC finds blobs that nothing refers to, and unfinished files that crashes left. It searches for references in all files (sessions,
// backups, torn ends) below the agents' own folders, those in the settings, the noted folders and those that terminals used last, and in
// run logs and the trash.
//
// Nothing is removed unless it is certain that all of these were searched. Each place must be readable, contain no broken link, and still
// have one of the sessions that it had. A place without them may be on a disk that is not mounted. Of a forgotten place, only what can be
// read counts.
//
// Blobs are moved to the trash, where they stay for 30 days. If something refers to one again, the next collection puts it back.
func (t *Trash) GC(ctx context.Context, opt GCOptions) (GCReport, error) {
	// The limit is fixed at the start, so what is written during the collection is younger.
	g := collector{
		Trash: t, gc: opt, before: t.opt.Clock().Add(-gcAge), used: map[blob.Ref]bool{}, seen: map[string]backend.Log{},
		sessions: map[string]time.Time{},
	}
	g.gc.Forget = nil
	for _, p := range opt.Forget {
		abs, err := place.Abs(p)
		if err != nil {
			return GCReport{}, err
		}
		g.gc.Forget = append(g.gc.Forget, abs)
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
	places []gcPlace
	binned []binned // blobs in the trash
	found  []GCBlob
	used   map[blob.Ref]bool      // the existing blobs, and whether something refers to them
	seen   map[string]backend.Log // files that were searched, by folder and name
	buf    []byte

	sessions map[string]time.Time // paths of all sessions, and when each was written
	given    []string             // known places in Forget
	dropped  []string             // places that were forgotten, now or earlier
}

func (g *collector) run(ctx context.Context) error {
	if err := g.listBinned(ctx); err != nil {
		return err
	}
	// Blobs are listed before references are searched for, so a blob that is written in between is not in the list and stays.
	if err := g.listBlobs(ctx); err != nil {
		return err
	}
	if err := g.listFolders(ctx); err != nil {
		return err
	}
	if err := g.forget(ctx); err != nil {
		return err
	}
	// Sessions move and grow meanwhile, so the search is repeated until it finds nothing new.
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
	if err := g.prove(ctx); err != nil {
		return err
	}
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

// unread notes that something at a path cannot be read.
func (g *collector) unread(path string, err error) {
	if g.excused(path) {
		return
	}
	if pathOf(err, "") != path { // the error does not name it
		err = logtree.Named(path, err)
	}
	g.obstacle(err)
	for _, p := range g.places {
		if p.must && place.Within(p.Folder, path) && !slices.Contains(g.report.Unread, p.Folder) {
			g.report.Unread = append(g.report.Unread, p.Folder)
		}
	}
}

// excused reports whether a path is in a place that was forgotten, but not in a nested place that was not.
func (g *collector) excused(path string) bool {
	kept, dropped := 0, 0
	for _, p := range g.places {
		if place.Within(p.Folder, path) {
			kept = max(kept, len(p.Folder))
		}
	}
	for _, folder := range g.dropped {
		if place.Within(folder, path) {
			dropped = max(dropped, len(folder))
		}
	}
	return dropped > kept
}

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
		if len(g.found) > n {
			// There are blobs but no sessions: the folder of sessions was more likely moved than deleted.
			g.addPlace(place.NotedFolder{Folder: r.Sessions}, true)
		}
	}
	return nil
}

// sort separates blobs that may be removed from those that stay.
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
	g.sortBinned()
	sorting.By(g.report.Unused, func(a, b GCBlob) int { return cmp.Compare(a.Path, b.Path) })
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
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var at *fs.PathError
		for _, err := range apart(err) {
			switch {
			case errors.As(err, &at) && g.excused(at.Path):
			case remove:
				return err
			case len(g.report.Obstacles) == 0: // the search has not reported it
				g.obstacle(err)
			}
		}
	}
	return nil
}

// apart returns the errors that errors.Join joined.
func apart(err error) (list []error) {
	joined, ok := err.(interface{ Unwrap() []error })
	switch {
	case err == nil:
		return nil
	case !ok:
		return []error{err}
	}
	for _, err := range joined.Unwrap() {
		list = append(list, apart(err)...)
	}
	return list
}

// apply moves what was found to the trash. The report then lists what was moved.
func (g *collector) apply(ctx context.Context) error {
	bin, err := g.openBlobs()
	if err != nil {
		return err
	}
	removed := g.report.Unused[:0]
	for _, b := range g.report.Unused {
		lister, ok := g.m.BlobsInWriting(b.folder).(blob.Lister)
		if !ok {
			continue
		}
		ok, err := g.throw(ctx, bin, lister, b)
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
	if err := g.applyBinned(ctx, bin); err != nil {
		return err
	}
	if err := g.sweep(ctx, true); err != nil {
		return err
	}
	if err := g.remember(ctx); err != nil {
		return err
	}
	g.report.Applied = true
	return nil
}
