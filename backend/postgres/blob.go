package postgres

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/internal/pgdb"
)

const (
	sqlHasBlob  = `select size from treeline.blob where ref = $1`
	sqlReadBlob = `select data from treeline.blob_piece where ref = $1 and n = $2`

	// Pieces are inserted only with the row of the blob. If that is there, or another writer inserts it, nothing is left to do.
	sqlPutBlob = `with head as (insert into treeline.blob (ref, size, written) values ($1, $2, now()) on conflict do nothing returning ref),
		body as (insert into treeline.blob_piece (ref, n, data)
			select head.ref, p.n, p.data from head, unnest($3::int[], $4::bytea[]) as p (n, data))
		select from head`
)

// Blobs are the blobs in a database. They belong to all origins: the same bytes are stored once. They cannot be listed or
// removed, because one origin does not know what the logs of the others refer to.
type Blobs struct{ b *Backend }

var _ blob.Store = (*Blobs)(nil)

// Blobs implements blob.Keeper. A program that reaches the database reads all blobs, whatever log refers to them. They are closed
// with the Backend.
func (b *Backend) Blobs(string) blob.Store { return &Blobs{b} }

// size is the size of a blob; blob.ErrNotExist if there is none.
func (s *Blobs) size(ctx context.Context, r blob.Ref) (size int64, err error) {
	err = s.b.read(ctx, func(p *pgdb.Pool) error { return p.QueryRow(ctx, sqlHasBlob, r[:]).Scan(&size) })
	if errors.Is(err, pgdb.ErrNoRows) || errors.Is(err, pgdb.ErrEmpty) {
		err = fmt.Errorf("%s: %w in the database", r, blob.ErrNotExist)
	}
	return size, err
}

// Has implements blob.Reader.
func (s *Blobs) Has(ctx context.Context, r blob.Ref) (bool, error) {
	_, err := s.size(ctx, r)
	if errors.Is(err, blob.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Open implements blob.Reader. Instead of io.EOF the last Read returns blob.ErrCorrupt if the bytes are not those of the
// reference.
func (s *Blobs) Open(ctx context.Context, r blob.Ref) (io.ReadCloser, error) {
	size, err := s.size(ctx, r)
	if err != nil {
		return nil, err
	}
	return &openBlob{b: s.b, ctx: ctx, ref: r, left: size, sum: sha256.New()}, nil
}

// openBlob reads a blob piece by piece. No connection is held between them.
type openBlob struct {
	b    *Backend
	ctx  context.Context
	ref  blob.Ref
	next int32 // piece
	left int64 // bytes that are not fetched yet
	held []byte
	sum  hash.Hash
}

// Read implements io.Reader.
func (o *openBlob) Read(p []byte) (int, error) {
	if len(o.held) == 0 {
		if o.left == 0 {
			if blob.Ref(o.sum.Sum(nil)) != o.ref {
				return 0, fmt.Errorf("%s: %w", o.ref, blob.ErrCorrupt)
			}
			return 0, io.EOF
		}
		if err := o.fetch(); err != nil {
			return 0, err
		}
	}
	n := copy(p, o.held)
	o.held = o.held[n:]
	return n, nil
}

func (o *openBlob) fetch() error {
	err := o.b.read(o.ctx, func(p *pgdb.Pool) error { return p.QueryRow(o.ctx, sqlReadBlob, o.ref[:], o.next).Scan(&o.held) })
	if errors.Is(err, pgdb.ErrNoRows) || err == nil && (len(o.held) == 0 || int64(len(o.held)) > o.left) {
		return fmt.Errorf("%s: piece %d is missing or too long: %w", o.ref, o.next, blob.ErrCorrupt)
	}
	if err != nil {
		return err
	}
	o.next++
	o.left -= int64(len(o.held))
	o.sum.Write(o.held)
	return nil
}

// Close implements io.Closer.
func (o *openBlob) Close() error { return nil }

// Put implements blob.Store. A blob is written once: what is there is not compared.
func (s *Blobs) Put(ctx context.Context, content []byte) (blob.Ref, error) {
	r := blob.Sum(content)
	if s.b.opt.ReadOnly {
		return r, fmt.Errorf("%s: %w", r, backend.ErrReadOnly)
	}
	numbers, pieces, rows := []int32{}, [][]byte{}, [][]any{}
	for rest := content; len(rest) > 0; {
		n, at := min(piece, len(rest)), int32(len(numbers))
		numbers, pieces = append(numbers, at), append(pieces, rest[:n])
		rows = append(rows, []any{r[:], at, rest[:n]})
		rest = rest[n:]
	}
	err := s.b.write(ctx, func(p *pgdb.Pool, _ bool) error {
		if len(content) <= inline {
			_, err := p.Exec(ctx, sqlPutBlob, r[:], len(content), numbers, pieces)
			return err
		}
		return pgdb.BeginFunc(ctx, p, func(tx *pgdb.Tx) error {
			tag, err := tx.Exec(ctx, sqlPutBlob, r[:], len(content), []int32{}, [][]byte{})
			if err == nil && tag.RowsAffected() == 1 {
				_, err = tx.CopyFrom(ctx, pgdb.Identifier{"treeline", "blob_piece"}, []string{"ref", "n", "data"}, pgdb.CopyFromRows(rows))
			}
			return err
		})
	})
	return r, err
}
