package main

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/remote"
	"github.com/treeline-dev/treeline/internal/pgtest"
)

// An active agent, by assumption: it writes one entry of entrySize bytes in entryEvery, for workday.
const (
	entrySize  = 1700
	entryEvery = 10 * time.Second
	workday    = 8 * time.Hour
	// checkpoint is the time between two checkpoints of a server, by default. The first change of a page after a checkpoint
	// writes the whole page to the write-ahead log.
	checkpoint = 5 * time.Minute
)

// perAppend is the measured cost of one append.
type perAppend struct {
	wal     float64 // bytes of write-ahead log, with the pages after a checkpoint
	pages   float64 // bytes of pages of tables and indexes that are written
	table   float64 // bytes that the tables of records grow
	dead    float64 // bytes that the table of logs grows, until a vacuum
	commits float64
	syncs   float64 // of the write-ahead log: commits at the same time share one
	cpu     float64 // seconds of the database server; 0: not known
	most    float64 // most appends per second
}

// costs are the costs of agents in several configurations.
type costs struct {
	latency time.Duration // of one append, with one writer
	direct  perAppend     // each agent has a connection
	shared  perAppend     // agents append through one process
	https   perAppend     // the process is a server, and agents are its clients
	cpu     time.Duration // of that server, for an append
	memory  float64       // bytes of an idle connection; 0: not known
	held    float64       // connections of an agent that connects
}

// scale measures the cost of an append, derives from it what many agents need, and distributes sessions over shards.
func scale(b *bench) {
	s, err := pgtest.Launch(pgtest.Options{Durable: true, Settings: []string{"shared_buffers = 512MB"}})
	if errors.Is(err, pgtest.ErrAbsent) {
		b.leaveOut("postgres scale", err)
	} else {
		check(err)
		defer s.Close()
		m := newScale(b, s)
		defer m.first.Close(context.Background())
		blobs(m.databaseBench, m.number, sqlWritten)
		c := m.costs()
		for _, agents := range []float64{1e3, 1e4, 1e5} {
			c.needs(b, agents)
		}
	}
	for _, shards := range []int{4, 16, 64} {
		for _, l := range loads {
			b.add(l.over(shards))
		}
	}
}

// Counters of the server. A connection's counters are complete when it is closed.
const (
	sqlWritten = "select (pg_current_wal_lsn() - '0/0')::float8"
	sqlRecords = "select pg_total_relation_size('treeline.record')::float8"
	sqlLogs    = "select pg_total_relation_size('treeline.log')::float8"
	sqlCommits = "select xact_commit::float8 from pg_stat_database where datname = current_database()"
	sqlSyncs   = "select wal_sync::float8 from pg_stat_wal"
	sqlSyncs18 = "select sum(fsyncs)::float8 from pg_stat_io where object = 'wal'"
	sqlPages   = "select (buffers_checkpoint + buffers_clean + buffers_backend)::float8 * 8192 from pg_stat_bgwriter"
	sqlPages17 = "select (c.buffers_written + w.buffers_clean)::float8 * 8192 from pg_stat_checkpointer c, pg_stat_bgwriter w"
)

// scaleBench measures agents on one server.
type scaleBench struct {
	*databaseBench
	server  *pgtest.Server
	version float64
}

func newScale(b *bench, s *pgtest.Server) *scaleBench {
	first := must(pgx.Connect(context.Background(), s.URL("")))
	m := &scaleBench{&databaseBench{b: b, url: s.URL(""), record: bytes.Repeat([]byte("r"), entrySize-1), first: first}, s, 0} // and a newline
	m.version = m.number("select current_setting('server_version_num')::float8")
	return m
}

func (m *scaleBench) number(sql string) (v float64) {
	check(m.first.QueryRow(context.Background(), sql).Scan(&v))
	return v
}

// counters returns the figures of perAppend, as sums since the server started.
func (m *scaleBench) counters() (list [7]float64) {
	must(m.first.Exec(context.Background(), "checkpoint"))
	time.Sleep(2 * time.Second) // the server updates its counters late
	syncs, pages := sqlSyncs, sqlPages
	if m.version >= 180_000 {
		syncs = sqlSyncs18
	}
	if m.version >= 170_000 {
		pages = sqlPages17
	}
	for i, sql := range []string{sqlWritten, pages, sqlRecords, sqlLogs, sqlCommits, syncs} {
		list[i] = m.number(sql)
	}
	list[6] = serverTime(int(m.number("select pg_backend_pid()::float8")))
	return list
}

