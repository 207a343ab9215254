package pgdb_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/treeline-dev/treeline/internal/pgdb"
	"github.com/treeline-dev/treeline/internal/pgtest"
)

const benchSQL = "select g, $1::text, $2::bytea from generate_series(1, $3::bigint) g"

// BenchmarkRows compares one row and many rows with pgx on the same server.
func BenchmarkRows(b *testing.B) {
	url := pgtest.Shared(b).URL("")
	d, err := pgdb.Open(url, pgdb.Options{Schema: versions("select 1")})
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	c, err := pgx.Connect(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close(context.WithoutCancel(b.Context()))
	data := make([]byte, 500)
	for _, size := range []struct {
		name string
		rows int64
	}{{"one", 1}, {"many", 2000}} {
		b.Run(size.name+"/pgx", func(b *testing.B) {
			for b.Loop() {
				found, err := c.Query(b.Context(), benchSQL, "text", data, size.rows)
				if err != nil {
					b.Fatal(err)
				}
				var n int64
				var text string
				var bytes []byte
				for found.Next() {
					if err := found.Scan(&n, &text, &bytes); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
		b.Run(size.name+"/pgdb", func(b *testing.B) {
			if err := d.Write(b.Context(), func(p *pgdb.Pool, _ bool) error {
				for b.Loop() {
					found, err := p.Query(b.Context(), benchSQL, "text", data, size.rows)
					if err != nil {
						return err
					}
					var n int64
					var text string
					var bytes []byte
					for found.Next() {
						if err := found.Scan(&n, &text, &bytes); err != nil {
							return err
						}
					}
				}
				return nil
			}); err != nil {
				b.Fatal(err)
			}
		})
	}
}
