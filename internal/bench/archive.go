package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/postgres"
	"github.com/treeline-dev/treeline/index"
	shared "github.com/treeline-dev/treeline/index/postgres"
	"github.com/treeline-dev/treeline/index/query"
	"github.com/treeline-dev/treeline/index/word"
	"github.com/treeline-dev/treeline/internal/gen"
	"github.com/treeline-dev/treeline/internal/pgtest"
)

// archived measures lists and searches of an archive in PostgreSQL: beside those of the same sessions in files, and as the archive
// grows. It measures the time that passes.
func archived(b *bench) {
	s, err := pgtest.Launch(pgtest.Options{Settings: []string{"shared_buffers = 512MB"}})
	if errors.Is(err, pgtest.ErrAbsent) {
		b.leaveOut("archive", err)
		return
	}
	check(err)
	defer s.Close()
	archivedSearch(b, s.URL(""))
	archivedGrowth(b, s.URL(""))
}

// archivedSearch compares searches with those of files.
func archivedSearch(b *bench, url string) {
	ctx := context.Background()
	sessions, limit := b.size(1000), 0.0
	if b.large {
		sessions, limit = 10_000, 3
	}
	home := filepath.Join(b.dir, "archive")
	agent := filepath.Join(home, ".omp", "agent")
	check(gen.Tree(agent, gen.TreeOptions{Seed: 1, Sessions: sessions, Bytes: int64(sessions) * 14_200}))
	be := must(postgres.Open(url, postgres.Options{}, backend.OpenOptions{Below: "bench-00000001/omp"}))
	root := filepath.Join(agent, "sessions")
	var size int64
	check(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data := must(os.ReadFile(path))
		size += int64(len(data))
		name := filepath.ToSlash(must(filepath.Rel(root, path)))
		_, err = be.Overwrite(ctx, backend.Log{Name: name}, "", bytes.NewReader(data))
		return err
	}))
	check(be.Close())
	options := treeline.Options{Home: home, WorkDir: home, Getenv: func(string) string { return "" }, NoConfig: true, ReadOnly: true}
	options.Cache = filepath.Join(b.dir, "archive-cache")
	files := must(treeline.New(options))
	defer files.Close()
	options.Roots = []string{url}
	options.Backends = []backend.Driver{postgres.Driver(postgres.Options{})}
	options.Indexes = []index.Driver{shared.Driver()}
	archive := must(treeline.New(options))
	defer archive.Close()
	what := fmt.Sprintf("archive (elapsed): %d sessions, %s: ", sessions, mb(size))
	var took [2]time.Duration
	for i, s := range []*treeline.Store{files, archive} {
		start := time.Now()
		must(s.Search(ctx, "nosuchwordanywhere", treeline.SearchOptions{Limit: 20}))
		took[i] = time.Since(start)
	}
	b.add(row{what: what + "first index", figure: ms(took[1]), baseline: "files " + ms(took[0]), ratio: times(took[1], took[0])})
	logs, _ := readLogs(agent)
	for _, q := range choose(logs) {
		if q.most == 0 {
			continue // it reads all records
		}
		best := b.fastest(ctx, q, files, archive)
		b.add(row{what: what + q.what, figure: ms(best[1]), baseline: "files " + ms(best[0]), ratio: times(best[1], best[0]), target: limit, most: true})
	}
	searchedServer(b, archive, url, what, files, choose(logs))
}

// fastest asks two stores in turn and returns the shortest time of each.
func (b *bench) fastest(ctx context.Context, q question, files, other *treeline.Store) (best [2]time.Duration) {
	opt := treeline.SearchOptions{Limit: 20, Regexp: q.args[0] == "--regexp"}
	text := strings.TrimPrefix(strings.Join(q.args, " "), "--regexp ")
	for round := range b.rounds {
		for i, s := range [...]*treeline.Store{files, other} {
			start := time.Now()
			must(s.Search(ctx, text, opt))
			if t := time.Since(start); round == 0 || t < best[i] {
				best[i] = t
			}
		}
	}
	return best
}

// archivedGrowth loads summaries, a hundred times as many at the end as at the beginning, and measures pages and candidates of searches.
func archivedGrowth(b *bench, url string) {
	ctx := context.Background()
	c := must(pgx.Connect(ctx, url))
	defer c.Close(ctx)
	must(c.Exec(ctx, "truncate treeline_index.log, treeline_index.chunk, treeline_index.segment, treeline_index.posting"))
	x := serveArchive(b, url)
	defer x.close()
	few, many := 1000, b.size(100_000)
	if b.large {
		few, many = 10_000, 1_000_000
	}
	var first []time.Duration
	var held [2]int64
	for from, to := 0, few; from < many; from, to = to, many {
		loadSummaries(ctx, x.Index, from, to)
		must(c.Exec(ctx, "vacuum analyze treeline_index.log, treeline_index.chunk, treeline_index.segment, treeline_index.posting"))
		var now []time.Duration
		for _, m := range growing {
			best := time.Hour
			for range b.rounds {
				start := time.Now()
				m.do(ctx, x, to)
				best = min(best, time.Since(start))
			}
			now = append(now, best)
		}
		if held[1] = int64(live()); first == nil {
			first, held[0] = now, held[1]
			continue
		}
		archivedUsage(b, x, many)
		b.add(row{what: fmt.Sprintf("archive: %d sessions: memory of a server", many), figure: mb(held[1]),
			baseline: fmt.Sprintf("%d sessions %s", few, mb(held[0])), ratio: float64(held[1]) / float64(held[0]), target: 3, most: true})
		for i, m := range growing {
			b.add(row{what: fmt.Sprintf("archive (elapsed): %d sessions: %s", many, m.what), figure: ms(now[i]),
				baseline: fmt.Sprintf("%d sessions %s", few, ms(first[i])), ratio: times(now[i], first[i]), target: 3, most: true})
		}
	}
}

