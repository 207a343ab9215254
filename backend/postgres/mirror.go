package postgres

import (
	"context"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/pgdb"
	"github.com/treeline-dev/treeline/internal/spill"
)

const (
	// Appends any bytes: the first row may continue a line, and the last may be unterminated. Without bytes only the mark changes.
	sqlExtend = `with head as (update treeline.log set mark = $9, size = size + $6, torn = case when $6 = 0 then torn else $7 end,
			changed = case when $6 = 0 then changed else now() end, writer = case when $6 = 0 then writer else $8 end,
			xid = case when $6 = 0 then xid else pg_current_xact_id() end
		where log = $1 and generation = $4 and size = $5 and removed is null
		returning log, generation, changed` + body + result

	sqlMarks = `select name, generation, size, changed, mark, removed from treeline.log where true`
)

// Extend implements backend.Mirror.
func (b *Backend) Extend(ctx context.Context, at backend.Log, mark string, from io.Reader) (now backend.Log, err error) {
	if err := b.writable(ctx, at.Name); err != nil {
		return backend.Log{}, err
	}
	if !backend.IsText(at.Name) {
		return backend.Log{}, fmt.Errorf("%s: %w: only a log of lines can be extended", at.Name, backend.ErrRecord)
	}
	err = collect(at.Name, &mark, from, func(c content) error {
		torn, err := c.torn()
		if err != nil {
			return err
		}
		generation := token(at)
		now, err = b.do(ctx, &mutation{sql: sqlExtend, name: at.Name, log: b.key(at.Name), body: c, base: at.Size, generation: generation,
			size: at.Size + c.size, args: []any{generation, at.Size, c.size, torn, b.opt.Writer.Name, mark}}, backend.ErrConflict)
		return err
	})
	return now, err
}

// Overwrite implements backend.Mirror.
func (b *Backend) Overwrite(ctx context.Context, at backend.Log, mark string, from io.Reader) (now backend.Log, err error) {
	if err := b.writable(ctx, at.Name); err != nil {
		return backend.Log{}, err
	}
	err = collect(at.Name, &mark, from, func(c content) error {
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
// produces them, and an attempt can be repeated.
func collect(name string, mark *string, from io.Reader, do func(content) error) error {
	*mark = text(*mark)
	var all spill.Bytes
	defer all.Close()
	if _, err := io.Copy(&all, from); err != nil {
		return err
	}
	c, err := collected(&all, name)
	if err != nil {
		return err
	}
	return do(c)
}

// collected returns a content that stays valid as long as it is needed: a small one is in memory; see do.
func collected(all *spill.Bytes, name string) (content, error) {
	if all.Size() > few {
		return content{all, all.Size(), backend.IsText(name)}, nil
	}
	small := make([]byte, all.Size())
	if n, err := all.ReadAt(small, 0); n < len(small) {
		return content{}, err
	}
	return newContent(small, name), nil
}

// Marks implements backend.Mirror.
func (b *Backend) Marks(ctx context.Context, prefix string) iter.Seq2[backend.Marked, error] {
	return pages(b, ctx, prefix, sqlMarks, func(found pgdb.Row) (m backend.Marked, name string, err error) {
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
