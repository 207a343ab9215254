package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/pgdb"
)

const (
	sqlExpired = `select count(*) from treeline.retired r join treeline.log l using (log)
		where starts_with(l.name, $1) and r.until < least(now(), $2)`

	// Some generations at a time, so that no transaction is long. The one that a log has now is never among them.
	sqlPurge = `with old as (delete from treeline.retired where (log, generation) in (
				select r.log, r.generation from treeline.retired r join treeline.log l using (log)
				where starts_with(l.name, $1) and r.until < least(now(), $2) limit 100)
			returning log, generation),
		gone as (delete from treeline.record r using old where r.log = old.log and r.generation = old.generation)
		select count(*) from old`
)

// Sweep implements backend.Sweeper: it purges generations of its logs that were replaced or removed, and whose 30 days were
// over before that time.
func (b *Backend) Sweep(ctx context.Context, before time.Time, remove bool) (found int, err error) {
	if b.closed.Load() {
		return 0, backend.ErrClosed
	}
	if !remove {
		err := b.read(ctx, func(p *pgxpool.Pool) error {
			return p.QueryRow(ctx, sqlExpired, b.prefix, before).Scan(&found)
		})
		if errors.Is(err, pgdb.ErrEmpty) {
			err = nil
		}
		return found, err
	}
	if b.opt.ReadOnly {
		return 0, fmt.Errorf("purging old generations: %w", backend.ErrReadOnly)
	}
	for {
		var n int
		err := b.write(ctx, func(p *pgxpool.Pool, _ bool) error {
			return p.QueryRow(ctx, sqlPurge, b.prefix, before).Scan(&n)
		})
		found += n
		if err != nil || n == 0 {
			return found, err
		}
	}
}
