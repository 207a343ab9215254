package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/internal/pgtest"
)

// An active agent, by assumption: it writes one entry of entrySize bytes in entryEvery, for workday.
const (
	entrySize  = 1700
	entryEvery = 10 * time.Second
	workday    = 8 * time.Hour
)

// perAppend is what one append costs, as measured.
type perAppend struct {
	wal, table float64       // bytes
	commits    float64       // with many writers: appends share them
	latency    time.Duration // with one writer
	most       float64       // appends in a second, 64 sessions over 32 connections
}

// scale measures the cost of an append and derives from it what many agents need; and it distributes sessions over shards.
func scale(b *bench) {
	if c := measureAppends(b); c != nil {
		for _, agents := range []float64{1e3, 1e4, 1e5} {
			b.add(c.needs(agents))
		}
	}
	for _, shards := range []int{4, 16, 64} {
		for _, l := range loads {
			b.add(l.over(shards))
		}
	}
}

// measureAppends appends to a server that syncs to the disk; nil if there is none.
func measureAppends(b *bench) *perAppend {
	s, err := pgtest.Launch(pgtest.Options{Durable: true})
	if errors.Is(err, pgtest.ErrAbsent) {
		fmt.Fprintln(os.Stderr, "postgres: left out:", err)
		return nil
	}
	check(err)
	defer s.Close()
	ctx := context.Background()
	first := must(pgx.Connect(ctx, s.URL("")))
	defer first.Close(ctx)
	d := &databaseBench{b: b, url: s.URL(""), record: slices.Repeat([]byte("r"), entrySize-1), first: first} // and a newline
	number := func(sql string) (v float64) {
		check(first.QueryRow(ctx, sql).Scan(&v))
		return v
	}
	const (
		written = "select (pg_current_wal_lsn() - '0/0')::float8"
		stored  = "select pg_total_relation_size('treeline.record')::float8"
		commits = "select xact_commit::float8 from pg_stat_database where datname = current_database()"
	)
	blobs(d, number, written)
	c := &perAppend{}
	// One writer: the time of an append, and its bytes.
	n := b.size(10_000)
	write := func(sessions, connections, n int) time.Duration {
		be := d.open(connections)
		defer be.Close()
		at := make([]backend.Log, sessions)
		for i := range at {
			at[i] = must(be.Create(ctx, fmt.Sprintf("scale/%d/%d.jsonl", d.logs+i, n)))
		}
		d.logs += sessions
		must(first.Exec(ctx, "checkpoint"))
		start := time.Now()
		each(sessions, func(i int) {
			for range n {
				at[i] = must(be.Append(ctx, at[i], d.record))
			}
		})
		return time.Since(start)
	}
	write(1, 1, 10) // makes the tables
	wal, table := number(written), number(stored)
	c.latency = write(1, 1, n) / time.Duration(n)
	c.wal, c.table = (number(written)-wal)/float64(n), (number(stored)-table)/float64(n)
	settle := func() float64 { time.Sleep(2 * time.Second); return number(commits) } // the server's counters are late
	before := settle()
	many := float64(64 * n / 20)
	c.most = many / write(64, 32, n/20).Seconds()
	c.commits = (settle() - before) / many
	b.add(row{what: "postgres: an append of 1.7 KB", figure: fmt.Sprintf("%.0f B of write-ahead log, %.0f B of table and index", c.wal, c.table),
		baseline: fmt.Sprintf("%.2f ms alone; %.0f/s and %.2f commits each, 64 sessions over 32 connections", c.latency.Seconds()*1e3, c.most, c.commits)})
	return c
}

