package memory

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/blob"
)

// ArchiveDriver is Driver for places that keep the logs of many stores; see backend.Driver.Archive. The host of a URL is the
// place. The path after it is the folder that is meant. A user and a query are not shown.
func ArchiveDriver(scheme string, options ...Option) backend.Driver {
	d := driver(scheme, true, options)
	d.Split = func(root string) (archive, below string, err error) {
		u, err := url.Parse(root)
		if err != nil || u.Host == "" {
			return "", "", fmt.Errorf("not a URL of an archive in memory: use %s://NAME", scheme)
		}
		below = strings.Trim(u.Path, "/")
		u.Path = ""
		return u.String(), below, nil
	}
	d.Shown = func(root string) (string, error) {
		u, err := url.Parse(root)
		if err != nil {
			return "", fmt.Errorf("not a URL of an archive in memory: use %s://NAME", scheme)
		}
		return scheme + "://" + u.Host, nil
	}
	return d
}

// Folders implements backend.Foldered.
func (b *Backend) Folders(ctx context.Context, folder string) ([]string, error) {
	if err := backend.Begin(ctx, b.closed.Load(), "x"); err != nil {
		return nil, err
	}
	if folder != "" {
		folder += "/"
	}
	b.place.mu.RLock()
	defer b.place.mu.RUnlock()
	var list []string
	for name := range b.place.logs {
		rest, ok := strings.CutPrefix(name, b.below+folder)
		if sub, _, deep := strings.Cut(rest, "/"); ok && deep {
			list = append(list, sub)
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// Blobs implements blob.Keeper. Every log can read every blob.
func (b *Backend) Blobs(string) blob.Store { return blobs{b} }

// blobs are those of a place.
type blobs struct{ b *Backend }

// Open implements blob.Reader.
func (s blobs) Open(_ context.Context, r blob.Ref) (io.ReadCloser, error) {
	s.b.place.mu.RLock()
	defer s.b.place.mu.RUnlock()
	content, ok := s.b.place.blobs[r]
	if !ok {
		return nil, fmt.Errorf("%s: %w", r, blob.ErrNotExist)
	}
	return io.NopCloser(bytes.NewReader(content)), nil
}

// Has implements blob.Reader.
func (s blobs) Has(_ context.Context, r blob.Ref) (bool, error) {
	s.b.place.mu.RLock()
	defer s.b.place.mu.RUnlock()
	_, ok := s.b.place.blobs[r]
	return ok, nil
}

// Put implements blob.Store.
func (s blobs) Put(_ context.Context, content []byte) (blob.Ref, error) {
	r := blob.Sum(content)
	if s.b.opt.ReadOnly {
		return r, fmt.Errorf("%s: %w", r, backend.ErrReadOnly)
	}
	s.b.place.mu.Lock()
	defer s.b.place.mu.Unlock()
	s.b.place.blobs[r] = bytes.Clone(content)
	return r, nil
}