// costs measures all costs.
func (m *scaleBench) costs() (c costs) {
	n := m.b.size(2000)
	alone := m.writers(1, 1)
	c.latency = m.write(alone, m.made(alone, 1), 1, n) / time.Duration(n)
	closeAll(alone)
	m.b.add(row{what: "postgres (elapsed): an append alone", figure: ms(c.latency), baseline: fmt.Sprintf("a record of %d B", entrySize)})

	logs := m.b.size(2000)
	c.direct = m.measure("each agent over a connection of its own", m.writers(32, 1), 32, logs)
	c.shared = m.measure("agents through one process with 32 connections", m.writers(1, 32), 512, logs)
	home := filepath.Join(m.b.dir, "scale")
	check(os.MkdirAll(home, 0o700))
	a := &archive{b: m.b, server: m.server, admin: m.first, p: m.b.program(home)}
	a.serve(m.url, func(url string) {
		c.https = m.measure("64 agents through treeline serve, https", a.clients(url, 64), 64, logs)
	})
	c.cpu = a.spent / time.Duration(logs*m.appendsEach())
	m.b.add(row{what: "postgres: CPU of treeline serve for an append", figure: ms(c.cpu)})
	c.memory, c.held = m.memory(50)
	return c
}

// appendsEach returns how often an agent writes between two checkpoints.
func (m *scaleBench) appendsEach() int { return int(checkpoint / entryEvery) }

// measure lets agents write to some logs as often as they do between two checkpoints, and returns the cost of an append.
func (m *scaleBench) measure(what string, all []backend.Backend, writers, logs int) (c perAppend) {
	n := m.appendsEach()
	at := m.made(all, logs)
	before := m.counters()
	took := m.write(all, at, writers, n)
	closeAll(all)
	after := m.counters()
	for i, v := range []*float64{&c.wal, &c.pages, &c.table, &c.dead, &c.commits, &c.syncs, &c.cpu} {
		*v = (after[i] - before[i]) / float64(logs*n)
	}
	c.most = float64(logs*n) / took.Seconds()
	m.b.add(row{what: fmt.Sprintf("postgres: an append of %d B, %s", entrySize, what),
		figure:   fmt.Sprintf("%.0f B of write-ahead log, %.0f B of pages; records grow %.0f B, logs %.0f B until a vacuum", c.wal, c.pages, c.table, c.dead),
		baseline: fmt.Sprintf("%d logs, %d appends each: %.0f/s, %.2f commits, %.2f syncs and %.3f ms of CPU of the server for an append", logs, n, c.most, c.commits, c.syncs, c.cpu*1e3)})
	return c
}

// writers opens the database n times, like processes that have so many connections.
func (m *scaleBench) writers(n, connections int) (list []backend.Backend) {
	for range n {
		list = append(list, m.open(connections))
	}
	return list
}

// clients opens a server n times, like agents in processes of their own.
func (a *archive) clients(url string, n int) (list []backend.Backend) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(must(os.ReadFile(filepath.Join(a.b.dir, "cert.pem"))))
	opt := remote.Options{Roots: roots, Token: func(string) (string, error) { return benchToken, nil }}
	for range n {
		list = append(list, must(remote.Open(url, opt, backend.OpenOptions{Below: "bench-00000001/omp"})))
	}
	return list
}

func closeAll(list []backend.Backend) {
	for _, b := range list {
		check(b.Close())
	}
}

// made makes logs with as many records as fill a page of their index, so that each of them has pages of its own.
func (m *scaleBench) made(all []backend.Backend, logs int) []backend.Log {
	ctx := context.Background()
	at, early := make([]backend.Log, logs), make([][]byte, 200)
	for i := range early {
		early[i] = []byte("{}")
	}
	each(len(all), func(w int) {
		for i := w; i < logs; i += len(all) {
			at[i] = must(all[w].Create(ctx, fmt.Sprintf("%d/%d.jsonl", m.logs, i), early...))
		}
	})
	m.logs++
	return at
}

// write appends to logs, n times to each, with so many concurrent appends. The logs take turns, as those of agents do.
func (m *scaleBench) write(all []backend.Backend, at []backend.Log, writers, n int) time.Duration {
	start := time.Now()
	each(writers, func(w int) {
		for range n {
			for i := w; i < len(at); i += writers {
				at[i] = must(all[i%len(all)].Append(context.Background(), at[i], m.record))
			}
		}
	})
	return time.Since(start)
}