// blobs measures blobs of several sizes beside files that are synced, as an object store writes them.
func blobs(d *databaseBench, number func(sql string) float64, written string) {
	ctx := context.Background()
	be := d.open(1)
	defer be.Close()
	must(be.Create(ctx, "blobs.jsonl")) // makes the tables
	store, r := be.Blobs(""), rand.NewChaCha8([32]byte{1})
	dir := must(os.MkdirTemp(d.b.dir, "blobs"))
	for _, size := range []int{100_000, 1_000_000, 10_000_000} {
		all := make([][]byte, max(d.b.size(50_000_000)/size, 1))
		for i := range all {
			all[i] = make([]byte, size)
			must(r.Read(all[i]))
		}
		refs := make([]blob.Ref, len(all))
		must(d.first.Exec(ctx, "checkpoint"))
		wal, start := number(written), time.Now()
		for i := range all {
			refs[i] = must(store.Put(ctx, all[i]))
		}
		put := time.Since(start)
		wal = number(written) - wal
		start = time.Now()
		for _, ref := range refs {
			f := must(store.Open(ctx, ref))
			must(io.Copy(io.Discard, f))
			check(f.Close())
		}
		read := time.Since(start)
		start = time.Now()
		for i := range all {
			f := must(os.CreateTemp(dir, ""))
			must(f.Write(all[i]))
			check(errors.Join(f.Sync(), f.Close()))
		}
		file := time.Since(start)
		total := float64(size * len(all))
		rate := func(t time.Duration) float64 { return total / 1e6 / t.Seconds() }
		d.b.add(row{what: fmt.Sprintf("postgres (elapsed): blobs of %s, written", mb(int64(size))), ratio: times(file, put),
			figure: fmt.Sprintf("%.3g MB/s, read %.3g MB/s, %.3g B of write-ahead log for each byte", rate(put), rate(read), wal/total), baseline: fmt.Sprintf("synced files %.3g MB/s", rate(file))})
	}
}

// needs derives what so many agents need. Connections are those that are busy on average (rate times latency), doubled so
// that bursts do not wait.
func (c *perAppend) needs(agents float64) row {
	rate := agents / entryEvery.Seconds()
	rows := rate * workday.Seconds()
	servers := math.Ceil(rate / (c.most / 2)) // half of what a server can do, so that it keeps up after a pause
	return row{
		what: fmt.Sprintf("postgres: %.0f active agents (derived)", agents),
		figure: fmt.Sprintf("%.0f appends/s, %.2g MB/s of write-ahead log, %.0f commits/s; a day: %.0f million rows, %.0f GB",
			rate, rate*c.wal/1e6, rate*c.commits, rows/1e6, rows*c.table/1e9),
		baseline: fmt.Sprintf("%.0f pooled connections, %.0f servers like this one", math.Ceil(2*rate*c.latency.Seconds())+1, servers),
	}
}

// load is how sessions write: the appends of each, in some unit.
type load struct {
	what string
	of   func(r *rand.Rand, i int) float64
}

// loads of 100,000 sessions.
var loads = []load{
	{"all alike", func(*rand.Rand, int) float64 { return 1 }},
	// With this spread one session in a hundred writes a hundred times as much as the median.
	{"log-normal, one in a hundred writes 100 times the median", func(r *rand.Rand, _ int) float64 { return math.Exp(2 * r.NormFloat64()) }},
	{"all alike, and 10 hot sessions with 1,000 times as much", func(_ *rand.Rand, i int) float64 {
		if i < 10 {
			return 1000
		}
		return 1
	}},
}

// over distributes the sessions as a database does that shards by log: by the key of the log, a hash of its name. The ratio is
// that of the busiest shard to the mean.
func (l load) over(shards int) row {
	const sessions = 100_000
	r := rand.New(rand.NewPCG(1, 1))
	busy, count := make([]float64, shards), make([]float64, shards)
	sum, hottest := 0.0, 0.0
	for i := range sessions {
		key := sha256.Sum256(fmt.Appendf(nil, "machine-%08x/omp/--work--/%032x.jsonl", i%1000, i))
		shard := binary.BigEndian.Uint64(key[:8]) % uint64(shards)
		n := l.of(r, i)
		busy[shard] += n
		count[shard]++
		sum, hottest = sum+n, max(hottest, n)
	}
	mean := sum / float64(shards)
	return row{what: fmt.Sprintf("shards: %d sessions over %d, %s", sessions, shards, l.what), figure: fmt.Sprintf("the busiest shard has %.3g of the mean", slices.Max(busy)/mean),
		baseline: fmt.Sprintf("%.3g of the mean in sessions; the hottest session is %.2g of a shard", slices.Max(count)*float64(shards)/sessions, hottest/mean)}
}
