package litefile

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/treeline-dev/treeline/internal/durable"
)

// Followed is a database of another program that is read again and again, without a trace. It is opened for reading only, takes no lock and
// creates no file beside it. What the program committed to its write-ahead log is overlaid on the file in memory. The cost of a change is
// proportional to what it wrote, however large the database is. Only if the program moves pages into the file faster than they are read, a
// copy is read; see capture.
//
// It is not safe for concurrent use.
type Followed struct {
	path string
	fsys durable.FS

	stamp    Stamp
	looked   int64 // when the stamp was taken, in nanoseconds since 1970
	file     *os.File
	log      *os.File // nil: there is none
	pageSize int
	logged   bool // the database has a log, which may not exist at the moment
	wal      wal
	now      *Snapshot
	base     *Snapshot // the last one for which Read succeeded, nil if it cannot be compared with
	wrote    []uint32  // pages written since base
}

// Follow returns a Followed for a database, which need not exist.
func Follow(fsys durable.FS, path string) *Followed { return &Followed{path: path, fsys: fsys} }

// Snapshot is a database after one of its transactions. It can be used until the next call of Followed.Read.
type Snapshot struct {
	// Wrote are the pages that were written since Before, the Snapshot of the last successful Read. Before is nil if they are unknown.
	Wrote  []uint32
	Before *Snapshot

	file, log io.ReaderAt // log is nil if there is none
	pageSize  int
	pages     map[uint32]int64
	count     uint32 // number of pages
	start     Stamp
	salts     [8]byte
	copied    *DB      // a copy that is read instead
	kept      *capture // file and log are copies

	once sync.Once
	name string
	db   *DB
	err  error
}