// memory measures the memory of an idle connection that has appended, if the system reports it, and how many connections a process keeps.
func (m *scaleBench) memory(n int) (memory, held float64) {
	ctx := context.Background()
	all := m.writers(n, 8) // the default number
	defer closeAll(all)
	at := m.made(all, n)
	for range 3 { // an agent pauses between two appends
		time.Sleep(time.Second)
		m.write(all, at, 1, 1)
	}
	time.Sleep(time.Second)
	found := must(m.first.Query(ctx, "select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()"))
	pids := must(pgx.CollectRows(found, pgx.RowTo[int]))
	sum := 0.0
	for _, pid := range pids {
		own, err := privateMemory(pid)
		if err != nil {
			return 0, 1
		}
		sum += own
	}
	own, held := sum/float64(len(pids)), float64(len(pids))/float64(n)
	m.b.add(row{what: "postgres: memory of an idle connection", figure: mb(int64(own)), baseline: fmt.Sprintf("%.3g connections for a process that appends now and then", held)})
	return own, held
}

// serverTime returns the CPU time of all processes of a database server in seconds, including those that have ended. pid is one of them.
// Only Linux reports it; elsewhere it is 0.
func serverTime(pid int) float64 {
	const parent, user, system, endedUser, endedSystem = 1, 11, 12, 13, 14 // field numbers after the name of the program
	of := func(path string) (list []float64) {
		data, _ := os.ReadFile(path) // the process may have ended
		_, rest, _ := strings.Cut(string(data), ") ")
		for _, f := range strings.Fields(rest) {
			v, _ := strconv.ParseFloat(f, 64) // the first one is a letter
			list = append(list, v)
		}
		return list
	}
	one := of(fmt.Sprintf("/proc/%d/stat", pid))
	if len(one) <= endedSystem {
		return 0
	}
	server := of(fmt.Sprintf("/proc/%.0f/stat", one[parent]))
	if len(server) <= endedSystem {
		return 0
	}
	ticks := server[user] + server[system] + server[endedUser] + server[endedSystem]
	paths, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is valid
	for _, path := range paths {
		if p := of(path); len(p) > endedSystem && p[parent] == one[parent] {
			ticks += p[user] + p[system]
		}
	}
	return ticks / 100 // of a second, on all systems that Go knows
}

// privateMemory returns the memory that a process does not share. Only Linux reports it.
func privateMemory(pid int) (sum float64, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) == 3 && strings.HasPrefix(f[0], "Private_") {
			kb, _ := strconv.ParseFloat(f[1], 64) // the kernel writes a number
			sum += kb * 1024
		}
	}
	return sum, err
}

// needs adds rows of what so many agents need. The fewest syncs are those of a busy server, where appends share them; the most are one for
// each append.
func (c *costs) needs(b *bench, agents float64) {
	rate := agents / entryEvery.Seconds()
	add := func(what, figure, baseline string) {
		b.add(row{what: fmt.Sprintf("postgres: %.0f active agents (derived): %s", agents, what), figure: figure, baseline: baseline})
	}
	rows := rate * workday.Seconds()
	add("a day", fmt.Sprintf("%.3g million rows, %.3g GB of records, %.3g GB of write-ahead log", rows/1e6, rows*c.https.table/1e9, rows*c.https.wal/1e9),
		fmt.Sprintf("%.0f appends/s", rate))
	way := func(name string, p *perAppend, connections float64, baseline string) {
		cores := fmt.Sprintf("%.2g busy cores of the database", rate*c.direct.cpu)
		if p != &c.direct { // a range, as for syncs
			cores = fmt.Sprintf("%.2g to %s", rate*p.cpu, cores)
		}
		add(name, fmt.Sprintf("%.2g MB/s of write-ahead log, %.2g MB/s of pages, %.0f to %.0f syncs/s, %.0f connections",
			rate*p.wal/1e6, rate*p.pages/1e6, rate*p.syncs, rate, connections), fmt.Sprintf("%s; %s", cores, baseline))
	}
	way("each connects", &c.direct, agents*c.held, fmt.Sprintf("%.3g GB of memory for idle connections", agents*c.held*c.memory/1e9))
	// Connections that are busy on average (rate times latency), doubled so that bursts do not wait, and one for notices.
	way("through https", &c.https, math.Ceil(2*rate*c.latency.Seconds())+1, fmt.Sprintf("%.2g cores of treeline serve", rate*c.cpu.Seconds()))
}
