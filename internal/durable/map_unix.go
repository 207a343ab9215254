//go:build linux || darwin

package durable

import (
	"errors"
	"math"
	"os"
	"syscall"
)

// Map implements Mapper. mmap refuses an empty mapping.
func (f *unixFile) Map(from, size int64, whole bool) ([]byte, func() error, error) {
	// A mapping begins at a page.
	before := from % int64(os.Getpagesize())
	if from < 0 || size <= 0 || size > math.MaxInt-before {
		return nil, nil, f.fail("map", errors.ErrUnsupported)
	}
	flags := syscall.MAP_SHARED
	// Loading cannot be cancelled, so it is limited.
	const most = 256 << 20
	if whole && size <= most {
		flags |= mapWhole
	}
	data, err := syscall.Mmap(f.fd, from-before, int(before+size), syscall.PROT_READ, flags)
	if err != nil {
		return nil, nil, f.fail("map", err)
	}
	return data[before:], func() error { return f.fail("unmap", syscall.Munmap(data)) }, nil
}
