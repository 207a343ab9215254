package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/treeline-dev/treeline/backend"
)

// Append implements backend.Backend.
func (b *Backend) Append(ctx context.Context, at backend.Log, records ...[]byte) (backend.Log, error) {
	more, err := b.encode(ctx, at.Name, records)
	if err != nil {
		return backend.Log{}, err
	}
	if !backend.IsText(at.Name) {
		return backend.Log{}, fmt.Errorf("%s: %w: only a log of lines can be appended to", at.Name, backend.ErrRecord)
	}
	if len(records) == 0 {
		return b.same(ctx, at)
	}
	now, err := b.do(ctx, b.appending(at, more, false), backend.ErrConflict)
	if !errors.Is(err, backend.ErrConflict) {
		return now, err
	}
	r, e := b.current(ctx, at.Name)
	if e == nil && r.torn && r.generation == token(at) && r.size == at.Size {
		ctx, end := b.detached(ctx)
		defer end()
		return b.mend(ctx, at, more)
	}
	return backend.Log{}, err
}

// appending returns the mutation that appends. torn: the last line is unterminated.
func (b *Backend) appending(at backend.Log, more []byte, torn bool) *mutation {
	generation, n := token(at), int64(len(more))
	return &mutation{sql: sqlAppend, name: at.Name, log: b.key(at.Name), body: newContent(more, at.Name), base: at.Size,
		generation: generation, size: at.Size + n, args: []any{generation, at.Size, n, b.opt.Writer.Name, torn}}
}

// same is an append without records: it only compares.
func (b *Backend) same(ctx context.Context, at backend.Log) (backend.Log, error) {
	r, err := b.current(ctx, at.Name)
	if errors.Is(err, backend.ErrNotExist) || err == nil && (r.generation != token(at) || r.size != at.Size) {
		err = fmt.Errorf("%s: %w", at.Name, backend.ErrConflict)
	}
	if err != nil {
		return backend.Log{}, err
	}
	return r.log(at.Name), nil
}
