// Package postgres keeps the tokens of a server and its audit log in PostgreSQL, next to the logs of the archive.
//
// The tables are in a schema of their own, so that a role may have access to the logs but not to the tokens. A server needs the rights to
// select, insert and update. This program never changes or removes records of the audit log.
package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/treeline-dev/treeline/access"
	"github.com/treeline-dev/treeline/internal/pgdb"
)

//go:embed migration/*.sql
var migrations embed.FS

const (
	sqlAdd = `insert into treeline_access.token (token, cookie, name, owner, machine, writes, projects, created, expires, used, revoked)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) on conflict (token) do nothing`

	columns = `name, owner, machine, writes, projects, created, expires, used, revoked`

	sqlList = `select ` + columns + ` from treeline_access.token order by name, created`

	sqlFind = `select token, cookie, ` + columns + ` from treeline_access.token where token = $1 or cookie = $1`

	sqlRevoke = `update treeline_access.token set revoked = $2 where name = $1 and revoked is null returning ` + columns

	// If the answer to a revocation was lost, the token has that time of revocation.
	sqlRevoked = `select ` + columns + ` from treeline_access.token where name = $1 and revoked = $2`

	sqlTouch = `update treeline_access.token t set used = u.at from unnest($1::text[], $2::timestamptz[]) as u (name, at)
		where t.name = u.name and t.revoked is null and (t.used is null or t.used < u.at)`

	sqlNote = `insert into treeline_access.audit (batch, n, at, token, owner, machine, address, action, target, project, outcome, reason, count)
		select $1, row_number() over (), r.* from unnest($2::timestamptz[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
			$9::text[], $10::text[], $11::text[], $12::integer[]) as r on conflict do nothing`

	sqlRecords = `select at, token, owner, machine, address, action, target, project, outcome, reason, count from treeline_access.audit
		where ($1 = '' or token = $1) and ($2 = '' or owner = $2) and ($3 = '' or outcome = $3) and ($4::timestamptz is null or at >= $4)
			and ($5::timestamptz is null or at < $5) order by at desc, batch, n desc limit $6`
)

// Options are the options of a book.
type Options struct {
	// Random is the source of the numbers of batches.
	Random io.Reader
}

// Book has the tokens and the audit log in a database. It connects when it is first used, and creates its tables with the first write.
type Book struct {
	db     *pgdb.DB
	random io.Reader
}

var _ access.Book = (*Book)(nil)

// Open opens the book of a database, by the URL of the archive. It makes no connection yet.
func Open(url string, opt Options) (*Book, error) {
	db, err := pgdb.Open(url, pgdb.Options{Schema: pgdb.Schema{Name: "treeline_access", Files: migrations}})
	if err != nil {
		return nil, err
	}
	return &Book{db, opt.Random}, nil
}

// Close implements access.Book.
func (b *Book) Close() error {
	b.db.Close()
	return nil
}

// read is pgdb.Read for a database that may have no tokens yet.
func (b *Book) read(ctx context.Context, do func(p *pgdb.Pool) error) error {
	err := b.db.Read(ctx, do)
	if errors.Is(err, pgdb.ErrEmpty) {
		return nil
	}
	return err
}

// Add implements access.Book. A token whose addition was sent twice is added once.
func (b *Book) Add(ctx context.Context, g access.Grant, k access.Keys) error {
	if err := g.Validate(); err != nil {
		return err
	}
	projects := g.Projects
	if projects == nil {
		projects = []string{}
	}
	err := b.db.Write(ctx, func(p *pgdb.Pool, _ bool) error {
		_, err := p.Exec(ctx, sqlAdd, k.Token[:], k.Cookie[:], g.Name, g.User, g.Machine, g.Write, projects, g.Created,
			null(g.Expires), null(g.Used), null(g.Revoked))
		return err
	})
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "23505" { // unique
		return fmt.Errorf("%q: %w", g.Name, access.ErrExist)
	}
	return err
}

