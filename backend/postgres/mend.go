package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/pgdb"
	"github.com/treeline-dev/treeline/internal/rawjson"
)

const (
	// A new generation has the records before the torn one, and the appended ones.
	sqlCut = `with head as (update treeline.log
		set generation = generation + 1, size = $6, torn = false, changed = now(), writer = $7, xid = pg_current_xact_id()
		where log = $1 and generation = $4 and size = $5 and torn and removed is null
		returning log, generation, changed` + body + `, kept as (insert into treeline.record
			select r.log, head.generation, r.position, r.data from head, treeline.record r
			where r.log = $1 and r.generation = $4 and r.position < $8)` + retireOld + result

	sqlLast = `select position, data from treeline.record where log = $1 and generation = $2 order by position desc`
)

// mend appends to a log whose last line is unterminated. A line that is a complete JSON value gets its newline; any other is moved to a log
// of its own. Only Restore and Mirror make such logs.
func (b *Backend) mend(ctx context.Context, at backend.Log, more []byte) (now backend.Log, err error) {
	var line []byte
	err = b.read(ctx, func(p *pgdb.Pool) error {
		line, err = lastLine(ctx, p, b.key(at.Name), token(at))
		return err
	})
	if err != nil {
		return backend.Log{}, err
	}
	mended := backend.Mended{Log: at.Name, Offset: at.Size - int64(len(line)), Size: int64(len(line))}
	if rawjson.Valid(line) {
		m := b.appending(at, append([]byte{'\n'}, more...), true)
		if err = b.limit(ctx, m); err == nil {
			now, err = b.mutate(ctx, m, false, backend.ErrConflict)
		}
	} else {
		now, mended.To, err = b.cut(ctx, at, mended.Offset, line, more)
	}
	if err == nil && b.opt.Mended != nil {
		b.opt.Mended(mended)
	}
	return now, err
}

// lastLine reads the unterminated last line.
func lastLine(ctx context.Context, p *pgdb.Pool, log key, generation int64) (line []byte, err error) {
	found, err := p.Query(ctx, sqlLast, log, generation)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	var pieces [][]byte
	for found.Next() {
		var position int64
		var data []byte
		if err := found.Scan(&position, &data); err != nil {
			return nil, err
		}
		if data[len(data)-1] == '\n' {
			break
		}
		pieces = append(pieces, data)
	}
	slices.Reverse(pieces)
	return slices.Concat(pieces...), found.Err()
}

// cut moves a torn line to a log of its own and appends, all as one transaction.
func (b *Backend) cut(ctx context.Context, at backend.Log, begin int64, line, more []byte) (now backend.Log, to string, err error) {
	generation, size := token(at), begin+int64(len(more))
	m := &mutation{sql: sqlCut, name: at.Name, log: b.key(at.Name), body: newContent(more, at.Name), base: begin,
		generation: generation + 1, size: size, args: []any{generation, at.Size, size, b.opt.Writer.Name, begin}}
	if err := b.limit(ctx, m); err != nil {
		return backend.Log{}, "", err
	}
	when := b.clock()
	err = b.write(ctx, func(p *pgdb.Pool, again bool) error {
		err := pgdb.BeginFunc(ctx, p, func(tx *pgdb.Tx) error {
			for try := 0; ; try++ {
				to = backend.TornName(at.Name, when, try)
				_, err := b.creating(to, newContent(line, to), false, nil).run(ctx, tx)
				if errors.Is(err, errUnmatched) {
					continue // the name is taken
				}
				if err != nil {
					return err
				}
				break
			}
			if now, err = m.run(ctx, tx); err == nil {
				_, err = tx.Exec(ctx, sqlMoved, b.key(to), m.log, named([][]byte{}, line))
			}
			return err
		})
		if errors.Is(err, errUnmatched) && again {
			return b.recognise(ctx, p, m, &now)
		}
		return err
	})
	if errors.Is(err, errUnmatched) {
		err = fmt.Errorf("%s: %w", at.Name, backend.ErrConflict)
	}
	if err != nil {
		return backend.Log{}, "", err
	}
	b.wrote(m)
	return now, to, nil
}
