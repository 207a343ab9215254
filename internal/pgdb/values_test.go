package pgdb_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/pgdb"
	"github.com/treeline-dev/treeline/internal/pgtest"
)

type (
	word string
	key  [16]byte
)

func ptr[T any](v T) *T { return &v }

// parameters are values, by the server's type that they are sent as.
var parameters = map[string][]any{
	"text":             {"", "a", "é\n\"\\", word("named"), ptr("pointer"), (*string)(nil), nil},
	"bigint":           {int64(math.MinInt64), int64(math.MaxInt64), 7, int32(-7), ptr(3), (*int)(nil), time.Duration(5)},
	"integer":          {math.MinInt32, math.MaxInt32, int64(12), int16(3)},
	"smallint":         {math.MinInt16, math.MaxInt16, 5},
	"double precision": {0.0, -1.5, math.MaxFloat64, 7},
	"boolean":          {true, false, ptr(true)},
	"bytea":            {[]byte{}, []byte{0, 1, 255}, []byte(nil)},
	"uuid":             {[16]byte{1, 15: 2}, key{3, 15: 4}, make([]byte, 16)},
	"timestamptz": {time.Date(2026, 11, 16, 10, 0, 0, 123456000, time.UTC), time.Date(1969, 12, 31, 23, 59, 59, 999999000, time.UTC),
		ptr(time.Date(2000, 1, 1, 0, 0, 0, 0, time.FixedZone("", 3600))), (*time.Time)(nil)},
	"numeric":       {12, int64(-5)},
	"text[]":        {[]string{}, []string{"", "a", "{\"b\""}, []string(nil)},
	"bytea[]":       {[][]byte{}, [][]byte{{}, {1, 2}}},
	"bigint[]":      {[]int64{1, -2, math.MaxInt64}, []int{3}, []uint32{math.MaxUint32}},
	"boolean[]":     {[]bool{true, false}},
	"integer[]":     {[]int32{1, -2, math.MaxInt32}, []int32{}},
	"smallint[]":    {[]int16{1, -2, math.MaxInt16}},
	"uuid[]":        {[][16]byte{{1}, {2}}, []key{{3}, {4}}, []key{}},
	"timestamptz[]": {[]time.Time{time.Unix(0, 0), time.Date(2026, 1, 1, 0, 0, 0, 1000, time.UTC)}},
}

// modes returns the URLs with and without names of statements.
func modes(url string) map[string]string {
	return map[string]string{"named": url, "unnamed": url + "&default_query_exec_mode=cache_describe"}
}

// with returns the pool of a database.
func with(t *testing.T, url string, do func(p *pgdb.Pool)) {
	t.Helper()
	d := open(t, url, versions("select 1"))
	if err := d.Write(t.Context(), func(p *pgdb.Pool, _ bool) error { do(p); return nil }); err != nil {
		t.Fatal(err)
	}
}

// The server understands a parameter as it understands pgx's, and returns the same value.
func TestValues(t *testing.T) {
	url := pgtest.Shared(t).Database(t, "values")
	oracle, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer oracle.Close(context.WithoutCancel(t.Context()))
	for mode, url := range modes(url) {
		with(t, url, func(p *pgdb.Pool) {
			for typ, values := range parameters {
				for _, v := range values {
					name := fmt.Sprintf("%s %s %#v", mode, typ, v)
					sql := fmt.Sprintf("select $1::%s::text", typ)
					var want, have *string
					if err := oracle.QueryRow(t.Context(), sql, v).Scan(&want); err != nil {
						t.Fatalf("%s: pgx: %v", name, err)
					}
					if err := p.QueryRow(t.Context(), sql, v).Scan(&have); err != nil {
						t.Errorf("%s: %v", name, err)
					} else if diff := difftest.Diff(want, have); diff != "" {
						t.Errorf("%s (-pgx +pgdb):\n%s", name, diff)
					}
					back(t, p, name, typ, v)
				}
			}
		})
	}
}

