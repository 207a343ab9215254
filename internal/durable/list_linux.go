//go:build linux && (amd64 || arm64)

package durable

import (
	"encoding/binary"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"unsafe"
)

// ListDir implements Lister with getdents64(2) and fstatat(2) on the open folder: the kernel need not walk the whole path
// for every file, and nothing is allocated but the names.
// A folder of ten thousand logs is looked at by every list, so this is what such a list costs.
func (OS) ListDir(list []Listed, name string) ([]Listed, error) {
	fd := -1
	err := retry(func() (err error) {
		fd, err = syscall.Open(name, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return list, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	defer syscall.Close(fd)
	kept := direntBuffers.Get().(*[32 << 10]byte)
	defer direntBuffers.Put(kept)
	buf := kept[:]
	for {
		n, err := 0, error(nil)
		err = retry(func() (err error) { n, err = syscall.ReadDirent(fd, buf); return err })
		if err != nil {
			return list, &fs.PathError{Op: "readdirent", Path: name, Err: err}
		}
		if n <= 0 {
			return list, nil
		}
		list = appendListed(list, name+"/", fd, buf[:n])
	}
}

// direntBuffers are kept for the next folder.
var direntBuffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// The head of a dirent64, as the kernel writes it: inode, offset, length of the record, type; then the name and a zero.
const (
	direntLength = 16
	direntType   = 18
	direntName   = 19
)

// appendListed reads records where the kernel put them. "." and ".." are no entries.
func appendListed(list []Listed, dir string, fd int, buf []byte) []Listed {
	text := string(buf) // of which all names are parts: to make one of each would cost as much as asking for the files
	for len(buf) > direntName {
		size := int(binary.NativeEndian.Uint16(buf[direntLength:]))
		if size <= direntName || size > len(buf) {
			// It would mean that the layout is not what it is on this system; the entries so far are right.
			return list // the kernel does not write such a thing
		}
		record, at := buf[:size], len(text)-len(buf)
		buf = buf[size:]
		end := direntName
		for end < size && record[end] != 0 {
			end++
		}
		name := record[direntName:end]
		if end == size || string(name) == "." || string(name) == ".." {
			continue
		}
		l := Listed{Mode: fs.ModeIrregular}
		switch record[direntType] {
		case syscall.DT_REG:
			l.Mode = 0
			l.Info = statIn(fd, &record[direntName])
		case syscall.DT_DIR:
			l.Mode = fs.ModeDir
		case syscall.DT_LNK:
			l.Mode = fs.ModeSymlink
		// Lstat, since what a link points to is asked elsewhere.
		case syscall.DT_UNKNOWN: // some file systems do not say
			if info, err := os.Lstat(dir + string(name)); err == nil {
				l.Mode = info.Mode().Type()
			}
		}
		l.Name = text[at+direntName : at+end]
		list = append(list, l)
	}
	return list
}

// statIn looks at a file of an open folder; name ends in a zero. Where that fails, the Info is empty.
// Links are followed (flag 0): only regular files get here, as far as the entry's type says.
func statIn(fd int, name *byte) Info {
	var st syscall.Stat_t
	for {
		_, _, errno := syscall.Syscall6(sysFstatat, uintptr(fd), uintptr(unsafe.Pointer(name)), uintptr(unsafe.Pointer(&st)), 0, 0, 0)
		switch errno {
		case 0:
			return info(&st)
		case syscall.EINTR:
			continue
		}
		return Info{}
	}
}