// growing are the calls that must not depend on the size of the archive.
var growing = []struct {
	what string
	do   func(ctx context.Context, x *served, n int)
}{
	{"first page of 50", func(ctx context.Context, x *served, _ int) {
		mustLogs(50, must(x.Select(ctx, index.Selection{Sessions: true, Order: index.OrderWhen, Limit: 50})))
	}},
	{"page of 50 in the middle", func(ctx context.Context, x *served, n int) {
		at := &index.Position{Key: int64(n) * 1e9 / 2, When: int64(n) * 1e9 / 2}
		mustLogs(50, must(x.Select(ctx, index.Selection{Sessions: true, Order: index.OrderWhen, Limit: 50, After: at})))
	}},
	{"page of a project", func(ctx context.Context, x *served, _ int) {
		mustLogs(50, must(x.Select(ctx, index.Selection{Sessions: true, CWDs: []string{"/p7"}, Limit: 50})))
	}},
	{"page by cost", func(ctx context.Context, x *served, _ int) {
		mustLogs(50, must(x.Select(ctx, index.Selection{Sessions: true, Order: index.OrderCost, Limit: 50})))
	}},
	{"rare word", func(ctx context.Context, x *served, _ int) { mustLogs(1, candidates(ctx, x.Index, "rare3", 20)) }},
	{"no such word", func(ctx context.Context, x *served, _ int) { mustLogs(0, candidates(ctx, x.Index, "nosuchword", 20)) }},
	{"a word of one session in five, newest 20", func(ctx context.Context, x *served, _ int) {
		mustLogs(20, candidates(ctx, x.Index, "common3", 20)[:20])
	}},
	{"server: first page of 100", func(_ context.Context, x *served, _ int) { x.get("/api/v1/sessions") }},
	{"server: first page of a project", func(_ context.Context, x *served, _ int) { x.get("/api/v1/sessions?cwd=/p7") }},
	{"server: list as a page", func(_ context.Context, x *served, _ int) { x.get("/") }},
	{"server: session by its id", func(ctx context.Context, x *served, n int) { must(x.store.Find(ctx, fmt.Sprintf("%016x", (n-3)*7919))) }},
	{"server: search for no such word", func(_ context.Context, x *served, _ int) { x.get("/api/v1/search?q=nosuchword") }},
	{"server: usage of the newest 1,000 sessions", func(_ context.Context, x *served, n int) { x.usage(time.Unix(int64(n-1000), 0)) }},
	{"server: runs", func(_ context.Context, x *served, _ int) { x.get("/api/v1/runs") }},
}

// candidates returns logs that may have a word, at least so many if there are.
func candidates(ctx context.Context, x *shared.Index, text string, least int) (list []index.Found) {
	sel := index.Selection{Sessions: true, Limit: 64}
	for {
		found, next, err := x.Search(ctx, sel, must(query.Parse(text, query.Options{})))
		check(err)
		if list = append(list, found...); next == nil || len(list) >= least {
			return list
		}
		sel.After, sel.Limit = next, 4*sel.Limit
	}
}

func mustLogs(n int, list []index.Found) {
	if len(list) != n {
		panic(fmt.Sprintf("%d logs, not %d", len(list), n))
	}
}

// loadSummaries puts sessions without logs: each with a word of its own and some of fifty common ones.
func loadSummaries(ctx context.Context, x *shared.Index, from, to int) {
	r := rand.New(rand.NewPCG(1, uint64(from)))
	key := func(w string) uint64 { return word.Key([]byte(w)) }
	var updates []index.Update
	for n := from; n < to; n++ {
		at := int64(n) * 1e9
		words := []uint64{key(fmt.Sprint("rare", n))}
		for range 10 {
			words = append(words, key(fmt.Sprint("common", r.IntN(50))))
		}
		l := index.Log{Name: fmt.Sprintf("%d.jsonl", n), Stamp: index.Stamp{Generation: "1", Size: 1000, Nanos: at}}
		l.Summary = index.Summary{Session: true, Dialect: "omp", CWD: fmt.Sprintf("/p%d", n%20), Title: fmt.Sprintf("title %d", n), Cost: float64(n % 977)}
		l.Summary.Models = []string{"m"}
		quarter := index.QuarterOf(time.Unix(0, at))
		l.Summary.Spells = index.EncodeSpells([]index.Spell{
			{Quarter: quarter - 1, Messages: 20, Answers: 10, Tokens: index.Tokens{Input: 2000, Output: 900, Total: 2900}, Cost: l.Summary.Cost},
			{Quarter: quarter, Messages: 8, Answers: 4, Tokens: index.Tokens{Input: 900, Output: 500, Total: 1400}},
		})
		l.Facts = &index.Facts{ID: fmt.Sprintf("%016x", n*7919), CWD: l.Summary.CWD, Title: l.Summary.Title, When: at, Used: at, Made: at, Touched: at}
		l.Chunks = []index.Chunk{{To: 1000, Flags: 0x50, Words: words}}
		updates = append(updates, index.Update{Source: fmt.Sprintf("bench-%08d/omp", n%1000), Put: []index.Log{l}})
		if len(updates) == 1024 || n == to-1 {
			check(x.Put(ctx, "", updates...))
			updates = nil
		}
	}
}