// back queries a value and compares it with the one that was sent, for the types that can be read.
func back(t *testing.T, p *pgdb.Pool, name, typ string, v any) {
	t.Helper()
	switch v.(type) {
	case string, word, int64, int, int32, float64, bool, []byte, [16]byte, time.Time, []string, *string, *int, *bool, *time.Time:
	default:
		return
	}
	if typ == "double precision" && reflect.TypeOf(v).Kind() == reflect.Int {
		return
	}
	dest := reflect.New(reflect.TypeOf(v))
	if err := p.QueryRow(t.Context(), fmt.Sprintf("select $1::%s", typ), v).Scan(dest.Interface()); err != nil {
		if b, ok := v.([]byte); ok && typ == "uuid" && len(b) == 16 {
			return
		}
		t.Errorf("%s: %v", name, err)
	} else if diff := difftest.Diff(v, dest.Elem().Interface()); diff != "" {
		t.Errorf("%s (-sent +read):\n%s", name, diff)
	}
}

// A value that does not fit is refused with its name, and the connection stays usable.
func TestRefusedValues(t *testing.T) {
	url := pgtest.Shared(t).Database(t, "refused")
	with(t, url+"&pool_max_conns=1", func(p *pgdb.Pool) {
		var text string
		var number int
		var small int16
		for _, c := range []struct {
			sql  string
			args []any
			dest any
			want string
		}{
			{"select $1::integer", []any{int64(math.MaxInt32) + 1}, &number, "parameter 1: the number 2147483648 does not fit"},
			{"select $1::integer", []any{"1"}, &number, "a string cannot be a parameter"},
			{"select $1::text", []any{1}, &text, "does not fit"},
			{"select $1::text", []any{struct{}{}}, &text, "a struct {} cannot be a parameter"},
			{"select $1::text[]", []any{[]int64{1}}, &text, "parameter 1"},
			{"select $1::text", nil, &text, "1 parameters, and 0 are given"},
			{"select 1 as one, 2", nil, &number, "2 columns, and 1 are wanted"},
			{"select null::text as none", nil, &text, `column "none" has no value`},
			{"select 100000 as many", nil, &small, `column "many"`},
			{"select 'a'::text as a", nil, &number, `column "a"`},
			{"select 1 as n", nil, &text, `column "n"`},
			{"select 1 where false", nil, &number, pgdb.ErrNoRows.Error()},
		} {
			if err := p.QueryRow(t.Context(), c.sql, c.args...).Scan(c.dest); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v; want an error, strings.Contains(err.Error(), c.want)", c.sql, err)
			}
		}
		if err := p.QueryRow(t.Context(), "select 2").Scan(&number); err != nil || number != 2 {
			t.Errorf("afterwards: %d, %v", number, err)
		}
	})
}

// rowsOf are rows to copy that end with an error.
type rowsOf struct {
	left int
	err  error
}

func (r *rowsOf) Next() bool { r.left--; return r.left >= 0 }
func (r *rowsOf) Values() ([]any, error) {
	return []any{r.left, strings.Repeat("x", r.left), []byte{1}}, nil
}
func (r *rowsOf) Err() error { return r.err }

