package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/pgdb"
)

// Both ends of a log and its row, in one round trip. Long rows are cut by the server. $2 and $3 are how many bytes of the beginning and of
// the end to read, $4 is where the end stops; null means at the size of the row. The end begins after the beginning.
const sqlEnds = `with l as (
		select log, generation, size, changed, least($2, coalesce($4, size)) as head,
			greatest(least($2, coalesce($4, size)), coalesce($4, size) - $3) as tail, coalesce($4, size) as stop
		from treeline.log where log = $1 and removed is null)
	select l.generation, l.size, l.changed, r.at, r.data from l left join lateral (
		select r.position as at, substring(r.data from 1 for least(l.head - r.position, 1 << 30)::int) as data
			from treeline.record r where r.log = l.log and r.generation = l.generation and r.position < l.head
		union all
		select greatest(r.position, l.tail), substring(r.data from greatest(l.tail - r.position, 0)::int + 1)
			from treeline.record r where r.log = l.log and r.generation = l.generation and r.position < l.stop and l.tail < l.stop
			and r.position >= (select max(position) from treeline.record where log = l.log and generation = l.generation and position <= l.tail)
	) r on true order by r.at`

// ends reads the row of a log, and its ends into head and tail. size is where the tail stops; -1 means at the size of the row.
func (b *Backend) ends(ctx context.Context, name string, head, tail []byte, size int64) (at row, inHead, inTail int, err error) {
	var stop *int64
	if size >= 0 {
		stop = &size
	}
	there := false
	err = b.read(ctx, func(p *pgdb.Pool) error {
		there = false
		var end int64 // where the tail stops; another attempt may find a longer log
		found, err := p.Query(ctx, sqlEnds, b.key(name), int64(len(head)), int64(len(tail)), stop)
		if err != nil {
			return err
		}
		defer found.Close()
		for found.Next() {
			var position *int64
			var data pgdb.RawBytes
			if err := found.Scan(&at.generation, &at.size, &at.changed, &position, &data); err != nil {
				return err
			}
			if !there {
				there, end = true, at.size
				if size >= 0 {
					end = min(size, at.size)
				}
				inHead = int(min(int64(len(head)), end))
				inTail = int(min(int64(len(tail)), end-int64(inHead)))
			}
			if position == nil {
				continue // an empty log
			}
			if *position < int64(inHead) {
				copy(head[*position:inHead], data)
			} else if i := *position - (end - int64(inTail)); i >= 0 && i < int64(inTail) {
				copy(tail[i:inTail], data)
			}
		}
		return found.Err()
	})
	if errors.Is(err, pgdb.ErrEmpty) || err == nil && !there {
		err = fmt.Errorf("%s: %w", name, backend.ErrNotExist)
	}
	return at, inHead, inTail, err
}

// Ends implements backend.EndReader.
func (b *Backend) Ends(ctx context.Context, at backend.Log, head, tail []byte) (inHead, inTail int, err error) {
	if err := b.begin(ctx, at.Name); err != nil {
		return 0, 0, err
	}
	r, inHead, inTail, err := b.ends(ctx, at.Name, head, tail, at.Size)
	if err == nil && at.Generation == "" {
		err = fmt.Errorf("%s: %w", at.Name, backend.ErrNotExist)
	}
	if err == nil && (r.generation != token(at) || r.size < at.Size) {
		err = fmt.Errorf("%s: %w", at.Name, backend.ErrChanged)
	}
	if err != nil {
		return 0, 0, err
	}
	return inHead, inTail, nil
}

// Names implements backend.Glimpser. Names cost as much as logs here.
func (b *Backend) Names(ctx context.Context, prefix string) iter.Seq2[backend.Log, error] {
	return func(yield func(backend.Log, error) bool) {
		for at, err := range b.List(ctx, prefix) {
			if !yield(backend.Log{Name: at.Name}, err) {
				return
			}
		}
	}
}

// Glimpse implements backend.Glimpser.
func (b *Backend) Glimpse(ctx context.Context, name string, room []byte, tail int) (at backend.Log, head, end []byte, err error) {
	at = backend.Log{Name: name}
	if err := b.begin(ctx, name); err != nil {
		return at, nil, nil, err
	}
	// The beginning fills the room. If the log is longer, the last bytes go to the end of the room.
	tail = min(tail, len(room))
	last := make([]byte, tail)
	r, inHead, inTail, err := b.ends(ctx, name, room, last, -1)
	if err != nil {
		return at, nil, nil, err
	}
	at = r.log(name)
	if r.size <= int64(len(room)) {
		return at, room[:inHead], nil, nil
	}
	// The end also includes the last bytes that are already in the beginning.
	first := len(room) - tail
	over := tail - inTail // bytes of the end that are in the beginning
	copy(last[over:], last[:inTail])
	copy(last[:over], room[len(room)-over:])
	copy(room[first:], last)
	return at, room[:first], room[first:], nil
}
