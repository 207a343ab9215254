package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/internal/pgdb"
	"github.com/treeline-dev/treeline/internal/sorting"
)

const (
	sqlMark = `select xid::text, encoding, pg_snapshot_xmin(pg_current_snapshot())::text, xid > pg_snapshot_xmin(pg_current_snapshot())
		from treeline_index.mark`

	// The feed of backend/postgres, without changes that the index knows already, and without logs that belong to no source. Transaction
	// ids increase, so an index on them finds what is new.
	sqlFeed = `select l.name, l.removed is not null, l.xid::text, pg_snapshot_xmin(pg_current_snapshot())::text, i.entry, coalesce(i.chunks, 0)
		from treeline.log l left join treeline_index.log i on i.log = l.log
		where l.xid >= $1::text::xid8 and l.name like '%/%/%' and case when l.removed is null
			then i.log is null or i.generation <> l.generation::text or i.size <> l.size
			else i.log is not null end
		order by l.xid limit $2`

	sqlAdvance = `insert into treeline_index.mark (xid, encoding) values ($1::text::xid8, $2)
		on conflict (single) do update set xid = case when $3 then excluded.xid else greatest(mark.xid, excluded.xid) end,
			encoding = excluded.encoding`

	sqlLock = `select log, generation, size from treeline_index.log where log = any($1) order by log for update`

	// Locks logs that the index does not know yet, and tells which of them have been removed since they were read. The feed leaves out
	// removed logs that the index does not know, so one that is put after its removal would stay. A removal waits for this lock, an append
	// does not.
	sqlGone = `select removed is not null from treeline.log where log = any($1) order by log for key share`

	// A log that was made again meanwhile, and that another program has put, is not forgotten: its change is no longer in the feed. The rows
	// are locked before this statement begins, so it sees everything that the other program has put.
	sqlForget = `with gone as (delete from treeline_index.log i where i.log = any($1) and not exists (
				select from treeline.log l where l.log = i.log and l.removed is null and l.generation::text = i.generation and l.size = i.size)
			returning i.log)
		delete from treeline_index.chunk c using gone where c.log = gone.log`

	// sqlNew and sqlChunks insert nothing if another program has put the log. sqlRenew is for a row that is locked.
	sqlNew = `insert into treeline_index.log (log, name, source, generation, size, entry, chunks, session, run, id, dialect, cwd, heading,
			at, made, used, touched, messages, tokens, cost, models, has, first, parent, origin)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25)
		on conflict (log) do nothing`
	sqlRenew = `update treeline_index.log set name = $2, source = $3, generation = $4, size = $5, entry = $6, chunks = $7, session = $8, run = $9,
			id = $10, dialect = $11, cwd = $12, heading = $13, at = $14, made = $15, used = $16, touched = $17, messages = $18, tokens = $19,
			cost = $20, models = $21, has = $22, first = $23, parent = $24, origin = $25
		where log = $1`

	sqlModels = `insert into treeline_index.model select unnest($1::text[]) on conflict do nothing`

	sqlCut = `delete from treeline_index.chunk where log = $1 and n >= $2`

	sqlNumbers = `select nextval('treeline_index.number') from generate_series(1, $1::integer)`

	sqlChunks = `insert into treeline_index.chunk (log, n, id, start, stop, flags, whole, ids) select * from
		unnest($1::uuid[], $2::integer[], $3::bigint[], $4::bigint[], $5::bigint[], $6::integer[], $7::boolean[], $8::bytea[])
		on conflict do nothing`

	sqlSegment = `insert into treeline_index.segment (segment, first, last, bits, chunks, ids) values ($1, $2, $3, $4, $5, $6)`

	sqlBuckets = `insert into treeline_index.posting (segment, bucket, data) select $1, * from unnest($2::integer[], $3::bytea[])`
)

