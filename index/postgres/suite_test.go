package postgres_test

import (
	"context"
	"crypto/sha256"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/indextest"
	"github.com/treeline-dev/treeline/index/postgres"
	"github.com/treeline-dev/treeline/internal/pgtest"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	pgtest.Shared(t).Database(t, "suite")
	direct := pgtest.Shared(t).URL("suite")
	postgres.WithLogs(t, direct)
	t.Run("direct", func(t *testing.T) { suite(t, direct, direct, false) })
	if soaktest.Every() { // the statements are the same
		t.Run("pooled", func(t *testing.T) { suite(t, direct, pgtest.SharedBouncer(t).URL("suite"), false) })
	}
	t.Run("remote", func(t *testing.T) { suite(t, direct, direct, true) })
}

// suite runs the suite on a database. Every test begins without an index. remote: the index is read through a server.
func suite(t *testing.T, direct, url string, remote bool) {
	indextest.Run(t, func(t *testing.T) (func() indextest.Index, indextest.Kept) {
		c, err := pgx.Connect(t.Context(), direct)
		if err == nil {
			t.Cleanup(func() { c.Close(context.Background()) })
			_, err = c.Exec(t.Context(), "drop schema if exists treeline_index cascade")
		}
		if err != nil {
			t.Fatal(err)
		}
		var b *box
		if remote {
			b = newBox(t, direct, indexes())
		}
		return func() indextest.Index {
			x, err := postgres.Open(url)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { x.Close() })
			w := &whole{t: t, x: x, read: x, c: c, of: map[*index.Logs]string{}, named: map[string]string{}}
			if remote {
				w.read = b.index(t)
			}
			return w
		}, indextest.Everything
	})
}

// folder is the folder of the suite's sources.
const folder = "suite-00000001/"

// whole lets the suite read a shared index as one catalogue.
type whole struct {
	t *testing.T
	x *postgres.Index
	// read is the index that is queried.
	read index.Shared
	c    *pgx.Conn
	// of maps each list of logs that was returned to its source.
	of map[*index.Logs]string
	// named maps the name of a log to the last source with it.
	named map[string]string
}

func (w *whole) must(err error) {
	if err != nil {
		w.t.Helper()
		w.t.Fatal(err)
	}
}

// Put puts updates one after the other.
func (w *whole) Put(updates ...index.Update) {
	for _, u := range updates {
		u.Source = folder + u.Source
		known := w.Catalogue()
		if u.Forget {
			for _, l := range known.Logs(u.Source[len(folder):]).All() {
				u.Remove = append(u.Remove, l.Name)
			}
			w.must(w.x.Put(w.t.Context(), "", index.Update{Source: u.Source, Remove: u.Remove}))
			known, u.Forget, u.Remove = &index.Catalogue{}, false, nil
		}
		last := map[string]int{}
		for i := range u.Put {
			last[u.Put[i].Name] = i
		}
		var put []index.Log
		for i, l := range u.Put {
			if last[l.Name] != i {
				continue // a later one follows
			}
			if was, ok := known.Log(u.Source[len(folder):], l.Name); ok {
				l.Before = &was.Stamp
			}
			put = append(put, spelled(l))
		}
		u.Put = put
		w.must(w.x.Put(w.t.Context(), "", u))
	}
}

// spelled adds words made from a log's signatures, which the database does not keep, so that EachChunk can make the signatures again.
func spelled(l index.Log) index.Log {
	l.Chunks = slices.Clone(l.Chunks)
	for i := range l.Chunks {
		c := &l.Chunks[i]
		c.Words = nil
		for at, b := range c.Sig {
			c.Words = append(c.Words, uint64(at<<8|int(b))<<32)
		}
	}
	return l
}

func (w *whole) Commit(context.Context) error { return nil }
func (w *whole) Close() error                 { return w.x.Close() }

func (w *whole) Catalogue() *index.Catalogue {
	list, err := w.read.Select(w.t.Context(), index.Selection{})
	w.must(err)
	slices.SortFunc(list, func(a, b index.Found) int {
		return slices.Compare([]string{a.Source, a.Name}, []string{b.Source, b.Name})
	})
	c := &index.Catalogue{}
	for len(list) > 0 {
		key, n := list[0].Source, 0
		var logs []index.Log
		for ; n < len(list) && list[n].Source == key; n++ {
			logs = append(logs, list[n].Log)
			w.named[list[n].Name] = key
		}
		key, list = strings.TrimPrefix(key, folder), list[n:]
		s := index.Source{Key: key, Logs: index.LogsOf(logs)}
		c.Sources, w.of[s.Logs] = append(c.Sources, s), key
	}
	return c
}

func (w *whole) EachChunk(list []index.Place, take func(i int, c *index.Kept)) (unknown []int) {
	keys, err := postgres.KeysOf(w.t.Context(), w.c)
	w.must(err)
	for i, p := range list {
		sum := sha256.Sum256([]byte(folder + w.of[p.Logs] + "/" + p.Logs.At(p.At).Name))
		rows, err := w.c.Query(w.t.Context(), "select start, stop, flags, id from treeline_index.chunk where log = $1 order by n", sum[:16])
		w.must(err)
		for rows.Next() {
			var k index.Kept
			var flags int
			var id int64
			w.must(rows.Scan(&k.From, &k.To, &flags, &id))
			k.Sig = make([]byte, len(keys[id]))
			for _, n := range keys[id] {
				k.Sig[n>>8] = byte(n)
			}
			k.Flags = byte(flags)
			take(i, &k)
		}
		w.must(rows.Err())
	}
	return nil
}

func (w *whole) IDs(l *index.Log, n int, take func(from int64, hash uint32)) error {
	return w.read.IDs(w.t.Context(), &index.Found{Source: w.named[l.Name], Log: *l}, n, take)
}
