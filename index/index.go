// Package index keeps data that is derived from logs, so that lists and searches need not read them again: a catalogue with a summary of
// each session, and signatures that tell which words may occur in which chunk of a log.
//
// Everything here can be deleted at any time. The index knows neither formats nor places: its caller lists the logs, compares
// their stamps with those in the catalogue, reads what changed and puts the result here.
//
// # Files
//
// An Index has a folder of its own with two files and a lock:
//
//	catalogue          all summaries, replaced as a whole by a rename; it has a version and a checksum. Records that did not change
//	                   are copied, and a process decodes those that it needs (Logs). To a large one, what was put is added at the end
//	signatures-<n>     pieces of signatures, appended, with a checksum for each 128 bytes; the catalogue says which of them count
//	lock               held (flock) by the process that changes the two others
//	rows/              what agents' own lists show, a file for each folder of logs (Rows); written without the lock
//
// Texts of sessions (titles, first prompts, models, working directories) are only in the catalogue, so that they disappear with the next
// update after they disappear from the logs; a text that is gone makes the next commit write the whole catalogue. Rows hold texts for
// programs that ask for an agent's own list; they disappear with the next list of their folder, or once a log of the folder is gone.
// Signatures hold hashes and no text. When less than half of the signatures count, those are copied to a file with the next number.
//
// # Crashes and concurrent processes
//
// Nothing is synced: the checksums detect what a crash damages, and it is made again. A process that changes the files takes the lock,
// reads the catalogue again if another process has changed it, and replaces it or adds its own updates. Signatures are appended first,
// after the last byte that the catalogue knows of; bytes that a crash left there are truncated. Every summary has the stamp of the log that
// it was made from, so it does not matter which process wins: an outdated summary is detected at the next refresh.
//
// If the folder cannot be written or locked, the index works in memory.
//
// # Signatures
//
// A Signer makes a signature for about every 64 KB of a log: a Bloom filter over the keys of package word. Package query uses it to find
// the chunks that may contain a match (Kept implements query.Signature). Short logs that are read together share a signature
// (Update.Together).
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

// Options say where an Index is kept. The zero value keeps it in memory.
type Options struct {
	// Dir is the folder, which the first Commit creates; "" keeps the index in memory.
	Dir string
	// Notice receives messages for users about the files: that they are rebuilt, or cannot be kept. Each is sent once. It may be nil.
	Notice func(string)
	// LockWait is how long Commit waits for another process; 0 means 2 seconds.
	LockWait time.Duration
	// Garbage is the size from which the signatures are compacted when less than half of them count; 0 means 1 MB.
	Garbage int64
	// Whole is the size of the catalogue up to which every commit writes all of it; 0 means 256 KB.
	Whole int64
	// FS is the file system; nil means that of the operating system.
	FS durable.FS
	// Wait returns after that time, or with the cause when ctx is cancelled; nil waits in real time.
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
	if o.Whole == 0 {
		o.Whole = 256 << 10
	}
	if o.FS == nil {
		o.FS = durable.OS{}
	}
	if o.Wait == nil {
		o.Wait = durable.Wait
	}
}

// Index is the derived data of a machine. Its methods are safe for concurrent use.
type Index struct {
	opt Options
	fs  durable.FS // without syncs

	sweepRows sync.Once

	mu sync.Mutex
	// mu guards all that follows. Catalogues are immutable once they are returned.
	loaded bool
	kept   *Catalogue   // as in the file
	seen   durable.Info // of the file
	now    *Catalogue   // kept with all updates of staged but the last fresh ones
	staged []Update
	fresh  int // number of updates at the end of staged that are not in now
	// waiting counts the logs in staged.
	waiting int
	sigs    signatures
	odd     error // what is at the catalogue's path is not a file; Commit moves it
	lost    bool  // the index cannot be kept: this was reported, and is tried again after some commits
	missed  int   // number of commits since then
	// damaged: damage in the signatures was reported.
	damaged bool
	// remembered is how many bytes the last remember kept.
	remembered int
}