// Transactions, parts of them, batches and copies are executed completely or not at all.
func TestTransactions(t *testing.T) {
	for mode, url := range modes(pgtest.Shared(t).Database(t, "transactions")) {
		with(t, url+"&pool_max_conns=1", func(p *pgdb.Pool) {
			ctx := t.Context()
			if _, err := p.Exec(ctx, "drop table if exists t; create table t (n integer primary key, s text, b bytea)"); err != nil {
				t.Fatal(err)
			}
			count := func(want int) {
				t.Helper()
				var n int
				if err := p.QueryRow(ctx, "select count(*) from t").Scan(&n); err != nil || n != want {
					t.Errorf("%s: %d rows instead of %d, %v", mode, n, want, err)
				}
			}
			stop := errors.New("stop")
			table, columns := pgdb.Identifier{"t"}, []string{"n", "s", "b"}
			if err := pgdb.BeginFunc(ctx, p, func(tx *pgdb.Tx) error {
				n, err := tx.CopyFrom(ctx, table, columns, &rowsOf{left: 2000})
				if n != 2000 || err != nil {
					t.Errorf("%s: %d copied, %v", mode, n, err)
				}
				return stop
			}); err != stop {
				t.Errorf("%s: %v; want err == %v", mode, err, stop)
			}
			count(0)
			if err := pgdb.BeginFunc(ctx, p, func(tx *pgdb.Tx) error {
				if err := pgdb.BeginFunc(ctx, tx, func(tx *pgdb.Tx) error {
					_, err := tx.Exec(ctx, "insert into t values ($1)", 1)
					return errors.Join(err, stop)
				}); !errors.Is(err, stop) {
					t.Errorf("%s: a part: %v", mode, err)
				}
				return pgdb.BeginFunc(ctx, tx, func(tx *pgdb.Tx) error {
					_, err := tx.CopyFrom(ctx, table, columns, pgdb.CopyFromRows([][]any{{5, nil, nil}, {6, "s", []byte{}}}))
					return err
				})
			}); err != nil {
				t.Errorf("%s: %v", mode, err)
			}
			count(2)
			if err := pgdb.BeginFunc(ctx, p, func(tx *pgdb.Tx) error {
				_, err := tx.CopyFrom(ctx, table, columns, &rowsOf{left: 4, err: stop})
				return err
			}); err != stop {
				t.Errorf("%s: rows that end with an error: %v", mode, err)
			}
			if err := pgdb.BeginFunc(ctx, p, func(tx *pgdb.Tx) error {
				_, _ = tx.Exec(ctx, "select 1/0")
				return nil
			}); err == nil {
				t.Errorf("%s: a transaction that failed was committed", mode)
			}
			count(2)
			insert := func(last int) (affected int64, err error) {
				b := &pgdb.Batch{}
				b.Queue("insert into t values ($1), ($2)", last-2, last-1).Exec(func(tag pgconn.CommandTag) error {
					affected = tag.RowsAffected()
					return nil
				})
				b.Queue("insert into t values ($1)", last)
				err = p.SendBatch(ctx, b).Close()
				return affected, err
			}
			if n, err := insert(12); n != 2 || err != nil {
				t.Errorf("%s: batch: %d rows, %v", mode, n, err)
			}
			count(5)
			var pg *pgconn.PgError
			if _, err := insert(5); !errors.As(err, &pg) || pg.Code != "23505" {
				t.Errorf("%s: a batch whose last row is there already: %v", mode, err)
			}
			count(5)
			b := &pgdb.Batch{}
			b.Queue("select n from t order by n limit $1", 1)
			b.Queue("select n from t order by n desc")
			results := p.SendBatch(ctx, b)
			var least int
			err := results.QueryRow().Scan(&least)
			rows, err2 := results.Query()
			if err = errors.Join(err, err2); err != nil {
				t.Fatal(err)
			}
			list, err := pgdb.CollectRows(rows, pgdb.RowTo[int])
			if diff := difftest.Diff([]int{12, 11, 10, 6, 5}, list); diff != "" || least != 5 || errors.Join(err, results.Close()) != nil {
				t.Errorf("%s: batch of queries: %d, %v, %v", mode, least, err, diff)
			}
		})
	}
}

