package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/pgdb"
)

const (
	sqlExpired = `select count(*) from treeline.retired r join treeline.log l using (log)
		where starts_with(l.name, $1) and r.until < least(now(), $2)`

	// A few generations at a time, so that no transaction is long. The current generation of a log is never among them.
	sqlPurge = `with old as (delete from treeline.retired where (log, generation) in (
				select r.log, r.generation from treeline.retired r join treeline.log l using (log)
				where starts_with(l.name, $1) and r.until < least(now(), $2) limit 100 for update of r skip locked)
			returning log, generation),
		gone as (delete from treeline.record r using old where r.log = old.log and r.generation = old.generation)
		select count(*) from old`
)

// purgeEvery is the least time between two purges of a process.
const purgeEvery = time.Hour

// purge purges old generations of all logs in the background. It is called when a generation was retired: logs that are never replaced
// leave nothing to purge, and frequent replacement causes frequent purges.
func (c *core) purge() {
	now, last := c.clock().UnixNano(), c.purged.Load()
	if last != 0 && now-last < int64(purgeEvery) || !c.purged.CompareAndSwap(last, now) {
		return
	}
	c.purging.Go(func() {
		// Close waits for this, so that a short-lived process purges too; but not for long.
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		for n := 1; n > 0; {
			err := c.db.Write(ctx, func(p *pgdb.Pool, _ bool) error {
				return p.QueryRow(ctx, sqlPurge, "", c.clock()).Scan(&n)
			})
			if err != nil {
				return // the next purge does it
			}
		}
	})
}

// Sweep implements backend.Sweeper. It purges generations of its logs that were replaced or removed, and whose 30 days ended before that
// time.
func (b *Backend) Sweep(ctx context.Context, before time.Time, remove bool) (found int, err error) {
	if b.closed.Load() {
		return 0, backend.ErrClosed
	}
	if !remove {
		err := b.read(ctx, func(p *pgdb.Pool) error {
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
		err := b.write(ctx, func(p *pgdb.Pool, _ bool) error {
			return p.QueryRow(ctx, sqlPurge, b.prefix, before).Scan(&n)
		})
		found += n
		if err != nil || n == 0 {
			return found, err
		}
	}
}
