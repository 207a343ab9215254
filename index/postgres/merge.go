package postgres

import (
	"context"
	"math/bits"

	"github.com/treeline-dev/treeline/internal/pgdb"
)

// A search looks each key up in every segment. So segments of about the same size are merged when there are mergeAt of them, until they are
// large. Each row is then written about five times more, and less often if much is put at once.
const (
	mergeAt = 8
	// large is the number of chunks from which a segment is not merged any more. Merging eight that are almost as large takes some seconds,
	// once in so many chunks.
	large = 1 << 14
	// mergeRows is about how many rows are merged at a time.
	mergeRows = 2048
	// mergeLock is the advisory lock of programs that merge: "merge" in ASCII.
	mergeLock = 0x6d65726765
)

const (
	sqlSmall = `select segment, bits, chunks from treeline_index.segment where chunks < $1 order by segment`

	// Chunks without a row were replaced or removed. No chunk is added to an existing segment.
	sqlLive = `select c.id from treeline_index.segment s cross join unnest(s.ids) as i(id) join treeline_index.chunk c on c.id = i.id
		where s.segment = any($1) order by c.id`

	// The rows of one part: all keys that begin with certain bits.
	sqlPart = `select s.first, s.bits, p.bucket, p.data from treeline_index.segment s join treeline_index.posting p on p.segment = s.segment
			and p.bucket >= $3::integer << (s.bits - $2::integer) and p.bucket < ($3::integer + 1) << (s.bits - $2::integer)
		where s.segment = any($1) order by s.first`

	sqlDrop = `with gone as (delete from treeline_index.segment where segment = any($1)) delete from treeline_index.posting where segment = any($1)`
)

// segment is a row of the table.
type segment struct {
	number        int64
	width, chunks int
}

// merge merges segments if there are many small ones. If it fails, or another program is merging, searches take longer, and the next put
// merges them.
func merge(ctx context.Context, p *pgdb.Pool) {
	for {
		list, err := small(ctx, p)
		if err != nil || choose(list) == nil {
			return
		}
		merged := false
		err = pgdb.BeginFunc(ctx, p, func(tx *pgdb.Tx) (err error) {
			merged, err = mergeOnce(ctx, tx)
			return err
		})
		if err != nil || !merged {
			return
		}
	}
}

// small returns the segments that are not large.
func small(ctx context.Context, db querier) (list []segment, err error) {
	rows, err := db.Query(ctx, sqlSmall, large)
	if err != nil {
		return nil, err
	}
	return pgdb.CollectRows(rows, func(r pgdb.Row) (s segment, err error) {
		return s, r.Scan(&s.number, &s.width, &s.chunks)
	})
}

// choose returns segments to merge, nil if there are none: those of up to 7 chunks, of up to 63, and so on.
func choose(list []segment) []segment {
	var levels [bits.UintSize][]segment
	for _, s := range list {
		level := &levels[(bits.Len(uint(s.chunks))-1)/3]
		if *level = append(*level, s); len(*level) == mergeAt {
			return *level
		}
	}
	return nil
}

// mergeOnce merges segments. It returns false if there is nothing to merge, or another program is merging.
func mergeOnce(ctx context.Context, tx *pgdb.Tx) (bool, error) {
	var mine bool
	const begin = "select pg_try_advisory_xact_lock($1), set_config('synchronous_commit', 'off', true)"
	if err := tx.QueryRow(ctx, begin, int64(mergeLock)).Scan(&mine, nil); err != nil || !mine {
		return false, err
	}
	list, err := small(ctx, tx)
	if list = choose(list); err != nil || list == nil {
		return false, err
	}
	var old []int64
	rows, chunks, least := 0, 0, 32
	for _, s := range list {
		old = append(old, s.number)
		rows, chunks, least = rows+1<<s.width, chunks+s.chunks, min(least, s.width)
	}
	m := merger{tx: tx, old: old, width: bits.Len(uint(rows)) - 1}
	if err := m.begin(ctx); err != nil {
		return false, err
	}
	m.dead = len(m.live) < chunks
	if len(m.live) > 0 {
		width := min(least, bits.Len(uint(rows/mergeRows)))
		for part := range 1 << width {
			if err := m.part(ctx, width, part); err != nil {
				return false, err
			}
		}
	}
	return true, m.finish(ctx)
}

// merger makes one segment of several.
type merger struct {
	tx     *pgdb.Tx
	old    []int64 // numbers of the segments
	number int64   // number of the new segment
	width  int
	live   []int64 // ids of chunks that exist
	dead   bool    // some chunks do not exist any more
}

// begin finds out which chunks exist.
func (m *merger) begin(ctx context.Context) error {
	batch := &pgdb.Batch{}
	batch.Queue(sqlNumbers, 1).QueryRow(func(r pgdb.Row) error { return r.Scan(&m.number) })
	batch.Queue(sqlLive, m.old).Query(func(rows *pgdb.Rows) (err error) {
		m.live, err = pgdb.CollectRows(rows, pgdb.RowTo[int64])
		return err
	})
	return m.tx.SendBatch(ctx, batch).Close()
}

// part merges the keys that begin with certain bits.
func (m *merger) part(ctx context.Context, prefix, part int) error {
	rows, err := m.tx.Query(ctx, sqlPart, m.old, prefix, part)
	if err != nil {
		return err
	}
	var list []run
	var first int64
	var width int
	var b bucket
	err = pgdb.ForEachRow(rows, []any{&first, &width, &b.number, &b.data}, func() error {
		return b.runs(first, width, func(r run) bool {
			list = append(list, r)
			return true
		})
	})
	if err != nil {
		return err
	}
	order := make(pairs, len(list))
	for i := range list {
		order[i] = uint64(list[i].key)<<32 | uint64(i)
	}
	order = order.sort()
	w := writer{first: m.live[0], width: m.width}
	var ids []int64
	for len(order) > 0 {
		ids = ids[:0]
		key := order[0] >> 32
		for ; len(order) > 0 && order[0]>>32 == key; order = order[1:] {
			ids = list[uint32(order[0])].ids(ids)
		}
		sort(ids)
		if m.dead {
			ids = both(ids, m.live)
		}
		if len(ids) > 0 {
			w.add(uint32(key), ids)
		}
	}
	batch := &pgdb.Batch{}
	queueBuckets(batch, m.number, w.list)
	return m.tx.SendBatch(ctx, batch).Close()
}

// finish replaces the old segments by the new one. If none of their chunks exists, there is no new one.
func (m *merger) finish(ctx context.Context) error {
	batch := &pgdb.Batch{}
	batch.Queue(sqlDrop, m.old)
	if len(m.live) > 0 {
		queueSegment(batch, m.number, m.width, m.live)
	}
	return m.tx.SendBatch(ctx, batch).Close()
}
