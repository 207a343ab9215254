package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// TempPrefix begins the names of files in the making. They lie in the folder of the file that they become, because a
// rename across file systems is a copy; after a crash one may be left over, and whoever finds an old one may remove it.
const TempPrefix = ".treeline-tmp-"

// tempTries is how many files in the making one folder can have at once, left-overs included.
const tempTries = 10_000

// Replace puts content in the place of the file, atomically and lastingly: whoever looks, now or after a crash, finds the
// old file or the new one, whole. The mode is that of the old file, or perm where there is none. It returns what the new
// file is, but for Info.Changed: that it got its name is a change too. After an error the old file is in place, with one exception: an error of the last step (the folder's sync)
// leaves the new one, which a crash may take back.
func Replace(fsys FS, path string, perm fs.FileMode, content io.Reader) (Info, error) {
	if old, err := fsys.Stat(path); err == nil {
		perm = old.Mode.Perm()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return Info{}, err
	}
	temp, info, err := stage(fsys, filepath.Dir(path), perm, content)
	if err != nil {
		return Info{}, err
	}
	// The name now changes hands in one step.
	if err := fsys.Rename(temp, path); err != nil {
		_ = fsys.Remove(temp)
		return Info{}, err
	}
	// Until the folder is synced the step may be undone by a crash, and what is said to be written would be gone.
	return info, fsys.SyncDir(filepath.Dir(path))
}

// Create makes a file that did not exist, atomically and lastingly: nobody ever sees a part of it. fs.ErrExist where the
// name is taken; an error of the folder's sync leaves the file, as in Replace.
func Create(fsys FS, path string, perm fs.FileMode, content io.Reader) (Info, error) {
	dir := filepath.Dir(path)
	temp, info, err := stage(fsys, dir, perm, content)
	if err != nil {
		return Info{}, err
	}
	// A link, unlike a rename, refuses a name that is taken.
	err = fsys.Link(temp, path)
	if cannotLink(err) {
		// Some file systems (FAT, some network shares) know no links. What is left is to look and then to rename:
		// somebody who makes the same name between the two loses his file. Names of new logs are unique, so that
		// takes intent.
		if _, err = fsys.Stat(path); err == nil {
			err = &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
		} else if errors.Is(err, fs.ErrNotExist) {
			err = fsys.Rename(temp, path)
		}
		if err == nil {
			return info, fsys.SyncDir(dir)
		}
	}
	// The name that the file had in the making goes, whatever became of it. Where that does not work it stays behind:
	// the file is complete all the same.
	_ = fsys.Remove(temp)
	if err != nil {
		return Info{}, err
	}
	return info, fsys.SyncDir(dir)
}

// What a file system answers that knows no links differs from one to the next.
func cannotLink(err error) bool {
	return err != nil && (errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EPERM) ||
		errors.Is(err, syscall.EMLINK) || errors.Is(err, syscall.EINVAL))
}

// stage writes content to a new file in the folder and returns its path when the bytes, not yet the name, are lasting.
// In this order, for these reasons:
func stage(fsys FS, dir string, perm fs.FileMode, content io.Reader) (path string, info Info, err error) {
	// A name of its own, so that two who replace the same file do not write into one another's.
	f, path, err := temp(fsys, dir, perm)
	if err != nil {
		return "", Info{}, err
	}
	defer func() {
		if err != nil {
			_ = fsys.Remove(path)
		}
	}()
	n, err := io.Copy(f, content)
	// The length is checked because a full disk, or a quota, has been known to be reported by nothing else.
	if err == nil {
		if info, err = f.Stat(); err == nil && info.Size != n {
			err = fmt.Errorf("%s: %d bytes were written and %d are there: %w", path, n, info.Size, io.ErrShortWrite)
		}
	}
	// Synced before it gets its name: otherwise a crash may leave the name with an empty file behind it.
	if err == nil {
		err = f.Sync(All)
	}
	// Closed before it gets its name: some file systems report a failed write only now, and some cannot rename a file
	// that is open.
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	info.Changed = 0 // what is done to its name is still to come
	return path, info, err
}

// temp makes a new file. Its number is the first that is free: no chance, no clock, so tests see the same names always.
func temp(fsys FS, dir string, perm fs.FileMode) (File, string, error) {
	for try := range tempTries {
		path := filepath.Join(dir, TempPrefix+strconv.Itoa(try))
		f, err := fsys.Open(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
		if !errors.Is(err, fs.ErrExist) {
			return f, path, err
		}
	}
	return nil, "", fmt.Errorf("%s: too many left-over files %s*", dir, TempPrefix)
}

// MkdirAll makes the folder and those above it where they are missing, lastingly.
// Each folder's name is synced in the one above it, from the top down: a crash must not leave a folder below a
// name that is lost.
func MkdirAll(fsys FS, dir string, perm fs.FileMode) error {
	info, err := fsys.Stat(dir)
	if err == nil {
		if !info.Mode.IsDir() {
			return &fs.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOTDIR}
		}
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	above := filepath.Dir(dir)
	if above == dir {
		return err
	}
	if err := MkdirAll(fsys, above, perm); err != nil {
		return err
	}
	// Somebody else may have made it meanwhile; its name must be lasting all the same, and he may not be as far yet.
	if err := fsys.Mkdir(dir, perm); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return fsys.SyncDir(above)
}

// Unsynced returns fsys without its syncs: what is written through it survives the end of the process, but not a crash
// of the machine.
// It is for the index, which can be made anew.
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

type unsyncedFile struct{ File }

func (unsyncedFile) Sync(Scope) error { return nil }

// Map implements Mapper, as far as the file does.
func (f unsyncedFile) Map(from, size int64, whole bool) ([]byte, func() error, error) {
	if m, ok := f.File.(Mapper); ok {
		return m.Map(from, size, whole)
	}
	return nil, nil, errors.ErrUnsupported
}