// Changes implements index.Shared.
func (x *Index) Changes(ctx context.Context, most int) (now index.Changes, err error) {
	err = x.db.Write(ctx, func(p *pgdb.Pool, _ bool) error {
		now = index.Changes{}
		from, err := x.begin(ctx, p)
		if err != nil {
			return err
		}
		batch := &pgdb.Batch{}
		batch.Queue(sqlFeed, from, most).Query(func(rows *pgdb.Rows) error { return feed(rows, from, most, &now) })
		batch.Queue(sqlPending, most).Query(func(rows *pgdb.Rows) (err error) {
			now.Compare, err = pending(rows)
			return err
		})
		return none(p.SendBatch(ctx, batch).Close())
	})
	if err = refused(err); errors.Is(err, index.ErrReadOnly) {
		if empty := x.db.Read(ctx, func(*pgdb.Pool) error { return nil }); errors.Is(empty, pgdb.ErrEmpty) {
			return index.Changes{}, fmt.Errorf("the database has no index yet, and this program cannot make one: %s", errors.Unwrap(err))
		}
	}
	return now, err
}

// feed reads rows of sqlFeed.
func feed(rows *pgdb.Rows, from string, most int, now *index.Changes) error {
	var name, by, oldest string
	var gone bool
	var entry []byte
	var chunks int
	err := pgdb.ForEachRow(rows, []any{&name, &gone, &by, &oldest, &entry, &chunks}, func() (err error) {
		// A list that is full may lack some changes of its last transaction.
		now.Mark = index.Mark(lesser(by, oldest))
		source, rest, ok := split(name)
		if !ok {
			return nil
		}
		c := index.Change{Source: source, Name: rest, Gone: gone}
		if entry != nil {
			if c.Known, err = found(source, entry, chunks); err != nil {
				return err
			}
		}
		now.Logs, from = append(now.Logs, c), oldest
		return nil
	})
	if len(now.Logs) < most {
		now.Mark = index.Mark(from)
	}
	return err
}

// refused wraps ErrReadOnly around an error that means that the database refuses writes of this program.
func refused(err error) error {
	var pg *pgconn.PgError
	if errors.Is(err, pgdb.ErrReadOnly) || errors.As(err, &pg) && pg.Code == "42501" {
		return fmt.Errorf("%w: %w", index.ErrReadOnly, err)
	}
	return err
}

// none returns nil for the error that there are no tables of logs yet, and other errors as they are.
func none(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && (pg.Code == "42P01" || pg.Code == "3F000") {
		return nil
	}
	return err
}

// lesser returns the smaller of two transaction ids.
func lesser(a, b string) string {
	if len(a) < len(b) || len(a) == len(b) && a < b {
		return a
	}
	return b
}

// begin returns the mark. It begins anew if the tables were made with another encoding, or on another server.
func (x *Index) begin(ctx context.Context, p *pgdb.Pool) (from string, err error) {
	var encoding int64
	var now string
	var ahead bool
	err = p.QueryRow(ctx, sqlMark).Scan(&from, &encoding, &now, &ahead)
	switch {
	case errors.Is(err, pgdb.ErrNoRows):
		return "0", nil
	case err != nil:
		return "", err
	case encoding > index.EncodingVersion:
		return "", fmt.Errorf("%w: the index was made by a newer program", pgdb.ErrSchema)
	case encoding < index.EncodingVersion:
		_, err := p.Exec(ctx, "truncate treeline_index.log, treeline_index.chunk, treeline_index.segment, treeline_index.posting, treeline_index.model, treeline_index.mark, treeline_index.pending")
		return "0", err
	case ahead:
		_, err := p.Exec(ctx, sqlAdvance, "0", int64(index.EncodingVersion), true)
		return "0", err
	}
	return from, nil
}

// Put implements index.Shared.
func (x *Index) Put(ctx context.Context, mark index.Mark, updates ...index.Update) error {
	return refused(x.db.Write(ctx, func(p *pgdb.Pool, _ bool) error {
		err := pgdb.BeginFunc(ctx, p, func(tx *pgdb.Tx) error {
			if err := put(ctx, tx, updates); err != nil || mark == "" {
				return err
			}
			_, err := tx.Exec(ctx, sqlAdvance, string(mark), int64(index.EncodingVersion), false)
			return err
		})
		if err != nil {
			return err
		}
		if hasChunks(updates) {
			merge(ctx, p)
		}
		return nil
	}))
}

