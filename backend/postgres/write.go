package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/pgdb"
	"github.com/treeline-dev/treeline/internal/spill"
)

// A mutation is a statement of three parts: the head changes the row of the log if it is what the caller saw, the body inserts records, and
// retire marks the old generation as retired. Its first parameters are the key of the log and the rows of the body.
const (
	body = `), body as (insert into treeline.record (log, generation, position, data)
		select head.log, head.generation, r.position, r.data from head, unnest($2::bigint[], $3::bytea[]) as r (position, data))`
	retireOld  = `, old as (insert into treeline.retired select log, generation - 1, now() + interval '30 days' from head)`
	retireThis = `, old as (insert into treeline.retired select log, generation, now() + interval '30 days' from head)`
	forget     = `, claims as (delete from treeline.blob_claim c using head where c.log = head.log)`
	result     = ` select generation, changed from head`

	appendHead = `with head as (update treeline.log
		set size = size + $6, torn = false, changed = now(), writer = $7, xid = pg_current_xact_id()
		where log = $1 and generation = $4 and size = $5 and torn = $8 and removed is null
		returning log, generation, changed`
	sqlAppend = appendHead + body + result

	// An append of one row, the most frequent mutation of agents. Without arrays it takes the server a fifth less time.
	sqlAppendOne = appendHead + `), body as (insert into treeline.record (log, generation, position, data)
		select log, generation, $2::bigint, $3::bytea from head)` + result

	// Nothing can be made below a log or in the place of a folder. '0' is the character after '/'. $9 are the keys of logs above this one.
	sqlCreate = `with head as (insert into treeline.log as l (log, name, generation, size, torn, changed, writer, xid, mark)
		select $1::uuid, $4::text, 1, $5::bigint, $6::boolean, now(), $7::text, pg_current_xact_id(), coalesce($8::text, '')
		where not exists (select from treeline.log where log = any($9::uuid[]) and removed is null)
		and not exists (select from treeline.log where name > $4::text || '/' and name < $4::text || '0' and removed is null)
		on conflict (log) do update set generation = l.generation + 1, size = excluded.size, torn = excluded.torn,
			changed = excluded.changed, writer = excluded.writer, xid = excluded.xid, mark = excluded.mark, removed = null
		where l.removed is not null
		returning log, generation, changed` + body + result

	sqlReplace = `with head as (update treeline.log
		set generation = generation + 1, size = $6, torn = $7, changed = now(), writer = $8, xid = pg_current_xact_id(), mark = coalesce($9, mark)
		where log = $1 and generation = $4 and size = $5 and removed is null
		returning log, generation, changed` + body + retireOld + result

	// A removal waits for programs that put the log into an index (index/postgres), as an update alone would not.
	sqlRemove = `with seen as (select log from treeline.log where log = $1 and generation = $4 and size = $5 and removed is null for update),
		head as (update treeline.log l
		set removed = now(), changed = now(), writer = $6, xid = pg_current_xact_id()
		from seen where l.log = seen.log
		returning l.log, l.generation, l.changed` + body + retireThis + forget + result

	// Finds out why a log could not be made.
	sqlTaken = `select exists (select from treeline.log where log = any($1::uuid[]) and removed is null),
		exists (select from treeline.log where name > $2 || '/' and name < $2 || '0' and removed is null)`
)

// longest is the largest size of a name in bytes: it has to fit into an index.
const longest = 2000

// mutation is one of these statements with its parameters.
type mutation struct {
	sql  string
	name string
	log  key
	args []any // after the rows
	body content
	base int64 // position of the body
	// generation is that of the body's records, if it is known; 0 for a new log.
	generation int64
	// size is the size of the log afterwards.
	size int64
	// claims are the blobs to record in treeline.blob_claim for a limited writer; nil for none.
	claims [][]byte
}

// token returns the generation that a caller saw. One that is not ours matches no log.
func token(at backend.Log) (generation int64) {
	generation, err := strconv.ParseInt(at.Generation, 10, 64)
	if err != nil || generation <= 0 || strconv.FormatInt(generation, 10) != at.Generation {
		return -1
	}
	return generation
}

// after returns the Log that a mutation returns.
func (m *mutation) after(generation int64, changed time.Time) backend.Log {
	return backend.Log{Name: m.name, Generation: strconv.FormatInt(generation, 10), Size: m.size, Time: changed.UTC()}
}

// errUnmatched: the log is not what the caller saw.
var errUnmatched = errors.New("no such row")

