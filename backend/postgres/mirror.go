package postgres

import (
	"context"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/spill"
)

const (
	// An append of any bytes: a line may continue in the first row, and be unterminated in the last.
	sqlExtend = `with head as (update treeline.log
		set size = size + $6, torn = case when $6 = 0 then torn else $7 end, changed = now(), writer = $8, xid = pg_current_xact_id(), mark = $9
		where log = $1 and generation = $4 and size = $5 and removed is null
		returning log, generation, changed` + body + result

	sqlMarks = `select name, generation, size, changed, mark, removed from treeline.log where name >= $1 order by name limit $2`
)

// Extend implements backend.Mirror.
func (b *Backend) Extend(ctx context.Context, at backend.Log, mark string, from io.Reader) (now backend.Log, err error) {
	err = b.collect(ctx, at.Name, &mark, from, func(c content) error {
		torn, err := c.torn()
		if err != nil {
			return err
		}
		generation := token(at)
		now, err = b.mutate(ctx, &mutation{sql: sqlExtend, name: at.Name, log: b.key(at.Name), body: c, base: at.Size, generation: generation,
			size: at.Size + c.size, args: []any{generation, at.Size, c.size, torn, b.opt.Writer, mark}}, false, backend.ErrConflict)
		return err
	})
	return now, err
}

// Overwrite implements backend.Mirror.
func (b *Backend) Overwrite(ctx context.Context, at backend.Log, mark string, from io.Reader) (now backend.Log, err error) {
	err = b.collect(ctx, at.Name, &mark, from, func(c content) error {
		if at.Generation == "" {
			now, err = b.create(ctx, at.Name, c, &mark)
		} else {
			now, err = b.replace(ctx, at, c, &mark)
		}
		return err
	})
	return now, err
}

// collect calls do with all bytes of a reader. They are in a temporary file if they are many: no connection is held while the caller
// makes them, and an attempt can be repeated.
func (b *Backend) collect(ctx context.Context, name string, mark *string, from io.Reader, do func(content) error) error {
	if err := b.writable(ctx, name); err != nil {
		return err
	}
	*mark = text(*mark)
	var all spill.Bytes
	defer all.Close()
	if _, err := io.Copy(&all, from); err != nil {
		return err
	}
	return do(content{&all, all.Size(), backend.IsText(name)})
}

// Marks implements backend.Mirror.
func (b *Backend) Marks(ctx context.Context, prefix string) iter.Seq2[backend.Marked, error] {
	return pages(b, ctx, prefix, sqlMarks, func(found pgx.CollectableRow) (m backend.Marked, name string, err error) {
		var r row
		var removed *time.Time
		err = found.Scan(&name, &r.generation, &r.size, &r.changed, &m.Mark, &removed)
		m.Log = r.log(strings.TrimPrefix(name, b.prefix))
		if removed != nil {
			m.Removed = removed.UTC()
		}
		return m, name, err
	})
}
