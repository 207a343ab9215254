package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/remote/protocol"
	"github.com/treeline-dev/treeline/blob"
)

// blobs are the blobs of one log. The server sends a blob only to clients that may read a log which refers to it.
type blobs struct {
	b   *Backend
	log string
}

var (
	_ blob.Keeper = (*Backend)(nil)
	_ blob.Finder = blobs{}
)

// Blobs implements blob.Keeper.
func (b *Backend) Blobs(log string) blob.Store { return blobs{b, log} }

func (s blobs) query() url.Values { return url.Values{"log": {s.b.full(s.log)}} }

// Open implements blob.Reader. Instead of io.EOF the last Read returns blob.ErrCorrupt if the bytes are not those of the
// reference.
func (s blobs) Open(ctx context.Context, r blob.Ref) (io.ReadCloser, error) {
	ctx, done, err := s.b.begin(ctx, s.log)
	if err != nil {
		done()
		return nil, err
	}
	res, _, err := s.b.persist(ctx, ask{path: protocol.Blobs + "/" + r.String(), query: s.query()})
	if errors.Is(err, backend.ErrNotExist) {
		err = fmt.Errorf("%s: %w: there is no log %s", r, blob.ErrNotExist, s.log)
	}
	if err != nil {
		done()
		return nil, err
	}
	return &openBlob{res: res, done: done, ref: r, sum: sha256.New()}, nil
}

// openBlob checks a blob while it is read.
type openBlob struct {
	res  *answer
	done func()
	ref  blob.Ref
	sum  hash.Hash
	size int64
}

// Read implements io.Reader.
func (o *openBlob) Read(p []byte) (int, error) {
	n, err := o.res.body.Read(p)
	o.sum.Write(p[:n])
	if o.size += int64(n); o.size > protocol.BlobMost {
		return n, fmt.Errorf("%s: %w: it is endless", o.ref, blob.ErrCorrupt)
	}
	if err == io.EOF && blob.Ref(o.sum.Sum(nil)) != o.ref { //nolint:errorlint // readers give it unwrapped
		err = fmt.Errorf("%s: %w", o.ref, blob.ErrCorrupt)
	}
	return n, err
}

// Close implements io.Closer.
func (o *openBlob) Close() error {
	o.res.Close()
	o.done()
	return nil
}

// Has implements blob.Reader.
func (s blobs) Has(ctx context.Context, r blob.Ref) (bool, error) {
	missing, err := s.Missing(ctx, []blob.Ref{r})
	return err == nil && len(missing) == 0, err
}

// Missing implements blob.Finder.
func (s blobs) Missing(ctx context.Context, refs []blob.Ref) (missing []blob.Ref, err error) {
	ctx, done, err := s.b.begin(ctx, s.log)
	defer done()
	if err != nil {
		return nil, err
	}
	for len(refs) > 0 {
		n := min(len(refs), protocol.RefsMost)
		var lines bytes.Buffer
		for _, r := range refs[:n] {
			lines.WriteString(r.String() + "\n")
		}
		body := memory(lines.Bytes())
		var found []string
		err := s.b.json(ctx, ask{method: http.MethodPost, path: protocol.Logs + "/missing", query: s.query(), body: &body}, &found)
		if err != nil {
			return nil, err
		}
		gone := map[string]bool{}
		for _, r := range found {
			gone[r] = true
		}
		for _, r := range refs[:n] {
			if gone[r.String()] {
				missing = append(missing, r)
			}
		}
		refs = refs[n:]
	}
	return missing, nil
}

// Put implements blob.Store. Putting a blob twice does no harm, so an attempt is repeated.
func (s blobs) Put(ctx context.Context, b []byte) (blob.Ref, error) {
	r := blob.Sum(b)
	ctx, done, err := s.b.change(ctx, s.log)
	defer done()
	if err == nil && len(b) > protocol.BlobMost {
		err = fmt.Errorf("%s: a server takes blobs of at most %d bytes", r, protocol.BlobMost)
	}
	if err != nil {
		return r, err
	}
	body := memory(b)
	var nothing struct{}
	return r, s.b.json(ctx, ask{method: http.MethodPut, path: protocol.Blobs + "/" + r.String(), query: s.query(), body: &body}, &nothing)
}
