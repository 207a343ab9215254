package trash

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/blob"
)

// GCOptions say what to collect.
type GCOptions struct {
	// Apply removes. Otherwise it is only said what would be.
	Apply bool
	// ForgetMissing takes folders that were noted and are not there any more for gone. Otherwise nothing is removed while
	// one is missing: it may be on a disk that is not there today.
	ForgetMissing bool
	// Clock is the time; nil is that of the machine.
	Clock func() time.Time
}

// gcAge is how old what is removed must be: whoever writes a blob refers to it soon.
const gcAge = time.Hour

// GCBlob is a blob that nothing refers to.
type GCBlob struct {
	Ref blob.Ref
	// Ref and Path name the same; item and folder are for those who remove it.
	Path string
	Size int64
	Time time.Time

	item   blob.Item
	folder string
}

// GCReport says what was found, and with Apply what was done.
type GCReport struct {
	// Unused are the blobs that nothing refers to, Young how many more there are that are too young to tell, Used how many
	// something refers to.
	Unused      []GCBlob
	Young, Used int
	// Folders are where references were counted, Files how many files there are in them, Missing the folders that were
	// noted and are not there.
	Folders []string
	Files   int
	Missing []string
	// Leftovers is how many files a crash left half-made.
	Leftovers int
	// Obstacles say why nothing can be removed: what could not be read might refer to anything.
	Obstacles []error
	// Applied is set when what was found was removed.
	Applied bool
}

// GC finds blobs that nothing refers to, and files that crashes left half-made. A reference counts wherever it stands: in
// any file below the agents' own folders, the folders that were noted, those that terminals used last, and the trash; in
// sessions as in backups and in what was torn off them. Where anything of that cannot be read nothing is removed.
func (s *Store) GC(ctx context.Context, opt GCOptions) (GCReport, error) {
	if opt.Clock == nil {
		opt.Clock = time.Now
	}
	// before is worked out once: what is made while we look is younger, whatever happens.
	g := collector{
		store: s, opt: opt, before: opt.Clock().Add(-gcAge), used: map[blob.Ref]bool{}, seen: map[string]backend.Log{},
	}
	err := g.run(ctx)
	return g.report, err
}

// collector is one collection.
type collector struct {
	store  *Store
	opt    GCOptions
	before time.Time
	report GCReport
	blobs  []string // the folders of blobs
	found  []GCBlob
	// Blobs are listed before references are looked for: one that is put in between is in no list, and stays.
	used map[blob.Ref]bool // what is there, and whether it is referred to
	seen map[string]backend.Log
	// rest is the buffer that files are read into.
	rest []byte
}

func (g *collector) run(ctx context.Context) error {
	// In this order. The other way round a blob could be listed whose reference was written after the looking.
	if err := g.listBlobs(ctx); err != nil {
		return err
	}
	if err := g.listFolders(ctx); err != nil {
		return err
	}
	// Sessions move, and go on, while we look: we look again until there is nothing new.
	for pass := 0; ; pass++ {
		fresh := 0
		for _, folder := range g.report.Folders {
			n, err := g.scan(ctx, folder)
			if err != nil {
				return err
			}
			fresh += n
		}
		// With an obstacle nothing is removed anyway; what was found is still reported.
		if fresh == 0 || len(g.report.Obstacles) > 0 {
			break
		}
		if pass == 20 {
			g.obstacle(errors.New("sessions change faster than they can be read"))
			break
		}
	}
	g.report.Files = len(g.seen)
	g.sort()
	if err := g.sweep(ctx, false); err != nil {
		return err
	}
	if !g.opt.Apply || len(g.report.Obstacles) > 0 {
		return nil
	}
	return g.apply(ctx)
}

func (g *collector) obstacle(err error) { g.report.Obstacles = append(g.report.Obstacles, err) }

// listBlobs lists the blobs of the agents' own folders.
func (g *collector) listBlobs(ctx context.Context) error {
	for _, r := range g.store.agentRoots() {
		if r.Blobs == "" || slices.Contains(g.blobs, r.Blobs) || g.store.opt.OpenBlobs == nil {
			continue
		}
		lister, ok := g.store.opt.OpenBlobs(r.Blobs).(blob.Lister)
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
				Ref: item.Ref, Path: filepath.Join(r.Blobs, item.Ref.Hex()), Size: item.Size, Time: item.Time, item: item, folder: r.Blobs,
			})
		}
		// Blobs without any sessions: more likely the sessions were moved than that all of them were deleted.
		if _, err := os.Stat(r.Sessions); errors.Is(err, fs.ErrNotExist) && len(g.found) > n {
			g.missing(r.Sessions)
		}
	}
	return nil
}

// missing notes a folder that should be there.
func (g *collector) missing(folder string) {
	g.report.Missing = append(g.report.Missing, folder)
	if !g.opt.ForgetMissing {
		g.obstacle(fmt.Errorf("%s: this folder with sessions is not there", folder))
	}
}

// listFolders finds all places where references can be.
func (g *collector) listFolders(ctx context.Context) error {
	add := func(folder string) {
		if !slices.ContainsFunc(g.report.Folders, func(f string) bool { return within(f, folder) }) {
			g.report.Folders = append(g.report.Folders, folder)
		}
	}
	for _, r := range g.store.agentRoots() {
		// One that is there and cannot be read is added: reading it gives the obstacle.
		if _, err := os.Stat(r.Sessions); !errors.Is(err, fs.ErrNotExist) {
			add(r.Sessions)
		}
	}
	noted, err := g.store.Folders(ctx)
	if err != nil {
		return err
	}
	for _, folder := range noted {
		if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
			g.missing(folder)
		} else {
			add(folder)
		}
	}
	if err := g.crumbs(ctx, add); err != nil {
		return err
	}
	// A session in the trash may come back, and wants its pictures.
	if g.store.opt.State != "" {
		add(filepath.Join(g.store.opt.State, trashDir))
	}
	return nil
}