// A pool has at most its number of connections, closes idle ones, and works again after they were lost.
func TestPool(t *testing.T) {
	url := pgtest.Shared(t).Database(t, "pool")
	d := open(t, url+"&pool_max_conns=3&pool_max_conn_idle_time=50ms&application_name=counted", versions("select 1"))
	admin, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(context.WithoutCancel(t.Context()))
	connections := func() (n int) {
		if err := admin.QueryRow(t.Context(), "select count(*) from pg_stat_activity where application_name = 'counted'").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	ask := func() error {
		return d.Write(t.Context(), func(p *pgdb.Pool, _ bool) error {
			var n int
			return p.QueryRow(t.Context(), "select 1 from pg_sleep(0.005)").Scan(&n)
		})
	}
	var group sync.WaitGroup
	most := 0
	for range 12 {
		group.Go(func() {
			for range 4 {
				if err := ask(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 5 {
		most = max(most, connections())
	}
	group.Wait()
	if most > 3 {
		t.Errorf("%d connections instead of 3", most)
	}
	for deadline := time.Now().Add(10 * time.Second); connections() > 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d connections stay open although they are not used", connections())
		}
	}
	if err := ask(); err != nil {
		t.Error(err)
	}
	if _, err := admin.Exec(t.Context(), "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'counted'"); err != nil {
		t.Fatal(err)
	}
	if err := ask(); err != nil {
		t.Errorf("after the connections were ended: %v", err)
	}
	d.Close()
	if err := ask(); !errors.Is(err, pgdb.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// Parameters of a URL that are not the server's are removed from it, and wrong ones are refused.
func TestParameters(t *testing.T) {
	for _, query := range []string{"pool_max_conns=0", "pool_max_conns=x", "pool_max_conn_lifetime=1", "default_query_exec_mode=odd"} {
		if _, err := pgdb.Open("postgres://h/db?"+query, pgdb.Options{}); err == nil || !strings.Contains(err.Error(), query) {
			t.Errorf("%s: %v; want an error, strings.Contains(err.Error(), query)", query, err)
		}
	}
	with(t, pgtest.Shared(t).Database(t, "parameters")+"&pool_min_conns=1&pool_max_conn_lifetime=1h&statement_cache_capacity=5", func(p *pgdb.Pool) {
		var n int
		if err := p.QueryRow(t.Context(), "select 1").Scan(&n); err != nil || n != 1 {
			t.Errorf("%d, %v; want no error, n == 1", n, err)
		}
	})
}

// A connection forgets statements: the oldest if it has many, and one whose columns changed.
func TestForgotten(t *testing.T) {
	for mode, url := range modes(pgtest.Shared(t).Database(t, "forgotten")) {
		with(t, url+"&pool_max_conns=1", func(p *pgdb.Pool) {
			ctx := t.Context()
			for i := range 600 {
				var n int
				if err := p.QueryRow(ctx, fmt.Sprintf("select %d + $1::integer", i%300), 1).Scan(&n); err != nil || n != i%300+1 {
					t.Fatalf("%s: %d, %v; want no error, n == %v", mode, n, err, i%300+1)
				}
			}
			if _, err := p.Exec(ctx, "drop table if exists t; create table t as select 1 as n"); err != nil {
				t.Fatal(err)
			}
			read := func() error {
				rows, err := p.Query(ctx, "select * from t")
				if err != nil {
					return err
				}
				rows.Close()
				return rows.Err()
			}
			if err := read(); err != nil {
				t.Error(err)
			}
			if _, err := p.Exec(ctx, "alter table t alter n type text"); err != nil {
				t.Fatal(err)
			}
			_ = read() // the server may refuse the old statement
			if err := read(); err != nil {
				t.Errorf("%s: a statement stays refused after its columns changed: %v", mode, err)
			}
		})
	}
}

// A batch is sent as a whole, however many statements the connection knows already, or the batch has.
func TestForgottenInBatch(t *testing.T) {
	for mode, url := range modes(pgtest.Shared(t).Database(t, "batches")) {
		with(t, url+"&pool_max_conns=1", func(p *pgdb.Pool) {
			for _, known := range []int{0, 254, 255, 256, 300, 1000} {
				for i := range known {
					var n int
					if err := p.QueryRow(t.Context(), fmt.Sprintf("select %d", i)).Scan(&n); err != nil || n != i {
						t.Fatalf("%s: %d, %v; want no error, n == %d", mode, n, err, i)
					}
				}
				var b pgdb.Batch
				for i := range 600 {
					b.Queue(fmt.Sprintf("select %d", (known+i)%700)).QueryRow(func(row pgdb.Row) error {
						var n int
						if err := row.Scan(&n); err != nil || n != (known+i)%700 {
							return fmt.Errorf("%d, %w; want no error, n == %d", n, err, (known+i)%700)
						}
						return nil
					})
				}
				if err := p.SendBatch(t.Context(), &b).Close(); err != nil {
					t.Errorf("%s: after %d statements: %v; want no error", mode, known, err)
				}
			}
		})
	}
}