// null returns nil for a missing time.
func null(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// grant reads a row. before are the columns that precede those of the grant.
func grant(row pgdb.Row, before ...any) (g access.Grant, err error) {
	var expires, used, revoked *time.Time
	err = row.Scan(append(before, &g.Name, &g.User, &g.Machine, &g.Write, &g.Projects, &g.Created, &expires, &used, &revoked)...)
	for to, from := range map[*time.Time]*time.Time{&g.Expires: expires, &g.Used: used, &g.Revoked: revoked} {
		if from != nil {
			*to = *from
		}
	}
	if len(g.Projects) == 0 {
		g.Projects = nil
	}
	return g, err
}

// List implements access.Book.
func (b *Book) List(ctx context.Context) (list []access.Grant, err error) {
	err = b.read(ctx, func(p *pgdb.Pool) error {
		rows, err := p.Query(ctx, sqlList)
		if err != nil {
			return err
		}
		list, err = pgdb.CollectRows(rows, func(row pgdb.Row) (access.Grant, error) { return grant(row) })
		return err
	})
	return list, err
}

// Revoke implements access.Book.
func (b *Book) Revoke(ctx context.Context, name string, at time.Time) (g access.Grant, err error) {
	at = at.Truncate(time.Microsecond) // the database has this precision
	err = b.db.Write(ctx, func(p *pgdb.Pool, again bool) (err error) {
		if g, err = grant(p.QueryRow(ctx, sqlRevoke, name, at)); again && errors.Is(err, pgdb.ErrNoRows) {
			g, err = grant(p.QueryRow(ctx, sqlRevoked, name, at))
		}
		return err
	})
	if errors.Is(err, pgdb.ErrNoRows) {
		err = fmt.Errorf("%q: %w", name, access.ErrNoToken)
	}
	return g, err
}

// Find implements access.Book. The index finds the row by the hash, from which nothing can be learned about the token.
func (b *Book) Find(ctx context.Context, sum access.Sum) (g access.Grant, err error) {
	var token, cookie []byte
	err = b.db.Read(ctx, func(p *pgdb.Pool) (err error) {
		g, err = grant(p.QueryRow(ctx, sqlFind, sum[:]), &token, &cookie)
		return err
	})
	if errors.Is(err, pgdb.ErrEmpty) || errors.Is(err, pgdb.ErrNoRows) {
		return access.Grant{}, access.ErrNoToken
	}
	if err != nil {
		return access.Grant{}, err
	}
	var keys access.Keys
	copy(keys.Token[:], token)
	copy(keys.Cookie[:], cookie)
	if !keys.Has(sum) {
		return access.Grant{}, access.ErrNoToken
	}
	return g, nil
}

// Touch implements access.Book.
func (b *Book) Touch(ctx context.Context, used map[string]time.Time) error {
	var names []string
	var times []time.Time
	for name, at := range used {
		names, times = append(names, name), append(times, at)
	}
	return b.db.Write(ctx, func(p *pgdb.Pool, _ bool) error {
		_, err := p.Exec(ctx, sqlTouch, names, times)
		return err
	})
}

// Note implements access.Book.
func (b *Book) Note(ctx context.Context, records ...access.Record) error {
	var batch [16]byte
	if _, err := io.ReadFull(b.random, batch[:]); err != nil {
		return fmt.Errorf("number of a batch: %w", err)
	}
	var times []time.Time
	var texts [9][]string
	var counts []int32
	for _, r := range records {
		times, counts = append(times, r.Time), append(counts, int32(r.Count))
		for i, text := range []string{r.Token, r.User, r.Machine, r.Address, r.Action, r.Target, r.Project, string(r.Outcome), r.Reason} {
			texts[i] = append(texts[i], text)
		}
	}
	return b.db.Write(ctx, func(p *pgdb.Pool, _ bool) error {
		args := []any{batch, times}
		for _, list := range texts {
			args = append(args, list)
		}
		_, err := p.Exec(ctx, sqlNote, append(args, counts)...)
		return err
	})
}

// Records implements access.Book.
func (b *Book) Records(ctx context.Context, q access.Query) (list []access.Record, err error) {
	var limit *int
	if q.Limit > 0 {
		limit = &q.Limit
	}
	list = []access.Record{}
	err = b.read(ctx, func(p *pgdb.Pool) error {
		rows, err := p.Query(ctx, sqlRecords, q.Token, q.User, string(q.Outcome), null(q.Since), null(q.Until), limit)
		if err != nil {
			return err
		}
		list, err = pgdb.CollectRows(rows, func(row pgdb.Row) (r access.Record, err error) {
			err = row.Scan(&r.Time, &r.Token, &r.User, &r.Machine, &r.Address, &r.Action, &r.Target, &r.Project, &r.Outcome, &r.Reason, &r.Count)
			return r, err
		})
		return err
	})
	return list, err
}