// Read calls read with the database as it is now. If the program moved pages from its log into the database meanwhile, it calls read again:
// what read saw before does not count. If that takes too long, it calls read once more, with a copy. If nothing was committed since, the
// Snapshot is that of the last successful Read. It fails with fs.ErrNotExist if there is no database. An empty file has no page: the
// Snapshot is nil.
func (f *Followed) Read(ctx context.Context, read func(*Snapshot) error) error {
	const tries = 1000
	begun := time.Now()
	for try := range tries {
		snap, err := f.look()
		if err != nil {
			return err
		}
		if snap == nil {
			return read(nil)
		}
		if f.log != nil && time.Since(begun) > patience {
			switch kept, err := f.capture(ctx); {
			case err == nil && kept != nil:
				snap = kept
			case errors.Is(err, errOvertaken):
				if err := Pause(ctx, 0); err != nil {
					return err
				}
				continue
			case err != nil:
				return err
			}
		}
		if !f.recent(snap) {
			err = read(snap)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if f.stands(snap) {
				if err == nil {
					f.base, f.wrote, snap.Before = snap, nil, nil
				}
				return err
			}
			f.renew()
		}
		if err := Pause(ctx, try); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: %w", f.path, ErrRestless)
}

// Close closes the files.
func (f *Followed) Close() error {
	f.drop()
	return nil
}

// patience is how long a read is repeated before it uses a copy.
const patience = 100 * time.Millisecond

// racy is how long after a write to the database a further write might not show in its time.
const racy = 20 * time.Millisecond

// recent reports whether the database had been written just before it was looked at. How long ago that is now does not matter:
// the program may have written again before the log was read to its end, or after it.
func (f *Followed) recent(s *Snapshot) bool {
	age := f.looked - s.start.DB.Nanos
	return s.copied == nil && s.kept == nil && age >= 0 && age < int64(racy)
}

// look returns the database as it is now.
func (f *Followed) look() (*Snapshot, error) {
	stamp, err := StampOf(f.fsys, f.path)
	if err != nil {
		f.drop()
		return nil, err
	}
	f.looked = time.Now().UnixNano()
	if f.now != nil && f.now.copied == nil && f.now.kept == nil && stamp.Journal.Size == 0 {
		if err := f.followLog(stamp); err != nil {
			return nil, err
		}
		if f.same(stamp) {
			return f.grow(stamp)
		}
	}
	f.drop()
	switch {
	case stamp.DB.Size == 0 && stamp.WAL.Size == 0:
		return nil, nil
	case stamp.Journal.Size > 0:
		return f.copy(stamp)
	}
	return f.begin(stamp)
}

// followLog opens a log that was empty, or did not exist: all that changed since is in it.
func (f *Followed) followLog(stamp Stamp) (err error) {
	if !f.logged || f.wal.frames > 0 || stamp.DB != f.stamp.DB || stamp.WAL == f.stamp.WAL {
		return nil
	}
	if f.log != nil {
		_ = f.log.Close()
	}
	if f.log, err = openWAL(f.path); err == nil && f.log != nil {
		f.stamp.WAL = stamp.WAL
		f.wal.begin(f.log, f.pageSize)
	}
	return err
}

// same reports whether everything that was read is still there, so that only what was added to the log since is new. Pages that were moved
// from the log into the database do not matter: they are still read from the log.
func (f *Followed) same(stamp Stamp) bool {
	if !stamp.DB.SameFile(f.stamp.DB) || f.log == nil && stamp.DB != f.stamp.DB {
		return false
	}
	if f.log == nil || f.wal.salts == [8]byte{} {
		return stamp == f.stamp
	}
	// A stamp does not show this: a log that was removed and made anew may have the inode of an earlier one.
	salt, ok := salts(f.log)
	return ok && salt == f.wal.salts && f.unreplaced() == nil
}

// begin opens the files.
func (f *Followed) begin(stamp Stamp) (_ *Snapshot, err error) {
	defer func() {
		if err != nil {
			f.drop()
		}
	}()
	f.stamp = stamp
	if f.file, err = durable.OpenRegular(f.path); err != nil {
		return nil, err
	}
	var h [100]byte
	if _, err := f.file.ReadAt(h[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	f.pageSize = int(binary.BigEndian.Uint16(h[16:]))
	if f.pageSize == 1 {
		f.pageSize = 65536
	}
	if string(h[:16]) != "SQLite format 3\x00" || f.pageSize < 512 || f.pageSize&(f.pageSize-1) != 0 {
		return nil, &fs.PathError{Op: "read", Path: f.path, Err: ErrNotDatabase}
	}
	f.wal, f.logged = wal{}, h[18] == 2 || h[19] == 2
	if f.logged {
		if f.log, err = openWAL(f.path); err != nil {
			return nil, err
		}
		if f.log != nil {
			f.wal.begin(f.log, f.pageSize)
			if _, err := f.wal.extend(f.log); err != nil {
				return nil, err
			}
		}
	}
	f.now = f.snapshot()
	return f.now, nil
}

// ErrNotDatabase is the error for a file that is not a database.
var ErrNotDatabase = errors.New("it is not a SQLite database")

// grow adds the transactions that were committed since.
func (f *Followed) grow(stamp Stamp) (*Snapshot, error) {
	f.stamp = stamp
	if f.log == nil {
		return f.now, nil
	}
	wrote, err := f.wal.extend(f.log)
	if err != nil {
		f.drop()
		return nil, err
	}
	// What Read succeeded with is of one moment, and stays so while pages of the log are moved. Any other snapshot was begun
	// with the old stamp: the program may have moved pages of an earlier run since, so that even its length is wrong.
	if len(wrote) == 0 && (f.now == f.base || stamp.DB == f.now.start.DB) {
		f.now.start = stamp
		return f.now, nil
	}
	f.wrote = slices.Compact(slices.Sorted(slices.Values(append(f.wrote, wrote...))))
	f.renew()
	return f.now, nil
}

// renew replaces the snapshot: SQLite may have cached pages of another moment.
func (f *Followed) renew() {
	f.now.close()
	if f.now.copied != nil {
		f.drop()
		return
	}
	f.now = f.snapshot()
	// Once pages were moved into the database, their old content is gone.
	if f.base != nil && f.base.start.DB == f.stamp.DB {
		f.now.Wrote, f.now.Before = f.wrote, f.base
	}
}

func (f *Followed) snapshot() *Snapshot {
	s := &Snapshot{file: f.file, pageSize: f.pageSize, pages: f.wal.pages, count: f.wal.size, start: f.stamp, salts: f.wal.salts}
	if f.log != nil {
		s.log = f.log
	}
	if s.count == 0 {
		s.count = uint32(f.stamp.DB.Size / int64(f.pageSize))
	}
	return s
}

// copy reads a copy: a pending rollback journal has to be played back first.
func (f *Followed) copy(stamp Stamp) (*Snapshot, error) {
	db, err := Read(f.path, stamp, Reading{Copy: true, Wait: true})
	if err != nil {
		return nil, err
	}
	s := &Snapshot{start: stamp, copied: db, db: db}
	s.once.Do(func() {})
	f.stamp, f.now = stamp, s
	return s, nil
}

// stands reports whether everything that was read through a snapshot is of one moment: no page was moved from the log into the database,
// and the log was not restarted.
func (f *Followed) stands(s *Snapshot) bool {
	if s.kept != nil {
		return true
	}
	now, err := StampOf(f.fsys, f.path)
	if err != nil || now.DB != s.start.DB || now.Journal != s.start.Journal {
		return false
	}
	if s.copied != nil {
		return now == s.start
	}
	if s.log == nil {
		return true // a new log has not changed the database yet
	}
	salt, ok := salts(s.log)
	return salt == s.salts || !ok && s.salts == [8]byte{}
}

// drop closes everything.
func (f *Followed) drop() {
	if f.now != nil {
		f.now.close()
	}
	f.now, f.base, f.wrote = nil, nil, nil
	if f.file != nil {
		inUse.closeFile(idOf(f.stamp.DB), f.file)
		f.file = nil
	}
	if f.log != nil {
		_ = f.log.Close()
		f.log = nil
	}
}

// Size returns the length of the database in bytes.
func (s *Snapshot) Size() int64 { return int64(s.count) * int64(s.pageSize) }

// ReadAt implements io.ReaderAt for the database.
func (s *Snapshot) ReadAt(p []byte, at int64) (n int, err error) {
	for n < len(p) {
		page, in := uint32(at/int64(s.pageSize)), int(at%int64(s.pageSize))
		if page >= s.count {
			return n, io.EOF
		}
		part := p[n:min(len(p), n+s.pageSize-in)]
		var k int
		if from, ok := s.pages[page+1]; ok {
			k, err = s.log.ReadAt(part, from+int64(in))
		} else {
			k, err = s.file.ReadAt(part, at)
		}
		n, at = n+k, at+int64(k)
		if k < len(part) {
			return n, err
		}
	}
	return n, nil
}

// DB returns the database for queries. Its errors do not name the file.
func (s *Snapshot) DB() (*DB, error) {
	s.once.Do(func() {
		var at string
		if at, s.err = registered(); s.err != nil {
			return
		}
		s.name = snapshots.add(s)
		// The file system has no other files: what SQLite sorts stays in memory.
		s.db, s.err = connect("file:"+s.name, 1, url.Values{"mode": {"ro"}, "immutable": {"1"}, "vfs": {at}, "_pragma": {"temp_store(MEMORY)"}})
	})
	return s.db, s.err
}

func (s *Snapshot) close() {
	s.once.Do(func() {})
	if s.db != nil {
		_ = s.db.Close()
		s.db = nil
	}
	if s.name != "" {
		snapshots.remove(s.name)
	}
	if s.kept != nil {
		_ = s.kept.Close()
	}
}
