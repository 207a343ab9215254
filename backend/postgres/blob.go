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
	// $2 is the log that the blob is read through.
	sqlHasBlob = `select size from treeline.blob where ref = $1 and (
		not exists (select from treeline.blob_claim where log = $2 and ref = '') or exists (select from treeline.blob_claim where log = $2 and ref = $1))`
	// The blobs that a writer has to put: $3 means that the writer is limited, or that the log will be.
	sqlMissingBlobs = `select ref from unnest($1::bytea[]) as asked (ref) where not exists (select from treeline.blob b where b.ref = asked.ref)
		or ($3 or exists (select from treeline.blob_claim where log = $2 and ref = '')) and not exists (select from treeline.blob_claim c where c.log = $2 and c.ref = asked.ref)`
	sqlReadBlob = `select data from treeline.blob_piece where ref = $1 and n = $2`

	// Pieces are inserted only together with the row of the blob. If that exists, or another writer inserts it, nothing is left to do.
	sqlPutBlob = `with head as (insert into treeline.blob (ref, size, written) values ($1, $2, now()) on conflict do nothing returning ref),
		body as (insert into treeline.blob_piece (ref, n, data)
			select head.ref, p.n, p.data from head, unnest($3::int[], $4::bytea[]) as p (n, data)),
		claim as (insert into treeline.blob_claim values ($5, $1) on conflict do nothing)
		select from head`

	sqlLimited = `select exists (select from treeline.blob_claim where log = $1 and ref = '')`
	// A part of a mutation; see mutation.claims.
	claim = `, claimed as (insert into treeline.blob_claim select head.log, ref from head, unnest($%d::bytea[]) as named (ref) on conflict do nothing)`
	// A record that is moved to another log is read there with the same blobs: $1 is that log, $3 are the blobs that the record names.
	sqlMoved = `insert into treeline.blob_claim select $1, ref from treeline.blob_claim where log = $2 and (ref = '' or ref = any($3::bytea[]))
		on conflict do nothing`
)

// Blobs are the blobs in a database. They belong to all origins: the same bytes are stored once. They cannot be listed or removed, because
// one origin does not know to which of them the logs of other origins refer.
type Blobs struct {
	b   *Backend
	log key
}

var (
	_ blob.Store  = (*Blobs)(nil)
	_ blob.Finder = (*Blobs)(nil)
)

// Blobs implements blob.Keeper. Through a log that no limited writer has written, all blobs can be read. They are closed with the Backend.
func (b *Backend) Blobs(log string) blob.Store { return &Blobs{b, b.key(log)} }

// limit adds claims to a mutation of a limited writer. Once it is executed, only two kinds of blobs are read through the log: those that it
// named before, and those that are put for it. The claims are a part of the mutation, so one that fails leaves none.
func (b *Backend) limit(ctx context.Context, m *mutation) error {
	if !b.opt.Writer.Limited || m.sql == sqlRemove {
		return nil
	}
	claims := [][]byte{{}}
	if m.sql == sqlCreate { // a new log names none yet
		m.claims = claims
		return nil
	}
	var limited bool
	err := b.write(ctx, func(p *pgdb.Pool, _ bool) error { return p.QueryRow(ctx, sqlLimited, m.log).Scan(&limited) })
	if err != nil || limited {
		return err
	}
	at, err := b.Stat(ctx, m.name)
	if errors.Is(err, backend.ErrNotExist) {
		return nil // nothing will be written
	}
	if err != nil {
		return err
	}
	for record, err := range b.Read(ctx, at, 0) {
		if err != nil {
			return err
		}
		claims = named(claims, record.Data)
	}
	m.claims = claims
	return nil
}

// named adds the blobs that the data name.
func named(refs [][]byte, data []byte) [][]byte {
	for r := range blob.RefsIn(data) {
		refs = append(refs, r[:])
	}
	return refs
}

// size returns the size of a blob; blob.ErrNotExist if there is none.
func (s *Blobs) size(ctx context.Context, r blob.Ref) (size int64, err error) {
	err = s.b.read(ctx, func(p *pgdb.Pool) error { return p.QueryRow(ctx, sqlHasBlob, r[:], s.log).Scan(&size) })
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

// Missing implements blob.Finder.
func (s *Blobs) Missing(ctx context.Context, refs []blob.Ref) (missing []blob.Ref, err error) {
	list := make([][]byte, len(refs))
	for i := range refs {
		list[i] = refs[i][:]
	}
	gone := map[blob.Ref]bool{}
	err = s.b.read(ctx, func(p *pgdb.Pool) error {
		found, err := p.Query(ctx, sqlMissingBlobs, list, s.log, s.b.opt.Writer.Limited)
		if err != nil {
			return err
		}
		defer found.Close()
		for found.Next() {
			var ref []byte
			if err := found.Scan(&ref); err != nil {
				return err
			}
			gone[blob.Ref(ref)] = true
		}
		return found.Err()
	})
	none := errors.Is(err, pgdb.ErrEmpty)
	if err != nil && !none {
		return nil, err
	}
	for _, r := range refs {
		if none || gone[r] {
			missing = append(missing, r)
		}
	}
	return missing, nil
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
	next int32 // number of the next piece
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

// Put implements blob.Store. A blob is written once: an existing one is not compared.
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
			_, err := p.Exec(ctx, sqlPutBlob, r[:], len(content), numbers, pieces, s.log)
			return err
		}
		return pgdb.BeginFunc(ctx, p, func(tx *pgdb.Tx) error {
			tag, err := tx.Exec(ctx, sqlPutBlob, r[:], len(content), []int32{}, [][]byte{}, s.log)
			if err == nil && tag.RowsAffected() == 1 {
				_, err = tx.CopyFrom(ctx, pgdb.Identifier{"treeline", "blob_piece"}, []string{"ref", "n", "data"}, pgdb.CopyFromRows(rows))
			}
			return err
		})
	})
	return r, err
}