// Open returns the index in a folder. It reads and creates nothing yet.
func Open(opt Options) *Index {
	opt.fill()
	return &Index{opt: opt, fs: durable.Unsynced(opt.FS)}
}

// Update is what is new about the logs of one source.
type Update struct {
	// Source is the key of the source; see Source.
	Source string
	// Put are logs that are new or changed.
	Put []Log
	// Together, if set, is the signature of all logs in Put. They then have no chunks of their own with signatures: a log that has text has
	// one chunk, which says where. A short log alone would need a signature nearly as large as that of ten.
	Together *Chunk
	// Remove names logs that are gone.
	Remove []string
	// Forget removes the whole source before anything is put.
	Forget bool
	// Compare are groups that a Shared index must have compared after this update, Compared those that were compared for it.
	Compare, Compared []Group
}

// Catalogue returns all that is known. The first call reads the files; if they are damaged or of another version, it starts
// empty and sends a notice. A catalogue never changes; a later call returns another one. Updates are merged here and not in
// Put, so that putting a thousand logs one by one does not copy the catalogue a thousand times.
func (x *Index) Catalogue() *Catalogue {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.load()
	x.merge()
	return x.now
}

// merge merges the last updates into the catalogue.
func (x *Index) merge() {
	if x.fresh > 0 {
		x.now = x.now.with(x.staged[len(x.staged)-x.fresh:])
		x.fresh = 0
	}
}

// Put adds updates. Catalogue shows them at once, and the next Commit keeps them. Put copies the chunks; the caller must not
// change anything else afterwards.
func (x *Index) Put(updates ...Update) {
	if len(updates) == 0 {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.load()
	for i := range updates {
		x.sigs.hold(updates[i].Put, updates[i].Together)
		x.waiting += len(updates[i].Put)
	}
	x.staged = append(x.staged, updates...)
	x.fresh += len(updates)
}

// Pending returns about how many bytes wait for a Commit.
func (x *Index) Pending() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.pending()
}

func (x *Index) pending() int {
	const usual = 1000 // bytes of a log's record
	return len(x.sigs.held) + usual*x.waiting
}

// load reads the files, once.
func (x *Index) load() {
	if x.loaded {
		return
	}
	// Set even if reading fails, so that the failure is reported once and not at each call.
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

// read reads the catalogue in the folder; it is empty if it cannot be read. Another process may replace it, and remove the
// signatures that it names, before they are opened; then the new one is read.
func (x *Index) read() { x.readOnce(3) }

func (x *Index) readOnce(tries int) {
	// seen describes the file that was opened, not what its name refers to later; commit compares it with the name.
	x.kept, x.seen, x.odd = new(Catalogue), durable.Info{}, nil
	x.sigs.close()
	data, info, err := x.readFile(x.path(catalogueName))
	x.seen = info
	// No notice: every index begins like this. With ENOTDIR a part of the path is a file; Commit reports that when it cannot create the
	// folder.
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
		x.opt.Notice(fmt.Sprintf("the index in %s is rebuilt: %v", x.opt.Dir, err))
		x.kept.generation = x.unused()
		return
	}
	x.kept = c
}

// unused returns the first generation without a file. Existing files may be in use by other processes, or a catalogue that could not be
// read may name them with another length.
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

// readFile reads a whole file, and returns its identity.
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
	// A short read is an error: the catalogue is replaced and never truncated.
	if _, err = f.ReadAt(data, 0); err != nil {
		return nil, info, err
	}
	return data, info, nil
}

// Close closes the files and drops what was not committed. It may be called twice. A later call of another method opens the
// files again.
func (x *Index) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sigs.close()
	x.loaded, x.now, x.kept, x.staged, x.fresh, x.waiting, x.sigs.held, x.remembered = false, nil, nil, nil, 0, 0, nil, 0
	return nil
}
