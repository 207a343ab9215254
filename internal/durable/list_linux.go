//go:build linux && (amd64 || arm64)

package durable

import (
	"encoding/binary"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ListDir implements Lister with getdents64(2) and fstatat(2) on the open folder: the kernel does not walk the whole path
// for every file, and only names are allocated. This is most of the cost of listing ten thousand logs.
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

// direntBuffers are reused.
var direntBuffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// Offsets in a dirent64: inode, offset, length of the record, type; then the name and a zero.
const (
	direntLength = 16
	direntType   = 18
	direntName   = 19
)

// appendListed parses the records of the kernel, without "." and "..".
func appendListed(list []Listed, dir string, fd int, buf []byte) []Listed {
	text := string(buf) // all names are parts of it: an allocation per name would cost as much as its stat
	for len(buf) > direntName {
		size := int(binary.NativeEndian.Uint16(buf[direntLength:]))
		if size <= direntName || size > len(buf) {
			return list // never written by the kernel
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
		case syscall.DT_UNKNOWN: // some file systems do not report the type
			if info, err := os.Lstat(dir + string(name)); err == nil {
				l.Mode = info.Mode().Type()
			}
		}
		l.Name = text[at+direntName : at+end]
		list = append(list, l)
	}
	return list
}

// statIn stats a regular file in an open folder; name ends in a zero. If that fails, the Info is zero.
func statIn(fd int, name *byte) Info {
	var st syscall.Stat_t
	for {
		_, _, errno := syscall.Syscall6(unix.SYS_NEWFSTATAT, uintptr(fd), uintptr(unsafe.Pointer(name)),
			uintptr(unsafe.Pointer(&st)), 0, 0, 0)
		switch errno {
		case 0:
			return info(&st)
		case syscall.EINTR:
			continue
		}
		return Info{}
	}
}