// database is a pool or a transaction.
type database interface {
	Begin(ctx context.Context) (*pgdb.Tx, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgdb.Row
}

// large reports whether the rows are sent with COPY.
func (m *mutation) large() bool {
	return m.body.size > inline || m.body.size > few && m.sql != sqlAppend
}

// run executes a mutation; errUnmatched if it changed nothing.
func (m *mutation) run(ctx context.Context, p database) (now backend.Log, err error) {
	if m.large() {
		return m.runLarge(ctx, p)
	}
	r, err := m.body.rows(m.base)
	if err != nil {
		return backend.Log{}, err
	}
	sql, parameters := m.statement(r)
	return m.result(p.QueryRow(ctx, sql, parameters...))
}

// statement returns the statement for some rows, and its parameters.
func (m *mutation) statement(r rows) (sql string, parameters []any) {
	if m.sql == sqlAppend && len(r.data) == 1 {
		sql, parameters = sqlAppendOne, append([]any{m.log, r.positions[0], r.data[0]}, m.args...)
	} else {
		sql, parameters = m.sql, append([]any{m.log, r.positions, r.data}, m.args...)
	}
	if m.claims != nil {
		parameters = append(parameters, m.claims)
		sql = strings.TrimSuffix(sql, result) + fmt.Sprintf(claim, len(parameters)) + result
	}
	return sql, parameters
}

func (m *mutation) result(row pgdb.Row) (backend.Log, error) {
	var generation int64
	var changed time.Time
	err := row.Scan(&generation, &changed)
	if errors.Is(err, pgdb.ErrNoRows) {
		return backend.Log{}, errUnmatched
	}
	if err != nil {
		return backend.Log{}, err
	}
	return m.after(generation, changed), nil
}

// runLarge is run for a body that is too large for parameters: the statement without rows, then COPY, as one transaction.
func (m *mutation) runLarge(ctx context.Context, p database) (now backend.Log, err error) {
	err = pgdb.BeginFunc(ctx, p, func(tx *pgdb.Tx) error {
		sql, parameters := m.statement(rows{[]int64{}, [][]byte{}})
		now, err = m.result(tx.QueryRow(ctx, sql, parameters...))
		if err != nil {
			return err
		}
		_, err := tx.CopyFrom(ctx, pgdb.Identifier{"treeline", "record"}, []string{"log", "generation", "position", "data"},
			&source{cutter: m.body.cut(m.base), log: m.log, generation: token(now)})
		return err
	})
	return now, err
}

// mutate runs a mutation to its end. sent: an earlier attempt may have been executed. unmatched is the error if the log is not what the
// caller saw.
func (b *Backend) mutate(ctx context.Context, m *mutation, sent bool, unmatched error) (now backend.Log, err error) {
	err = b.write(ctx, func(p *pgdb.Pool, again bool) error {
		now, err = m.run(ctx, p)
		if errors.Is(err, errUnmatched) && (again || sent) {
			return b.recognise(ctx, p, m, &now)
		}
		return err
	})
	if errors.Is(err, errUnmatched) {
		err = fmt.Errorf("%s: %w", m.name, unmatched)
	}
	if err != nil {
		return backend.Log{}, err
	}
	b.wrote(m)
	return now, nil
}

// wrote tells watchers and the purge about a mutation.
func (b *Backend) wrote(m *mutation) {
	b.notices.changed(b.prefix + m.name)
	switch m.sql {
	case sqlReplace, sqlRemove, sqlCut:
		b.purge()
	}
}

// recognise finds out whether an earlier attempt of a mutation was executed: then its bytes are where the mutation puts them.
func (b *Backend) recognise(ctx context.Context, p *pgdb.Pool, m *mutation, now *backend.Log) error {
	row, err := b.row(ctx, p, m.log)
	if err != nil {
		return err
	}
	generation := m.generation
	if generation == 0 {
		generation = row.generation
	}
	same := row.generation == generation
	switch {
	case row.generation < generation,
		same && row.size < m.size,
		m.body.size == 0 && !(same && row.size == m.size), // nothing to compare
		row.removed != (m.sql == sqlRemove) && same:
		return errUnmatched
	}
	want := make([]byte, min(m.body.size, piece))
	for at := int64(0); at < m.body.size; {
		n, err := m.body.ReadAt(want, at)
		if n == 0 {
			return err
		}
		from := m.base + at
		have, err := fetch(ctx, p, span{m.log, generation, from, from + int64(n)})
		if errors.Is(err, errGap) || err == nil && !bytes.HasPrefix(have, want[:n]) {
			return errUnmatched
		}
		if err != nil {
			return err
		}
		at += int64(n)
	}
	*now = m.after(generation, row.changed)
	return nil
}

// Create implements backend.Backend.
func (b *Backend) Create(ctx context.Context, name string, records ...[]byte) (backend.Log, error) {
	all, err := b.encode(ctx, name, records)
	if err != nil {
		return backend.Log{}, err
	}
	return b.create(ctx, name, newContent(all, name), nil)
}

// CreateFrom implements backend.Streamer. The records are collected first, in a temporary file if they are many: no connection is held
// while the caller makes them, and the attempt can be repeated.
func (b *Backend) CreateFrom(ctx context.Context, name string, records iter.Seq2[[]byte, error]) (backend.Log, error) {
	if err := b.writable(ctx, name); err != nil {
		return backend.Log{}, err
	}
	var all spill.Bytes
	defer all.Close()
	if err := backend.WriteRecords(&all, name, records); err != nil {
		return backend.Log{}, err
	}
	c, err := collected(&all, name)
	if err != nil {
		return backend.Log{}, err
	}
	return b.create(ctx, name, c, nil)
}

// Restore implements backend.Restorer.
func (b *Backend) Restore(ctx context.Context, name string, bytes []byte) (backend.Log, error) {
	if err := b.writable(ctx, name); err != nil {
		return backend.Log{}, err
	}
	return b.create(ctx, name, newContent(bytes, name), nil)
}

// create makes a log. mark is the mark of an Overwrite, otherwise nil.
func (b *Backend) create(ctx context.Context, name string, c content, mark *string) (backend.Log, error) {
	torn, err := c.torn()
	if err != nil {
		return backend.Log{}, err
	}
	if len(b.prefix)+len(name) > longest {
		return backend.Log{}, fmt.Errorf("%.80s…: %w: it is longer than %d bytes", name, backend.ErrName, longest)
	}
	now, err := b.do(ctx, b.creating(name, c, torn, mark), backend.ErrExist)
	if errors.Is(err, backend.ErrExist) {
		err = b.taken(ctx, name, err)
	}
	return now, err
}

// creating returns the mutation that makes a log.
func (b *Backend) creating(name string, c content, torn bool, mark *string) *mutation {
	return &mutation{sql: sqlCreate, name: name, log: b.key(name), body: c, size: c.size,
		args: []any{b.prefix + name, c.size, torn, b.opt.Writer.Name, mark, b.above(name)}}
}

// above returns the keys of the folders of a name, in which no log may be. An origin is never a log.
func (b *Backend) above(name string) []key {
	list := []key{}
	full := b.prefix + name
	for dir := path.Dir(full); strings.Contains(dir, "/"); dir = path.Dir(dir) {
		list = append(list, keyOf(dir))
	}
	return list
}

// taken returns why a log could not be made: by default because it exists.
func (b *Backend) taken(ctx context.Context, name string, exists error) error {
	var below, folder bool
	err := b.read(ctx, func(p *pgdb.Pool) error {
		return p.QueryRow(ctx, sqlTaken, b.above(name), b.prefix+name).Scan(&below, &folder)
	})
	switch {
	case err != nil:
		return err
	case below:
		return fmt.Errorf("%s: %w: a part of it is a log, not a folder", name, backend.ErrName)
	case folder:
		return fmt.Errorf("%s: %w: it is a folder", name, backend.ErrExist)
	}
	return exists
}

// Replace implements backend.Backend.
func (b *Backend) Replace(ctx context.Context, at backend.Log, records ...[]byte) (backend.Log, error) {
	all, err := b.encode(ctx, at.Name, records)
	if err != nil {
		return backend.Log{}, err
	}
	return b.replace(ctx, at, newContent(all, at.Name), nil)
}

func (b *Backend) replace(ctx context.Context, at backend.Log, c content, mark *string) (backend.Log, error) {
	torn, err := c.torn()
	if err != nil {
		return backend.Log{}, err
	}
	generation := token(at)
	m := &mutation{sql: sqlReplace, name: at.Name, log: b.key(at.Name), body: c, generation: generation + 1, size: c.size,
		args: []any{generation, at.Size, c.size, torn, b.opt.Writer.Name, mark}}
	return b.do(ctx, m, backend.ErrConflict)
}

// Remove implements backend.Backend.
func (b *Backend) Remove(ctx context.Context, at backend.Log) error {
	if err := b.writable(ctx, at.Name); err != nil {
		return err
	}
	generation := token(at)
	m := &mutation{sql: sqlRemove, name: at.Name, log: b.key(at.Name), body: newContent(nil, at.Name), generation: generation, size: at.Size,
		args: []any{generation, at.Size, b.opt.Writer.Name}}
	_, err := b.do(ctx, m, backend.ErrConflict)
	return err
}
