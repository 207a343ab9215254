package postgres

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/internal/pgdb"
)

const (
	sqlMark = `select xid::text, encoding, pg_snapshot_xmin(pg_current_snapshot())::text, xid > pg_snapshot_xmin(pg_current_snapshot())
		from treeline_index.mark`

	// The feed of backend/postgres, without what the index knows already. Transactions count up, so an index leads to what is new.
	sqlFeed = `select l.name, l.removed is not null, l.xid::text, pg_snapshot_xmin(pg_current_snapshot())::text, i.entry, coalesce(i.chunks, 0)
		from treeline.log l left join treeline_index.log i on i.log = l.log
		where l.xid >= $1::text::xid8 and case when l.removed is null
			then i.log is null or i.generation <> l.generation::text or i.size <> l.size
			else i.log is not null end
		order by l.xid limit $2`

	sqlAdvance = `insert into treeline_index.mark (xid, encoding) values ($1::text::xid8, $2)
		on conflict (single) do update set xid = case when $3 then excluded.xid else greatest(mark.xid, excluded.xid) end,
			encoding = excluded.encoding`

	sqlLock = `select log, generation, size from treeline_index.log where log = any($1) order by log for update`

	sqlForget = `with gone as (delete from treeline_index.log where log = any($1))
		delete from treeline_index.chunk where log = any($1)`

	// sqlNew inserts nothing if another program has put the log. sqlRenew is for a row that is locked.
	sqlNew = `insert into treeline_index.log (log, name, source, generation, size, entry, chunks, session, run, id, dialect, cwd, heading,
			at, made, used, touched, messages, tokens, cost, models, has, first, parent)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24)
		on conflict (log) do nothing`
	sqlRenew = `update treeline_index.log set name = $2, source = $3, generation = $4, size = $5, entry = $6, chunks = $7, session = $8, run = $9,
			id = $10, dialect = $11, cwd = $12, heading = $13, at = $14, made = $15, used = $16, touched = $17, messages = $18, tokens = $19,
			cost = $20, models = $21, has = $22, first = $23, parent = $24
		where log = $1`

	sqlModels = `insert into treeline_index.model select unnest($1::text[]) on conflict do nothing`

	sqlCut = `delete from treeline_index.chunk where log = $1 and n >= $2`
)

// Changes implements index.Shared.
func (x *Index) Changes(ctx context.Context, most int) (list []index.Change, mark index.Mark, err error) {
	err = x.db.Write(ctx, func(p *pgxpool.Pool, _ bool) error {
		list, mark = nil, ""
		from, err := x.begin(ctx, p)
		if err != nil {
			return err
		}
		rows, err := p.Query(ctx, sqlFeed, from, most)
		if err != nil {
			return none(err)
		}
		defer rows.Close()
		for rows.Next() {
			var name, by, oldest string
			var gone bool
			var entry []byte
			var chunks int
			if err := rows.Scan(&name, &gone, &by, &oldest, &entry, &chunks); err != nil {
				return err
			}
			// Of a list that is full, what the last transaction wrote may not be all here.
			mark = index.Mark(lesser(by, oldest))
			source, rest, ok := split(name)
			if !ok {
				continue
			}
			c := index.Change{Source: source, Name: rest, Gone: gone}
			if entry != nil {
				if c.Known, err = found(source, entry, chunks); err != nil {
					return err
				}
			}
			list = append(list, c)
			from = oldest
		}
		x.more.Store(len(list) == most)
		if len(list) < most {
			mark = index.Mark(from)
		}
		return none(rows.Err())
	})
	if err = refused(err); errors.Is(err, index.ErrReadOnly) {
		if empty := x.db.Read(ctx, func(*pgxpool.Pool) error { return nil }); errors.Is(empty, pgdb.ErrEmpty) {
			return nil, "", fmt.Errorf("the database has no index yet, and this program cannot make one: %s", errors.Unwrap(err))
		}
	}
	return list, mark, err
}

// refused says that the database takes no writes of this program.
func refused(err error) error {
	var pg *pgconn.PgError
	if errors.Is(err, pgdb.ErrReadOnly) || errors.As(err, &pg) && pg.Code == "42501" {
		return fmt.Errorf("%w: %w", index.ErrReadOnly, err)
	}
	return err
}

// none: there are no tables of logs yet.
func none(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && (pg.Code == "42P01" || pg.Code == "3F000") {
		return nil
	}
	return err
}

// lesser is the smaller of two numbers of transactions.
func lesser(a, b string) string {
	if len(a) < len(b) || len(a) == len(b) && a < b {
		return a
	}
	return b
}

// begin gives the mark. It begins anew if the tables were made with another encoding, or in another server.
func (x *Index) begin(ctx context.Context, p *pgxpool.Pool) (from string, err error) {
	var encoding int64
	var now string
	var ahead bool
	err = p.QueryRow(ctx, sqlMark).Scan(&from, &encoding, &now, &ahead)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return "0", nil
	case err != nil:
		return "", err
	case encoding > index.EncodingVersion:
		return "", fmt.Errorf("%w: the index was made by a newer program", pgdb.ErrSchema)
	case encoding < index.EncodingVersion:
		_, err := p.Exec(ctx, "truncate treeline_index.log, treeline_index.chunk, treeline_index.model, treeline_index.mark")
		return "0", err
	case ahead:
		_, err := p.Exec(ctx, sqlAdvance, "0", int64(index.EncodingVersion), true)
		return "0", err
	}
	return from, nil
}

