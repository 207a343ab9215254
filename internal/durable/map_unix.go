//go:build linux || darwin

package durable

import (
	"errors"
	"math"
	"os"
	"syscall"
)

// Map implements Mapper.
// Nothing is mapped for an empty file, which mmap refuses.
func (f *unixFile) Map(from, size int64) ([]byte, func() error, error) {
	// Mappings begin with a page.
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
