//go:build linux || darwin

package durable

import (
	"errors"
	"math"
	"os"
	"syscall"
)

// Map implements Mapper. mmap refuses an empty mapping. Pages are entered when they are used: the system then enters several at once, which
// costs less than MAP_POPULATE.
func (f *unixFile) Map(from, size int64) ([]byte, func() error, error) {
	// A mapping begins at a page.
	before := from % int64(os.Getpagesize())
	if from < 0 || size <= 0 || size > math.MaxInt-before {
		return nil, nil, f.fail("map", errors.ErrUnsupported)
	}
	data, err := syscall.Mmap(f.fd, from-before, int(before+size), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, nil, f.fail("map", err)
	}
	return data[before:], func() error { return f.fail("unmap", syscall.Munmap(data)) }, nil
}
