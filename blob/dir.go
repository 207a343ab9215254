package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Dir is the blobs in a folder, one file each, named by its hash.
type Dir struct{ path string }

// NewDir gives the blobs of a folder, which need not exist.
func NewDir(path string) *Dir { return &Dir{path: path} }

// Open implements Reader.
func (d *Dir) Open(_ context.Context, r Ref) (io.ReadCloser, error) {
	f, err := os.Open(filepath.Join(d.path, r.Hex()))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w in %s", r, ErrNotExist, d.path)
	}
	return f, err
}

// Has implements Reader.
func (d *Dir) Has(_ context.Context, r Ref) (bool, error) {
	info, err := os.Stat(filepath.Join(d.path, r.Hex()))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && info.Mode().IsRegular(), err
}