func hasChunks(updates []index.Update) bool {
	return slices.ContainsFunc(updates, func(u index.Update) bool {
		return slices.ContainsFunc(u.Put, func(l index.Log) bool { return len(l.Chunks) > 0 })
	})
}

// entry is a log to put.
type entry struct {
	source string
	log    [16]byte
	*index.Log
}

func put(ctx context.Context, tx *pgdb.Tx, updates []index.Update) error {
	var list []entry
	var gone [][16]byte
	var compare, compared groups
	for u := range updates {
		compare, compared = append(compare, updates[u].Compare...), append(compared, updates[u].Compared...)
		for i := range updates[u].Put {
			l := &updates[u].Put[i]
			list = append(list, entry{updates[u].Source, key(updates[u].Source, l.Name), l})
		}
		for _, name := range updates[u].Remove {
			gone = append(gone, key(updates[u].Source, name))
		}
	}
	// In the order of keys, so that no two transactions deadlock.
	sorting.By(list, func(a, b entry) int { return bytes.Compare(a.log[:], b.log[:]) })
	chunks, keys := 0, 0
	for _, e := range list {
		chunks += len(e.Chunks)
		for i := range e.Chunks {
			keys += len(e.Chunks[i].Words) + len(e.Chunks[i].Grams)
		}
	}
	known, ids, err := lock(ctx, tx, list, gone, &compared, chunks)
	if err != nil {
		return err
	}
	var models []string
	rows := chunkRows{keys: make(pairs, 0, keys)}
	batch, overtaken := &pgdb.Batch{}, false
	for _, e := range list {
		was, there := known[e.log]
		if there != (e.Before != nil) || there && (was.generation != e.Before.Generation || was.size != e.Before.Size) {
			return index.ErrOvertaken
		}
		keep, sql := e.ChunkCount(), sqlNew
		if there {
			batch.Queue(sqlCut, e.log, keep)
			sql = sqlRenew
		}
		batch.Queue(sql, e.columns()...).Exec(func(tag pgconn.CommandTag) error {
			overtaken = overtaken || tag.RowsAffected() != 1
			return nil
		})
		models = append(models, texts(e.Summary.Models)...)
		for n := range e.Chunks {
			rows.add(e.log, keep+n, e.Log, n)
		}
	}
	if len(gone) > 0 {
		batch.Queue(sqlForget, gone)
	}
	slices.Sort(models) // for the same reason
	if models = slices.Compact(models); len(models) > 0 {
		batch.Queue(sqlModels, models)
	}
	if chunks > 0 {
		rows.queue(batch, ids, &overtaken)
	}
	compare.queue(batch, sqlCompare)
	compared.queue(batch, sqlCompared)
	if batch.Len() == 0 {
		return nil
	}
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}
	if overtaken {
		return index.ErrOvertaken
	}
	return nil
}

// stamp is the stamp of the log that a row describes.
type stamp struct {
	generation string
	size       int64
}

