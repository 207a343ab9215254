//go:build linux || darwin

package durable

import (
	"errors"
	"math"
	"syscall"
)

// Map implements Mapper.
// Nothing is mapped for an empty file, which mmap refuses.
func (f *unixFile) Map(size int64) (data []byte, unmap func() error, err error) {
	if size <= 0 || size > math.MaxInt {
		return nil, nil, f.fail("map", errors.ErrUnsupported)
	}
	if data, err = syscall.Mmap(f.fd, 0, int(size), syscall.PROT_READ, syscall.MAP_SHARED); err != nil {
		return nil, nil, f.fail("map", err)
	}
	return data, func() error { return f.fail("unmap", syscall.Munmap(data)) }, nil
}
