package durable

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// TempPrefix is the prefix of temporary files. They are in the folder of the file that they become, since a rename cannot cross file
// systems. A crash may leave one; an old one may be removed.
const TempPrefix = ".treeline-tmp-"

// tempTries is how many numbers are tried for the name of a temporary file. If all are taken, by crashes or intentionally by another
// program, its name is random.
const tempTries = 100

// Replace replaces the content of a file atomically and durably: a reader, now or after a crash, finds the whole old file
// or the whole new one. The mode is that of the old file, or perm for a new file. It returns the Info of the new file,
// without Info.Changed, since the rename changes it. After an error the old file is in place, except if the last step, the
// sync of the folder, failed: then the new file is in place, and a crash may undo that.
func Replace(fsys FS, path string, perm fs.FileMode, content io.Reader) (Info, error) {
	return ReplaceGrowing(fsys, path, perm, content, nothing)
}

// ReplaceGrowing is Replace of a file that other programs may append to. When content is durable, it calls more, writes and syncs the
// result, and repeats that until more returns nothing; the rename follows at once. An error of more ends it, and the old file stays.
func ReplaceGrowing(fsys FS, path string, perm fs.FileMode, content io.Reader, more func() ([]byte, error)) (Info, error) {
	if old, err := fsys.Stat(path); err == nil {
		perm = old.Mode.Perm()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return Info{}, err
	}
	temp, info, err := stage(fsys, filepath.Dir(path), perm, content, more)
	if err != nil {
		return Info{}, err
	}
	if err := fsys.Rename(temp, path); err != nil {
		_ = fsys.Remove(temp)
		return Info{}, err
	}
	// Until the folder is synced a crash may undo the rename.
	return info, fsys.SyncDir(filepath.Dir(path))
}

// Create makes a new file atomically and durably: a reader never sees a part of it. It fails with fs.ErrExist if the name is taken. If the
// sync of the folder fails, the file is in place, as in Replace.
func Create(fsys FS, path string, perm fs.FileMode, content io.Reader) (Info, error) {
	return CreateDated(fsys, path, perm, content, time.Time{})
}

// CreateDated is Create of a file that was last modified at a time, unless that is zero or fsys is no Dater. The file has its time before
// its name, so that it is not set after another program has written to the file. A loss of power may lose the time.
func CreateDated(fsys FS, path string, perm fs.FileMode, content io.Reader, at time.Time) (Info, error) {
	dir := filepath.Dir(path)
	temp, info, err := stage(fsys, dir, perm, content, nothing)
	if err != nil {
		return Info{}, err
	}
	if d, ok := fsys.(Dater); ok && !at.IsZero() && d.SetModified(temp, at) == nil { // a file system without times is no reason to fail
		if dated, err := fsys.Stat(temp); err == nil {
			info.Nanos = dated.Nanos
		}
	}
	// Unlike a rename, a link does not replace a file.
	err = fsys.Link(temp, path)
	if cannotLink(err) {
		// Some file systems (FAT, some network shares) have no links. There, a file of that name created between the
		// stat and the rename is lost. Names of new logs are unique, so this does not happen by accident.
		if _, err = fsys.Stat(path); err == nil {
			err = &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
		} else if errors.Is(err, fs.ErrNotExist) {
			err = fsys.Rename(temp, path)
		}
		if err == nil {
			return info, fsys.SyncDir(dir)
		}
	}
	// If the temporary name cannot be removed, it stays. The file is complete all the same.
	_ = fsys.Remove(temp)
	if err != nil {
		return Info{}, err
	}
	return info, fsys.SyncDir(dir)
}

// cannotLink reports whether a file system has no links. Such file systems return different errors.
func cannotLink(err error) bool {
	return err != nil && (errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EPERM) ||
		errors.Is(err, syscall.EMLINK) || errors.Is(err, syscall.EINVAL))
}

// nothing is more for content that does not grow.
func nothing() ([]byte, error) { return nil, nil }

