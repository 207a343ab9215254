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

// ArchiveDriver is Driver for places that keep the logs of many machines; see backend.Driver.Archive. The host of a URL is the place. The
// path after it is the folder in the archive. A user and a query are not shown.
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

// claims are the blobs that a log named before a limited writer wrote it, and those that were put for it. If limited is set, only these can
// be read through the log.
type claims struct {
	limited bool
	refs    map[blob.Ref]bool
}

// claimsOf returns the claims of a log. The caller holds the lock.
func (p *place) claimsOf(name string) *claims {
	if p.claims[name] == nil {
		p.claims[name] = &claims{refs: map[blob.Ref]bool{}}
	}
	return p.claims[name]
}

// limit records, before a log is written, which blobs a limited writer leaves readable through it.
func (b *Backend) limit(name string) {
	if !b.opt.Writer.Limited {
		return
	}
	b.place.mu.Lock()
	defer b.place.mu.Unlock()
	c := b.place.claimsOf(b.below + name)
	if c.limited {
		return
	}
	c.limited = true
	for r := range blob.RefsIn(b.place.logs[b.below+name].bytes) {
		c.refs[r] = true
	}
}

// Blobs implements blob.Keeper. Through a log that no limited writer has written, all blobs can be read.
func (b *Backend) Blobs(log string) blob.Store { return blobs{b, b.below + log} }

// blobs are the blobs of a place, read through a log.
type blobs struct {
	b   *Backend
	log string
}

// get returns a blob. The caller holds the lock.
func (s blobs) get(r blob.Ref) (content []byte, ok bool) {
	if c := s.b.place.claims[s.log]; c != nil && c.limited && !c.refs[r] {
		return nil, false
	}
	content, ok = s.b.place.blobs[r]
	return content, ok
}

// Missing implements blob.Finder: to a limited writer, all blobs are missing that were not put for the log.
func (s blobs) Missing(_ context.Context, refs []blob.Ref) (missing []blob.Ref, _ error) {
	s.b.place.mu.RLock()
	defer s.b.place.mu.RUnlock()
	for _, r := range refs {
		_, ok := s.get(r)
		if c := s.b.place.claims[s.log]; !ok || s.b.opt.Writer.Limited && (c == nil || !c.refs[r]) {
			missing = append(missing, r)
		}
	}
	return missing, nil
}

// Open implements blob.Reader.
func (s blobs) Open(_ context.Context, r blob.Ref) (io.ReadCloser, error) {
	s.b.place.mu.RLock()
	defer s.b.place.mu.RUnlock()
	content, ok := s.get(r)
	if !ok {
		return nil, fmt.Errorf("%s: %w", r, blob.ErrNotExist)
	}
	return io.NopCloser(bytes.NewReader(content)), nil
}

// Has implements blob.Reader.
func (s blobs) Has(_ context.Context, r blob.Ref) (bool, error) {
	s.b.place.mu.RLock()
	defer s.b.place.mu.RUnlock()
	_, ok := s.get(r)
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
	s.b.place.claimsOf(s.log).refs[r] = true
	return r, nil
}
