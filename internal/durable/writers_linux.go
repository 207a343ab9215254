package durable

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownMark distinguishes the flags of a file that is open for appending here from those of any other program: O_NOATIME and O_NONBLOCK have
// no effect on a regular file that is appended to. Another process sees them in /proc.
const ownMark = syscall.O_NOATIME

// Writers implements Shared. A read lease (fcntl(2), F_SETLEASE) is granted only while no file is open for writing, by any user and in any
// container; it takes microseconds. If it is refused, or not available on this file system, /proc shows which processes have the file open,
// and how.
func (f *unixFile) Writers() ([]Writer, error) {
	free, sure := f.leased()
	if free {
		return nil, nil
	}
	list, err := f.writers()
	if err == nil && sure && len(list) == 0 {
		// Closed since, or invisible.
		if free, _ := f.leased(); !free {
			list = []Writer{{Process: "a process that this one cannot see"}}
		}
	}
	return list, err
}

// leased reports whether a read lease was granted, and whether that answer is reliable.
func (f *unixFile) leased() (free, sure bool) {
	// A file that is open for writing here would refuse itself.
	if flags, err := unix.FcntlInt(uintptr(f.fd), unix.F_GETFL, 0); err != nil || flags&syscall.O_ACCMODE != syscall.O_RDONLY {
		return false, false
	}
	_, err := unix.FcntlInt(uintptr(f.fd), unix.F_SETLEASE, syscall.F_RDLCK)
	if err != nil {
		return false, err == syscall.EAGAIN
	}
	// Released at once: an open for writing waits for it.
	_, _ = unix.FcntlInt(uintptr(f.fd), unix.F_SETLEASE, syscall.F_UNLCK)
	return true, true
}

// writers searches /proc. A process that ends meanwhile, or may not be inspected, is left out.
func (f *unixFile) writers() ([]Writer, error) {
	want, err := f.Stat()
	if err != nil {
		return nil, err
	}
	self, here := strconv.Itoa(os.Getpid()), strconv.Itoa(f.fd)
	path, err := os.Readlink("/proc/self/fd/" + here)
	if err != nil {
		return nil, f.fail("writers", errors.ErrUnsupported) // no /proc
	}
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	base := linkBase(path)
	var list []Writer
	for _, process := range processes {
		pid := filepath.Base(process)
		fds, _ := os.Open(process + "/fd")
		if fds == nil {
			continue
		}
		names, _ := fds.Readdirnames(-1)
		_ = fds.Close()
		for _, fd := range names {
			if pid == self && fd == here {
				continue
			}
			// The name first: stat would block on a file of a network file system that is down.
			link, err := os.Readlink(process + "/fd/" + fd)
			if err != nil || linkBase(link) != base {
				continue
			}
			info, err := OS{}.Stat(process + "/fd/" + fd)
			if err != nil || !info.SameFile(want) {
				continue
			}
			if flags, ok := openFlags(process + "/fdinfo/" + fd); ok && flags&syscall.O_ACCMODE != syscall.O_RDONLY {
				const own = ownAccess | ownMark | syscall.O_NONBLOCK
				list = append(list, Writer{Process: processName(pid), Own: flags&own == own})
			}
		}
	}
	return list, nil
}

// linkBase returns the name of the file that a link of /proc names. The kernel adds a note if the file has lost that name.
func linkBase(link string) string { return filepath.Base(strings.TrimSuffix(link, " (deleted)")) }

// openFlags reads how a file was opened.
func openFlags(fdinfo string) (flags int, ok bool) {
	text, err := os.ReadFile(fdinfo)
	if err != nil {
		return 0, false
	}
	for line := range bytes.Lines(text) {
		if octal, ok := bytes.CutPrefix(line, []byte("flags:")); ok {
			n, err := strconv.ParseInt(string(bytes.TrimSpace(octal)), 8, 64)
			return int(n), err == nil
		}
	}
	return 0, false
}

// processName returns the name of a process in messages.
func processName(pid string) string {
	name, err := os.ReadFile("/proc/" + pid + "/comm")
	if err != nil {
		return "process " + pid
	}
	return "process " + pid + " (" + string(bytes.TrimSpace(name)) + ")"
}