// Put implements index.Shared.
func (x *Index) Put(ctx context.Context, mark index.Mark, updates ...index.Update) error {
	return refused(x.db.Write(ctx, func(p *pgxpool.Pool, _ bool) error {
		err := pgx.BeginFunc(ctx, p, func(tx pgx.Tx) error {
			if err := put(ctx, tx, updates); err != nil || mark == "" {
				return err
			}
			_, err := tx.Exec(ctx, sqlAdvance, string(mark), int64(index.EncodingVersion), false)
			return err
		})
		if err != nil {
			return err
		}
		waiting := x.waiting.Add(keysOf(updates))
		if waiting > 0 && mark != "" && !x.more.Load() || waiting > waitingMost {
			x.waiting.Add(-waiting)
			settle(ctx, p)
		}
		return nil
	}))
}

// waitingMost is how many keys may wait. A key takes about 20 bytes in the list, which has 128 MB.
const waitingMost = 4_000_000

func keysOf(updates []index.Update) (n int64) {
	for u := range updates {
		for l := range updates[u].Put {
			for _, c := range updates[u].Put[l].Chunks {
				n += int64(len(c.Words) + len(c.Grams))
			}
		}
	}
	return n
}

// settle moves the keys that wait to the GIN index. If it cannot, because only the owner of the index may, searches read the list,
// and the server moves them when it vacuums the table or when the list is full.
func settle(ctx context.Context, p *pgxpool.Pool) {
	batch := &pgx.Batch{}
	batch.Queue("select set_config('maintenance_work_mem', '256MB', true)") // for the keys of the whole list
	batch.Queue("select gin_clean_pending_list('treeline_index.chunk_keys')")
	_ = p.SendBatch(ctx, batch).Close()
}

// entry is a log to put.
type entry struct {
	source string
	log    [16]byte
	*index.Log
}

func put(ctx context.Context, tx pgx.Tx, updates []index.Update) error {
	var list []entry
	var gone [][16]byte
	for u := range updates {
		for i := range updates[u].Put {
			l := &updates[u].Put[i]
			list = append(list, entry{updates[u].Source, key(updates[u].Source, l.Name), l})
		}
		for _, name := range updates[u].Remove {
			gone = append(gone, key(updates[u].Source, name))
		}
	}
	// In the order of keys, so that no two transactions wait for each other.
	slices.SortFunc(list, func(a, b entry) int { return bytes.Compare(a.log[:], b.log[:]) })
	known, err := lock(ctx, tx, list)
	if err != nil {
		return err
	}
	var models []string
	var chunks [][]any
	batch, overtaken := &pgx.Batch{}, false
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
			chunks = append(chunks, chunkRow(e.log, keep+n, e.Log, n))
		}
	}
	if len(gone) > 0 {
		batch.Queue(sqlForget, gone)
	}
	slices.Sort(models) // as above
	if models = slices.Compact(models); len(models) > 0 {
		batch.Queue(sqlModels, models)
	}
	if batch.Len() == 0 {
		return nil
	}
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}
	if overtaken {
		return index.ErrOvertaken
	}
	if len(chunks) == 0 {
		return nil
	}
	_, err = tx.CopyFrom(ctx, pgx.Identifier{"treeline_index", "chunk"},
		[]string{"log", "n", "start", "stop", "flags", "whole", "ids", "words", "grams"}, pgx.CopyFromRows(chunks))
	return err
}

// stamp is what a row says was read.
type stamp struct {
	generation string
	size       int64
}

// lock locks the rows that are to be changed.
func lock(ctx context.Context, tx pgx.Tx, list []entry) (map[[16]byte]stamp, error) {
	keys := make([][16]byte, len(list))
	for i := range list {
		keys[i] = list[i].log
	}
	rows, err := tx.Query(ctx, sqlLock, keys)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	known := map[[16]byte]stamp{}
	for rows.Next() {
		var log [16]byte
		var s stamp
		if err := rows.Scan(&log, &s.generation, &s.size); err != nil {
			return nil, err
		}
		known[log] = s
	}
	return known, rows.Err()
}

// columns are the arguments of sqlNew and sqlRenew.
func (e *entry) columns() []any {
	s, f := &e.Summary, e.Facts
	if f == nil {
		f = &index.Facts{}
	}
	return []any{e.log, e.source + "/" + e.Name, e.source, e.Stamp.Generation, e.Stamp.Size, index.EncodeLog(e.Log), e.ChunkCount() + len(e.Chunks),
		s.Session, f.Run, text(f.ID), s.Dialect, text(f.CWD), folded(f.Heading), f.When, f.Made, f.Used, f.Touched,
		s.Messages, s.Tokens.Total, s.Cost, texts(s.Models), int(s.Has), int64(s.First), text(index.LastPart(f.Parent))}
}

// chunkRow is the row of a chunk. Of a key 32 bits are kept: that two words have the same ones only costs time.
func chunkRow(log [16]byte, at int, l *index.Log, n int) []any {
	c := &l.Chunks[n]
	words := make([]int32, len(c.Words))
	for i, w := range c.Words {
		words[i] = wordKey(w)
	}
	grams := make([]int16, len(c.Grams))
	for i, g := range c.Grams {
		grams[i] = int16(g)
	}
	ids := []byte{}
	if n < len(l.IDs) {
		for _, id := range l.IDs[n] {
			ids = binary.LittleEndian.AppendUint32(ids, id)
		}
	}
	return []any{log, at, c.From, c.To, int(c.Flags), c.All(), ids, distinct(words), grams}
}

func wordKey(key uint64) int32 { return int32(uint32(key >> 32)) }

// distinct sorts keys and leaves out those that are there twice.
func distinct[T cmp.Ordered](keys []T) []T {
	slices.Sort(keys)
	return slices.Compact(keys)
}
