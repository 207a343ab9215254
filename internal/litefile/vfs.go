package litefile

import (
	"io"
	"io/fs"
	"strconv"
	"sync"
	"time"

	"modernc.org/sqlite/vfs"
)

// SQLite reads snapshots through a file system of their own, in which each is a file named by a number.
type snapshotFS struct {
	mu    sync.Mutex
	last  int
	files map[string]*Snapshot
}

// snapshots is global because SQLite's list of file systems is.
var snapshots = snapshotFS{files: map[string]*Snapshot{}}

// registered returns the name under which SQLite knows the snapshots.
var registered = sync.OnceValues(func() (string, error) {
	name, _, err := vfs.New(&snapshots)
	return name, err
})

// add adds a snapshot and returns its name.
func (s *snapshotFS) add(snap *Snapshot) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	name := "snapshot-" + strconv.Itoa(s.last)
	s.files[name] = snap
	return name
}

func (s *snapshotFS) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.files, name)
}

// Open implements fs.FS.
func (s *snapshotFS) Open(name string) (fs.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	snap := s.files[name]
	if snap == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &snapshotFile{Snapshot: snap, name: name}, nil
}

// snapshotFile is a snapshot as SQLite reads it.
type snapshotFile struct {
	*Snapshot
	name string
	at   int64
}

// Seek implements io.Seeker, from the start only.
func (f *snapshotFile) Seek(offset int64, whence int) (int64, error) {
	if whence != io.SeekStart {
		return 0, fs.ErrInvalid
	}
	f.at = offset
	return offset, nil
}

// Read implements io.Reader.
func (f *snapshotFile) Read(p []byte) (int, error) {
	n, err := f.ReadAt(p, f.at)
	f.at += int64(n)
	return n, err
}

// Close implements fs.File. The snapshot stays.
func (f *snapshotFile) Close() error { return nil }

// Stat implements fs.File.
func (f *snapshotFile) Stat() (fs.FileInfo, error) { return snapshotInfo{f}, nil }

// snapshotInfo describes the file of a snapshot.
type snapshotInfo struct{ f *snapshotFile }

func (i snapshotInfo) Name() string       { return i.f.name }
func (i snapshotInfo) Size() int64        { return i.f.Snapshot.Size() }
func (i snapshotInfo) Mode() fs.FileMode  { return 0o400 }
func (i snapshotInfo) ModTime() time.Time { return time.Time{} }
func (i snapshotInfo) IsDir() bool        { return false }
func (i snapshotInfo) Sys() any           { return nil }