// stage writes content, and then what more returns, to a temporary file in the folder and returns its path. The bytes are
// durable, the name is not.
func stage(fsys FS, dir string, perm fs.FileMode, content io.Reader, more func() ([]byte, error)) (path string, info Info, err error) {
	// The name is unique, so that two processes that replace the same file do not write into one temporary file.
	f, path, err := temp(fsys, dir, perm)
	if err != nil {
		return "", Info{}, err
	}
	defer func() {
		if err != nil {
			_ = fsys.Remove(path)
		}
	}()
	size := int64(0)
	for content != nil && err == nil {
		n := int64(0)
		n, err = io.Copy(f, content)
		size += n
		// The length is checked because some systems report a full disk or a quota in no other way.
		if err == nil {
			if info, err = f.Stat(); err == nil && info.Size != size {
				err = fmt.Errorf("%s: %d bytes were written and %d are there: %w", path, size, info.Size, io.ErrShortWrite)
			}
		}
		// Synced before it gets its name: otherwise a crash may leave the name with an empty file.
		if err == nil {
			err = f.Sync(All)
		}
		var next []byte
		if err == nil {
			next, err = more()
		}
		if content = nil; len(next) > 0 {
			content = bytes.NewReader(next)
		}
	}
	// Closed before it gets its name: some file systems report a failed write only at close, and some cannot rename an
	// open file.
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	info.Changed = 0 // the rename will change it
	return path, info, err
}

// temp creates a temporary file with the first free number, so that tests always see the same names.
func temp(fsys FS, dir string, perm fs.FileMode) (File, string, error) {
	for try := 0; ; try++ {
		path := filepath.Join(dir, TempPrefix+strconv.Itoa(try))
		if try >= tempTries {
			path = filepath.Join(dir, TempPrefix+rand.Text())
		}
		// Exclusive: whatever has the name, even a link that leads nowhere, is not opened.
		f, err := fsys.Open(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
		if !errors.Is(err, fs.ErrExist) || try > tempTries {
			if at := (*fs.PathError)(nil); errors.As(err, &at) { // the temporary name would tell a user nothing
				err = &fs.PathError{Op: "create a file in", Path: dir, Err: at.Err}
			}
			return f, path, err
		}
	}
}

// MkdirAll durably makes a folder and the missing folders above it. It syncs from the top down, so that a crash cannot lose
// the name of a folder above a durable one.
func MkdirAll(fsys FS, dir string, perm fs.FileMode) error {
	info, err := fsys.Stat(dir)
	if err == nil && !info.Mode.IsDir() {
		return &fs.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOTDIR}
	}
	above := filepath.Dir(dir)
	if !errors.Is(err, fs.ErrNotExist) || above == dir {
		return err
	}
	if err := MkdirAll(fsys, above, perm); err != nil {
		return err
	}
	// Another process may have made it just now, and not synced it yet.
	if err := fsys.Mkdir(dir, perm); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return fsys.SyncDir(above)
}

// Unsynced returns fsys without its syncs: writes survive a crash of the process, but not of the machine. It is for derived
// data, and for DurabilityNone.
func Unsynced(fsys FS) FS { return unsynced{fsys} }

type unsynced struct{ FS }

func (u unsynced) Open(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := u.FS.Open(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return unsyncedFile{f}, nil
}

func (unsynced) SyncDir(string) error { return nil }

// SetModified implements Dater if the file system does.
func (u unsynced) SetModified(name string, at time.Time) error {
	if d, ok := u.FS.(Dater); ok {
		return d.SetModified(name, at)
	}
	return errors.ErrUnsupported
}

type unsyncedFile struct{ File }

func (unsyncedFile) Sync(Scope) error { return nil }

// Map implements Mapper if the file does.
func (f unsyncedFile) Map(from, size int64) ([]byte, func() error, error) {
	if m, ok := f.File.(Mapper); ok {
		return m.Map(from, size)
	}
	return nil, nil, errors.ErrUnsupported
}
