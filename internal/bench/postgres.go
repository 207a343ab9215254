package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/postgres"
	"github.com/treeline-dev/treeline/internal/pgtest"
)

// bareSchema is the least that compare-and-swap on logs needs.
const bareSchema = `create table public.bare_log (id int primary key, size bigint not null);
	create table public.bare_record (id int, position bigint, data bytea not null, primary key (id, position))`

// bareAppend is one statement: a loop over it is the baseline of appends.
const bareAppend = `with head as (update public.bare_log set size = size + length($3::bytea) where id = $1 and size = $2 returning id),
	body as (insert into public.bare_record select id, $2, $3 from head) select id from head`

// database measures logs in PostgreSQL beside loops of bare statements on the same server. It measures the time that passes: most
// of the work is the server's. It starts a server that syncs to the disk.
func database(b *bench) {
	s, err := pgtest.Launch(pgtest.Options{Durable: true})
	if errors.Is(err, pgtest.ErrAbsent) {
		b.leaveOut("postgres", err)
		return
	}
	check(err)
	defer s.Close()
	ctx := context.Background()
	first := must(pgx.Connect(ctx, s.URL("")))
	defer first.Close(ctx)
	must(first.Exec(ctx, bareSchema))
	d := &databaseBench{b: b, url: s.URL(""), record: bytes.Repeat([]byte("r"), 1700), first: first}
	d.appends("1 session, 1 connection", 1, 1, b.size(4000))
	d.appends("64 sessions, 32 connections", 64, 32, b.size(400))
	d.read(20_000)
	d.cost(b.size(10_000))
}

type databaseBench struct {
	b      *bench
	url    string
	record []byte
	first  *pgx.Conn
	logs   int // number of logs made so far, on the bare side
}

// turns measures two functions in many short turns, alternating which is first, and returns the median of each. Slow moments of a disk that
// syncs then affect both.
func (d *databaseBench) turns(n int, ours, bare func()) (middle [2]time.Duration) {
	var took [2][]time.Duration
	sides := []func(){ours, bare}
	for turn := range n {
		for i := range sides {
			side := (turn + i) % 2
			runtime.GC()
			start := time.Now()
			sides[side]()
			took[side] = append(took[side], time.Since(start))
		}
	}
	for side, all := range took {
		slices.Sort(all)
		middle[side] = all[len(all)/2]
	}
	return middle
}

// each runs f for 0 to n-1 at once.
func each(n int, f func(i int)) {
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { f(i) })
	}
	group.Wait()
}

// open opens the database as a backend.
func (d *databaseBench) open(connections int) *postgres.Backend {
	return must(postgres.Open(fmt.Sprintf("%s&pool_max_conns=%d", d.url, connections), postgres.Options{}, backend.OpenOptions{Below: "bench"}))
}

// appends measures n appends to each of some sessions.
func (d *databaseBench) appends(what string, sessions, connections, n int) {
	ctx := context.Background()
	be := d.open(connections)
	defer be.Close()
	at := make([]backend.Log, sessions)
	for i := range at {
		at[i] = must(be.Create(ctx, fmt.Sprintf("%s/%d.jsonl", what, i)))
	}
	conns := make([]*pgx.Conn, connections)
	sizes, base := make([]int64, sessions), d.logs
	for i := range conns {
		conns[i] = must(pgx.Connect(ctx, d.url))
		defer conns[i].Close(ctx)
	}
	for i := range sizes {
		must(d.first.Exec(ctx, "insert into public.bare_log values ($1, 0)", base+i))
	}
	d.logs += sessions
	const turns = 20
	n = max(1, n/turns)
	middle := d.turns(turns, func() {
		each(sessions, func(i int) {
			for range n {
				at[i] = must(be.Append(ctx, at[i], d.record))
			}
		})
	}, func() {
		each(connections, func(c int) {
			for range n {
				for i := c; i < sessions; i += connections {
					var id int
					check(conns[c].QueryRow(ctx, bareAppend, base+i, sizes[i], d.record).Scan(&id))
					sizes[i] += int64(len(d.record))
				}
			}
		})
	})
	rate := func(t time.Duration) string { return fmt.Sprintf("%.0f/s", float64(sessions*n)/t.Seconds()) }
	d.b.add(row{what: "postgres (elapsed): append, " + what, figure: rate(middle[0]), baseline: "bare statement " + rate(middle[1]),
		ratio: times(middle[1], middle[0]), target: 0.7})
}

// read measures reading a session of n records.
func (d *databaseBench) read(n int) {
	ctx := context.Background()
	be := d.open(4)
	defer be.Close()
	records := make([][]byte, n)
	for i := range records {
		records[i] = d.record
	}
	at := must(be.Create(ctx, "read.jsonl", records...))
	middle := d.turns(3*d.b.rounds, func() {
		for _, err := range be.Read(ctx, at, 0) {
			check(err)
		}
	}, func() {
		found := must(d.first.Query(ctx, `select data from treeline.record r join treeline.log l using (log, generation)
			where l.name = 'bench/read.jsonl' order by position`))
		var data pgtype.DriverBytes
		for found.Next() {
			check(found.Scan(&data))
		}
		check(found.Err())
	})
	d.b.add(row{what: fmt.Sprintf("postgres (elapsed): read %d records", n), figure: ms(middle[0]), baseline: "bare select " + ms(middle[1]),
		ratio: times(middle[1], middle[0]), target: 0.5})
}

// cost measures what an append leaves on the disk of the server: in its write-ahead log, and in the tables.
func (d *databaseBench) cost(n int) {
	ctx := context.Background()
	be := d.open(1)
	defer be.Close()
	at := must(be.Create(ctx, "cost.jsonl"))
	number := func(sql string) (v int64) {
		check(d.first.QueryRow(ctx, sql).Scan(&v))
		return v
	}
	const (
		written = "select (pg_current_wal_lsn() - '0/0')::bigint"
		records = "select pg_total_relation_size('treeline.record')"
	)
	must(d.first.Exec(ctx, "checkpoint"))
	wal, table := number(written), number(records)
	for range n {
		at = must(be.Append(ctx, at, d.record))
	}
	per := func(sql string, before int64) string { return fmt.Sprintf("%d B", (number(sql)-before)/int64(n)) }
	baseline := fmt.Sprintf("a record of %d B", len(d.record)+1)
	d.b.add(row{what: "postgres: write-ahead log per append", figure: per(written, wal), baseline: baseline})
	d.b.add(row{what: "postgres: table and index per record", figure: per(records, table), baseline: baseline})
}
