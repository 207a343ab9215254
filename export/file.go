package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/store"
)

// ErrExists means that a file with that name exists, and the caller did not set force. Nothing was written.
var ErrExists = errors.New("the file exists already")

// ErrNotReplaced means that something is there that is not replaced even with force: a device, a folder, or the log that is exported.
var ErrNotReplaced = errors.New("it is not a file that an export may replace")

// File exports a session to a file that only its owner can read. The file appears in one step. An existing file is replaced if force is
// set, and keeps its mode; otherwise the error is ErrExists. For anything but a regular file, and for the session's own log, it is
// ErrNotReplaced.
func File(ctx context.Context, path string, s *store.Session, o Options, force bool) (report *Report, err error) {
	if own, err := os.Stat(s.Path()); err == nil {
		if there, err := os.Stat(path); err == nil && os.SameFile(own, there) {
			return nil, fmt.Errorf("%s: %w", path, ErrNotReplaced)
		}
	}
	err = write(path, force, func(w io.Writer) error {
		report, err = Write(ctx, w, s, o)
		return err
	})
	return report, err
}

// vacant returns an error unless the path is free, or has a file that may be replaced.
func vacant(path string, force bool) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil // writing reports the error
	case !force:
		return fmt.Errorf("%s: %w", path, ErrExists)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s: %w", path, ErrNotReplaced)
	}
	return nil
}

// write creates a file from what f writes, while f writes it.
func write(path string, force bool, f func(io.Writer) error) error {
	fsys := durable.OS{}
	// This comes first, because f may take long.
	if err := vacant(path, force); err != nil {
		return err
	}
	if err := durable.MkdirAll(fsys, filepath.Dir(path), 0o700); err != nil {
		return err
	}
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := f(w)
		w.CloseWithError(err) // nil marks the end of the file
		done <- err
	}()
	put := durable.Create
	if force {
		put = durable.Replace
	}
	_, err := put(fsys, path, 0o600, r)
	r.CloseWithError(errors.New("the file cannot be written")) // ends f if it is still writing
	switch failed := <-done; {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s: %w", path, ErrExists)
	case err != nil && !errors.Is(err, failed):
		return fmt.Errorf("%s: %w", path, err) // err may name only a temporary file
	default:
		return failed
	}
}
