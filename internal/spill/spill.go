// Package spill keeps bytes for the duration of one operation: in memory, and in a temporary file if they are many. The file has no name,
// so a process that is killed leaves nothing. On systems that keep the names of open files, Close removes it.
package spill

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/treeline-dev/treeline/internal/durable"
)

const (
	// inMemory is how much is kept in memory before a file is used.
	inMemory = 4 << 20
	// pieceSize is how much is collected for one write to the file.
	pieceSize = 1 << 20
)

// Bytes are written at the end and read anywhere. The zero value is empty. Writing is not safe for concurrent use; after the last write any
// number of goroutines may read.
type Bytes struct {
	buf  []byte       // the bytes that are not in the file, from flushed on
	file durable.File // nil: everything is in buf
	path string       // path of file
	// flushed is how many bytes the file has.
	flushed int64
}

// Size returns how many bytes were written.
func (b *Bytes) Size() int64 { return b.flushed + int64(len(b.buf)) }

// Write implements io.Writer.
func (b *Bytes) Write(p []byte) (int, error) {
	most := inMemory
	if b.file != nil {
		most = pieceSize
	}
	if len(b.buf)+len(p) > most {
		if err := b.flush(); err != nil {
			return 0, err
		}
	}
	b.buf = append(b.buf, p...)
	return len(p), nil
}

// flush moves the bytes in memory to the file.
func (b *Bytes) flush() error {
	if b.file == nil {
		if err := b.begin(); err != nil {
			return err
		}
	}
	n, err := b.file.Write(b.buf)
	if err == nil && n < len(b.buf) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return err
	}
	b.flushed += int64(n)
	if cap(b.buf) > 2*pieceSize {
		b.buf = nil
	}
	b.buf = b.buf[:0]
	return nil
}

// Shed moves all bytes to the file. They then take no memory.
func (b *Bytes) Shed() error {
	err := b.flush()
	if err == nil {
		b.buf = nil
	}
	return err
}

// begin makes the file. It is in the folder for temporary files, so that readers leave no trace where a log is.
func (b *Bytes) begin() error {
	dir, err := os.MkdirTemp("", "treeline-")
	if err != nil {
		return err
	}
	b.path = filepath.Join(dir, "content")
	f, err := durable.OS{}.Open(b.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return errors.Join(err, os.Remove(dir))
	}
	b.file = f
	b.unname()
	return nil
}

// unname removes the name of the file. Some systems refuse that while the file is open.
func (b *Bytes) unname() {
	_ = os.Remove(b.path)
	_ = os.Remove(filepath.Dir(b.path))
}

// ReadAt implements io.ReaderAt.
func (b *Bytes) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, fmt.Errorf("offset %d is negative", off)
	}
	if off < b.flushed {
		n, err = b.file.ReadAt(p[:min(int64(len(p)), b.flushed-off)], off)
		if err != nil && (!errors.Is(err, io.EOF) || off+int64(n) < b.flushed) {
			return n, err
		}
	}
	if at := off + int64(n) - b.flushed; n < len(p) && at < int64(len(b.buf)) {
		n += copy(p[n:], b.buf[at:])
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Flush prepares all bytes for Map. Without a file it does nothing.
func (b *Bytes) Flush() error {
	if b.file == nil {
		return nil
	}
	return b.flush()
}

// Map returns some of the bytes up to the last Flush without copying them, and a function that ends their use. It returns an error that
// wraps errors.ErrUnsupported if they are in memory, or the system has no mappings.
func (b *Bytes) Map(from, size int64) ([]byte, func() error, error) {
	m, ok := b.file.(durable.Mapper)
	if !ok || from+size > b.flushed {
		return nil, nil, errors.ErrUnsupported
	}
	return m.Map(from, size)
}

// Close releases the bytes. A second call does nothing.
func (b *Bytes) Close() error {
	f := b.file
	b.file, b.buf, b.flushed = nil, nil, 0
	if f == nil {
		return nil
	}
	err := f.Close()
	b.unname()
	return err
}
