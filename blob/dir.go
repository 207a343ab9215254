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

// Dir is the blobs in a folder, one file each, named by its hash: the layout of the agents that keep blobs.
type Dir struct {
	path string
	fs   durable.FS
	now  func() time.Time
}

// NewDir gives the blobs of a folder, which need not exist.
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
		f.Close()
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

// fresh is how long a blob counts as just written. It is half of the time that callers of Remove leave blobs alone.
const fresh = 30 * time.Minute

// Put implements Store. A blob that is there already is not written again, unless it is damaged: other programs write
// theirs without care for crashes, after which a file may have its length and not its bytes. One that has been there for
// long is written again all the same: nobody may refer to it any more, and whoever removes such blobs must see by its time
// that somebody is about to.
func (d *Dir) Put(ctx context.Context, b []byte) (Ref, error) {
	r := Sum(b)
	path := d.file(r)
	if info, err := d.fs.Stat(path); err == nil && info.Size == int64(len(b)) && time.Unix(0, info.Nanos).After(d.now().Add(-fresh)) {
		if have, err := Get(ctx, d, r); err == nil && bytes.Equal(have, b) {
			return r, nil
		}
	}
	if err := durable.MkdirAll(d.fs, d.path, 0o700); err != nil {
		return r, err
	}
	// Replace, not create: two writers of one blob write the same bytes, and the later one does no harm.
	if _, err := durable.Replace(d.fs, path, 0o600, bytes.NewReader(b)); err != nil {
		return r, err
	}
	return r, nil
}