// lock locks the rows to change or delete, the groups that were compared, and logs that are new to the index, and returns ids for new
// chunks, in order. It fails with index.ErrOvertaken if a new log has been removed. The commit does not wait for the disk: if the server
// crashes, the index loses some logs together with the mark that says that they were read.
func lock(ctx context.Context, tx *pgdb.Tx, list []entry, gone [][16]byte, compared *groups, chunks int) (known map[[16]byte]stamp, ids []int64, err error) {
	keys, unknown := slices.Grow(slices.Clone(gone), len(list)), [][16]byte{}
	for i := range list {
		keys = append(keys, list[i].log)
		if list[i].Before == nil {
			unknown = append(unknown, list[i].log)
		}
	}
	known = map[[16]byte]stamp{}
	batch := &pgdb.Batch{}
	batch.Queue("select set_config('synchronous_commit', 'off', true)")
	batch.Queue(sqlLock, keys).Query(func(rows *pgdb.Rows) error {
		var log [16]byte
		var s stamp
		err := pgdb.ForEachRow(rows, []any{&log, &s.generation, &s.size}, func() error {
			known[log] = s
			return nil
		})
		return err
	})
	if len(unknown) > 0 {
		batch.Queue(sqlGone, unknown).Query(func(rows *pgdb.Rows) error {
			gone, err := pgdb.CollectRows(rows, pgdb.RowTo[bool])
			if err == nil && slices.Contains(gone, true) {
				err = index.ErrOvertaken
			}
			return err
		})
	}
	compared.claim(batch)
	batch.Queue(sqlNumbers, chunks).Query(func(rows *pgdb.Rows) (err error) {
		ids, err = pgdb.CollectRows(rows, pgdb.RowTo[int64])
		return err
	})
	return known, ids, tx.SendBatch(ctx, batch).Close()
}

// columns returns the arguments of sqlNew and sqlRenew.
func (e *entry) columns() []any {
	s, f := &e.Summary, e.Facts
	if f == nil {
		f = &index.Facts{}
	}
	return []any{e.log, e.source + "/" + e.Name, e.source, e.Stamp.Generation, e.Stamp.Size, index.EncodeLog(e.Log), e.ChunkCount() + len(e.Chunks),
		s.Session && !f.Left, f.Run, text(f.ID), s.Dialect, text(f.CWD), folded(f.Heading), f.When, f.Made, f.Used, f.Touched,
		s.Messages, s.Tokens.Total, s.Cost, texts(s.Models), int(s.Has), int64(s.First), text(index.LastPart(f.Parent)), text(string(s.Origin))}
}

// chunkRows are rows of chunk, column by column, and their keys.
type chunkRows struct {
	logs   [][16]byte
	places []int32
	starts []int64
	stops  []int64
	flags  []int32
	whole  []bool
	hashes [][]byte
	keys   pairs
}

// add adds chunk n of l.Chunks; at is its index in the log.
func (r *chunkRows) add(log [16]byte, at int, l *index.Log, n int) {
	c := &l.Chunks[n]
	hashes := []byte{}
	if n < len(l.IDs) {
		for _, id := range l.IDs[n] {
			hashes = binary.LittleEndian.AppendUint32(hashes, id)
		}
	}
	r.keys = r.keys.add(c, len(r.logs))
	r.logs, r.places, r.hashes = append(r.logs, log), append(r.places, int32(at)), append(r.hashes, hashes)
	r.starts, r.stops = append(r.starts, c.From), append(r.stops, c.To)
	r.flags, r.whole = append(r.flags, int32(c.Flags)), append(r.whole, c.All())
}

// queue adds the insertion of the rows, and of a segment with their keys, to a batch. ids has an id for each row. It sets overtaken if a
// row exists already.
func (r *chunkRows) queue(batch *pgdb.Batch, ids []int64, overtaken *bool) {
	batch.Queue(sqlChunks, r.logs, r.places, ids, r.starts, r.stops, r.flags, r.whole, r.hashes).Exec(func(tag pgconn.CommandTag) error {
		*overtaken = *overtaken || tag.RowsAffected() != int64(len(ids))
		return nil
	})
	list, width := invert(r.keys, ids)
	queueSegment(batch, ids[0], width, ids)
	queueBuckets(batch, ids[0], list)
}

// queueSegment adds the insertion of a segment to a batch. Its number is one that no chunk and no segment has, or the id of one of its
// chunks.
func queueSegment(batch *pgdb.Batch, number int64, width int, ids []int64) {
	batch.Queue(sqlSegment, number, ids[0], ids[len(ids)-1], width, len(ids), ids)
}

func queueBuckets(batch *pgdb.Batch, segment int64, list []bucket) {
	numbers, data := make([]int32, len(list)), make([][]byte, len(list))
	for i := range list {
		numbers[i], data[i] = list[i].number, list[i].data
	}
	batch.Queue(sqlBuckets, segment, numbers, data)
}
