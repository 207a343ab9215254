package rows_test

import (
	"database/sql"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/rows"
	"github.com/treeline-dev/treeline/internal/difftest"
)

// A list shows the database as it is, even after all messages were deleted at once, which writes none of their pages, and after another
// database took its place.
func TestListsFollowReplacements(t *testing.T) {
	t.Parallel()
	fill := func(db *sql.DB, name string) {
		for n := range 20 {
			run(t, db, `INSERT INTO talk (name, title, changed) VALUES (?, '', 1)`, fmt.Sprint(name, n))
			for k := range 20 {
				run(t, db, `INSERT INTO line (key, talk, said, changed, data) VALUES (?, ?, ?, 1, json_quote(?))`,
					fmt.Sprintf("%d-%d", n, k), fmt.Sprint(name, n), k, strings.Repeat("x", 400))
			}
		}
	}
	list := func(b backend.Backend) (logs []backend.Log) {
		for l, err := range b.List(t.Context(), "") {
			if err != nil {
				t.Fatal(err)
			}
			logs = append(logs, l)
		}
		return logs
	}
	for what, change := range map[string]func(path string, db *sql.DB){
		"all messages deleted": func(_ string, db *sql.DB) { run(t, db, `DELETE FROM line`) },
		"another database": func(path string, db *sql.DB) {
			db.Close()
			other := program(t, path+".other")
			tables := strings.SplitAfter(strings.TrimSpace(ddl), ";\n")
			tables[0], tables[2] = tables[2], tables[0] // they begin at other pages
			run(t, other, strings.Join(tables, ""))
			fill(other, "other")
			other.Close()
			if err := os.Rename(path+".other", path); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			path, db := fresh(t)
			fill(db, "t")
			b := rows.New(rows.NewDatabase(path, description(), rows.Options{}), "", true)
			defer b.Close()
			list(b)
			change(path, db)
			first := rows.New(rows.NewDatabase(path, description(), rows.Options{}), "", true)
			defer first.Close()
			if diff := difftest.Diff(list(first), list(b)); diff != "" {
				t.Errorf("(-new +followed):\n%s", diff)
			}
		})
	}
}

// A time in milliseconds is recognised, also in a column with seconds.
func TestMilliseconds(t *testing.T) {
	t.Parallel()
	path, db := fresh(t)
	run(t, db, `INSERT INTO talk (name, title, changed) VALUES ('now', '', 1700000000), ('old', '', 1600000000000)`)
	b := rows.New(rows.NewDatabase(path, description(), rows.Options{}), "", true)
	defer b.Close()
	for name, want := range map[string]int64{"now": 1700000000, "old": 1600000000} {
		if at, err := b.Stat(t.Context(), name); err != nil || at.Time.Unix() != want {
			t.Errorf("%s was changed at %v, %v", name, at.Time, err)
		}
	}
}
