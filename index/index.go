package index

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/treeline-dev/treeline/internal/durable"
)

// Options say where an Index is kept. The zero value is one in memory.
type Options struct {
	// Dir is the folder, made when something is first kept; "" keeps nothing.
	Dir string
	// Notice is told, in words for people, what is wrong with the files: that they are made anew, or cannot be kept. Each
	// thing is said once. It may be nil.
	Notice func(string)
	// LockWait is how long Commit waits for another process; 0 means 2 seconds.
	LockWait time.Duration
	// Garbage is how many bytes the signatures may have before those that count are copied, where that is less than half of
	// them; 0 means 1 MB.
	Garbage int64
	// FS is the file system; nil means that of the operating system.
	FS durable.FS
	// Wait returns after that time, or when ctx is cancelled, with its cause; nil means real waiting.
	Wait func(ctx context.Context, d time.Duration) error
}

func (o *Options) fill() {
	if o.Notice == nil {
		o.Notice = func(string) {}
	}
	if o.LockWait == 0 {
		o.LockWait = 2 * time.Second
	}
	if o.Garbage == 0 {
		o.Garbage = 1 << 20
	}
	if o.FS == nil {
		o.FS = durable.OS{}
	}
	if o.Wait == nil {
		o.Wait = durable.Wait
	}
}

// Index is the derived data of a machine. Its methods may be called from several goroutines at once.
type Index struct {
	opt Options
	fs  durable.FS // without syncs

	mu sync.Mutex
	// All that follows is guarded by mu. Catalogues are not: they never change once they are handed out.
	loaded bool
	kept   *Catalogue   // as the file has it
	seen   durable.Info // of the file
	now    *Catalogue   // kept, with the first updates of staged
	staged []Update
	fresh  int // updates at the end of staged that are not in now yet
	sigs   signatures
	odd    error // something that is no file stands in the catalogue's place; Commit says what became of it
	lost   bool  // it cannot be kept: said, and not tried again
	// damaged: pieces of the signatures are not what was written, which was said.
	damaged bool
}

// Open gives the index in a folder. Nothing is read or made yet.
func Open(opt Options) *Index {
	opt.fill()
	return &Index{opt: opt, fs: durable.Unsynced(opt.FS)}
}

// Update is what was found out about the logs of one source.
type Update struct {
	// Source is the key of the source; see Source.
	Source string
	// Put are logs that are new or changed.
	Put []Log
	// Remove names logs that are gone.
	Remove []string
	// Forget takes the whole source away, before anything is put.
	Forget bool
}

// Catalogue gives all that is known. What the files hold is read at the first call; files that are damaged, or of another
// version, count as none, and that is said. The catalogue is never changed: a later call gives another one. Updates are
// taken in here and not by Put: one who puts a thousand logs one by one would copy the catalogue a thousand times.
func (x *Index) Catalogue() *Catalogue {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.load()
	if x.fresh > 0 {
		x.now = x.now.with(x.staged[len(x.staged)-x.fresh:])
		x.fresh = 0
	}
	return x.now
}

// Put adds what was found out. It is known at once and kept with the next Commit. Chunks are copied; all else must not be
// changed any more.
func (x *Index) Put(updates ...Update) {
	if len(updates) == 0 {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.load()
	for i := range updates {
		x.sigs.hold(updates[i].Put)
	}
	x.staged = append(x.staged, updates...)
	x.fresh += len(updates)
}

// Pending says how many bytes of signatures wait for a Commit.
func (x *Index) Pending() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.sigs.held)
}

// load reads the files, once.
func (x *Index) load() {
	if x.loaded {
		return
	}
	// Also where reading fails: what cannot be read is said once, and not tried at each call.
	x.loaded = true
	x.kept, x.now = new(Catalogue), nil
	if x.opt.Dir != "" {
		x.read()
	}
	x.now = x.kept
}

const (
	catalogueName = "catalogue"
	lockName      = "lock"
)

func (x *Index) path(name string) string { return filepath.Join(x.opt.Dir, name) }

// read reads the catalogue that is kept. What cannot be read is none. Another process may replace it, and remove the signatures
// that it names, before we have opened them: then the new one is read.
func (x *Index) read() { x.readOnce(3) }

func (x *Index) readOnce(tries int) {
	// seen is of the file that was opened, not of what its name means later: a commit compares it with the name.
	x.kept, x.seen, x.odd = new(Catalogue), durable.Info{}, nil
	x.sigs.close()
	data, info, err := x.readFile(x.path(catalogueName))
	x.seen = info
	// Nothing is said: this is how every index begins. With ENOTDIR a part of the path is a file; Commit says so when it
	// cannot make the folder.
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		x.kept.generation = x.unused()
		return
	}
	if errors.Is(err, errNotFile) {
		x.odd, x.kept.generation = err, x.unused()
		return
	}
	var c *Catalogue
	if err == nil {
		c, err = decodeCatalogue(data)
	}
	if err == nil {
		err = x.sigs.open(x.fs, x.path(signaturesName(c.generation)), c.signatures)
	}
	if err != nil && tries > 0 && !x.unchanged() {
		x.readOnce(tries - 1)
		return
	}
	if err != nil {
		x.opt.Notice(fmt.Sprintf("the index in %s is made anew: %v", x.opt.Dir, err))
		x.kept.generation = x.unused()
		return
	}
	x.kept = c
}

// unused gives the first generation that no file of signatures has: others may be reading those that there are. Nor may a
// file be appended to that a catalogue which we could not read names with another length.
func (x *Index) unused() (next uint64) {
	entries, err := x.fs.ReadDir(x.opt.Dir)
	if err != nil {
		return 0
	}
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), signaturesPrefix)
		if n, err := strconv.ParseUint(number, 10, 32); ok && err == nil {
			next = max(next, n+1)
		}
	}
	return next
}

var errNotFile = errors.New("not a file")

// readFile reads a file whole, and says which one it was.
func (x *Index) readFile(path string) ([]byte, durable.Info, error) {
	f, err := x.fs.Open(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, durable.Info{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, info, err
	}
	if !info.Mode.IsRegular() {
		return nil, info, fmt.Errorf("%s is %w", path, errNotFile)
	}
	data := make([]byte, info.Size)
	// No shorter read is taken: the file is replaced and never truncated, so that one that became shorter is somebody
	// else's work.
	if _, err = f.ReadAt(data, 0); err != nil {
		return nil, info, err
	}
	return data, info, nil
}

// Close gives up what is open. What was not committed is lost.
func (x *Index) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sigs.close()
	x.loaded, x.now, x.kept, x.staged, x.fresh, x.sigs.held = false, nil, nil, nil, 0, nil
	return nil
}
