package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/treeline-dev/treeline/internal/durable"
)

// Dir keeps blobs in a folder, one file each, named by its hash. The agents use the same layout.
type Dir struct {
	path string
	fs   durable.FS
	now  func() time.Time
}

// NewDir returns the Dir of a folder, which need not exist.
func NewDir(path string) *Dir { return NewDirFS(path, durable.OS{}) }

// NewDirFS is NewDir on another file system.
func NewDirFS(path string, fsys durable.FS) *Dir { return &Dir{path: path, fs: fsys, now: time.Now} }

func (d *Dir) file(r Ref) string { return filepath.Join(d.path, r.Hex()) }

// Open implements Reader.
func (d *Dir) Open(_ context.Context, r Ref) (io.ReadCloser, error) {
	f, err := d.fs.Open(d.file(r), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w in %s", r, ErrNotExist, d.path)
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return &openBlob{io.NewSectionReader(f, 0, info.Size), f}, nil
}

type openBlob struct {
	io.Reader
	io.Closer
}

// Has implements Reader.
func (d *Dir) Has(_ context.Context, r Ref) (bool, error) {
	_, err := d.fs.Stat(d.file(r))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// holds reports whether a file has that content, and makes it durable: the program that wrote it may not have synced it. A symbolic
// link does not count: its target may go away.
func (d *Dir) holds(path string, b []byte) bool {
	f, err := d.fs.Open(path, os.O_RDONLY|durable.NoFollow, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	have := make([]byte, len(b))
	n, err := f.ReadAt(have, 0)
	same := n == len(b) && (err == nil || errors.Is(err, io.EOF)) && bytes.Equal(have, b)
	return same && f.Sync(durable.All) == nil && d.fs.SyncDir(d.path) == nil
}

// fresh is how long a blob counts as just written. It is half of the age at which callers of Remove remove blobs.
const fresh = 30 * time.Minute

// Put implements Store. It rewrites an existing blob only if it is damaged or old. Programs that do not sync leave damaged
// ones after a crash. An old one may be unreferenced and about to be removed; its new time prevents that.
func (d *Dir) Put(_ context.Context, b []byte) (Ref, error) {
	r := Sum(b)
	path := d.file(r)
	if info, err := d.fs.Stat(path); err == nil && info.Size == int64(len(b)) && time.Unix(0, info.Nanos).After(d.now().Add(-fresh)) {
		if d.holds(path, b) {
			return r, nil
		}
	}
	if err := durable.MkdirAll(d.fs, d.path, 0o700); err != nil {
		return r, err
	}
	// Replace, not create: two writers of a blob write the same bytes.
	if _, err := durable.Replace(d.fs, path, 0o600, bytes.NewReader(b)); err != nil {
		return r, err
	}
	return r, nil
}
