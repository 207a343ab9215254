package postgres

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/treeline-dev/treeline/backend"
	store "github.com/treeline-dev/treeline/backend/postgres"
)

// WithLogs makes the tables for logs in a database, for an index beside them. The tables are empty.
func WithLogs(t *testing.T, url string) {
	t.Helper()
	b, err := store.Open(url, store.Options{}, backend.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	l, err := b.Create(t.Context(), "none-00000001/omp/none.jsonl", []byte("{}"))
	if err == nil {
		err = b.Remove(t.Context(), l)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// KeysOf returns the keys of each chunk, by its id, as the segments in a database have them.
func KeysOf(ctx context.Context, c *pgx.Conn) (map[int64][]uint32, error) {
	const sql = `select s.first, s.bits, p.bucket, p.data from treeline_index.segment s join treeline_index.posting p on p.segment = s.segment
		order by s.segment, p.bucket`
	rows, err := c.Query(ctx, sql)
	if err != nil {
		return nil, err
	}
	keys := map[int64][]uint32{}
	var first int64
	var width int
	var b bucket
	_, err = pgx.ForEachRow(rows, []any{&first, &width, &b.number, &b.data}, func() error {
		return b.runs(first, width, func(r run) bool {
			for _, id := range r.ids(nil) {
				keys[id] = append(keys[id], r.key)
			}
			return true
		})
	})
	return keys, err
}

// MergeAt is the number of segments of about the same size that causes a merge.
const MergeAt = mergeAt