// crumbs adds the folders that terminals used last: agents can be told to keep sessions anywhere.
func (g *collector) crumbs(ctx context.Context, add func(string)) error {
	for _, r := range g.store.agentRoots() {
		if r.Breadcrumbs == "" {
			continue
		}
		b, err := g.store.opt.OpenDir(r.Breadcrumbs)
		if err != nil {
			return err
		}
		for log, err := range b.List(ctx, "") {
			if err != nil {
				g.obstacle(err)
				continue
			}
			content, err := readAll(ctx, b, log)
			if err != nil {
				continue // it is rewritten all the time
			}
			lines := strings.Split(string(content), "\n")
			if len(lines) < 2 || !filepath.IsAbs(lines[1]) {
				continue
			}
			if _, err := os.Stat(lines[1]); err == nil {
				add(filepath.Dir(lines[1]))
			}
		}
		if err := b.Close(); err != nil {
			return err
		}
	}
	return nil
}

// scan looks for references in the files of a folder that are new since the last time, and says how many those were. Every
// file counts, whatever its name: backups, torn ends and exports name blobs as sessions do.
func (g *collector) scan(ctx context.Context, folder string) (fresh int, err error) {
	b, err := g.store.opt.OpenDir(folder)
	if err != nil {
		return 0, err
	}
	defer b.Close()
	for log, err := range b.List(ctx, "") {
		if ctx.Err() != nil {
			return fresh, context.Cause(ctx)
		}
		path := filepath.Join(folder, filepath.FromSlash(log.Name))
		if err != nil {
			g.obstacle(named(path, err))
			continue
		}
		// A file below two folders may be two logs: as it is, and as a driver shows it.
		key := folder + "\x00" + log.Name
		if g.seen[key] == log {
			continue
		}
		fresh++
		err := g.references(ctx, b, log)
		switch {
		case err == nil:
			g.seen[key] = log
		case errors.Is(err, backend.ErrNotExist), errors.Is(err, backend.ErrChanged):
			// It is somewhere else, or something else, now: the next pass will see.
		default:
			g.obstacle(named(path, err))
		}
	}
	return fresh, nil
}

// references marks the blobs that a file names. A hash counts in whatever spelling: as a reference, or as a path. The bytes
// are searched, not decoded: a reference in a damaged record keeps its blob as well.
func (g *collector) references(ctx context.Context, b backend.Backend, at backend.Log) error {
	o, ok := b.(backend.Opener)
	if !ok {
		return errors.New("the backend gives no random access")
	}
	r, err := o.Open(ctx, at)
	if err != nil {
		return err
	}
	defer r.Close()
	const chunk = 1 << 20
	if g.rest == nil {
		g.rest = make([]byte, hashLen+chunk)
	}
	kept := 0 // bytes of the last chunk that may begin a hash
	for offset := int64(0); offset < at.Size; {
		want := min(int64(chunk), at.Size-offset)
		n, err := r.ReadAt(g.rest[kept:kept+int(want)], offset)
		// Shorter than it was: somebody is at work on it, and the next pass looks again.
		if int64(n) < want {
			if err == nil || errors.Is(err, io.EOF) {
				err = backend.ErrChanged
			}
			return err
		}
		text := g.rest[:kept+n]
		markHashes(text, g.used)
		offset += int64(n)
		kept = copy(g.rest, text[max(0, len(text)-hashLen+1):])
	}
	return nil
}

// sort tells blobs that may go from those that stay.
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

// sweep counts, or removes, files half-made. Only files in the making that are older than an hour: a younger one may be
// somebody's.
func (g *collector) sweep(ctx context.Context, remove bool) error {
	if g.store.opt.WriteDir == nil {
		return nil
	}
	g.report.Leftovers = 0
	folders := append(slices.Clone(g.report.Folders), g.blobs...)
	if g.store.opt.State != "" {
		folders = append(folders, g.store.opt.State)
	}
	for i, folder := range folders {
		if slices.ContainsFunc(folders[i+1:], func(above string) bool { return within(above, folder) }) {
			continue // it is done with the one above
		}
		b, err := g.store.opt.WriteDir(folder, DurabilityFlush, nil)
		if err != nil {
			return err
		}
		n := 0
		if sweeper, ok := b.(backend.Sweeper); ok && remove {
			n, err = sweeper.Sweep(ctx, g.before)
		} else if ok {
			n, err = sweeper.Leftovers(ctx, g.before)
		}
		g.report.Leftovers += n
		if err = errors.Join(err, b.Close()); err != nil {
			return err
		}
	}
	return nil
}

// apply removes what was found.
func (g *collector) apply(ctx context.Context) error {
	// What is reported is what went.
	kept := g.report.Unused[:0]
	for _, b := range g.report.Unused {
		lister, ok := g.store.opt.WriteBlobs(b.folder).(blob.Lister)
		if !ok {
			continue
		}
		// It looks at the time once more: a blob that was put again meanwhile has a new one, and stays.
		removed, err := lister.Remove(ctx, b.item, g.before)
		if err != nil {
			return err
		}
		if removed {
			kept = append(kept, b)
		} else {
			g.report.Young++
		}
	}
	g.report.Unused = kept
	if err := g.sweep(ctx, true); err != nil {
		return err
	}
	if len(g.report.Missing) > 0 && g.store.opt.State != "" {
		if err := g.store.forgetFolders(ctx, g.report.Missing); err != nil && !errors.Is(err, backend.ErrNotExist) {
			return err
		}
	}
	g.report.Applied = true
	return nil
}
