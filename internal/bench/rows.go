package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/rows"
	"github.com/treeline-dev/treeline/backend/rows/opencode"
	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/litefile"
	"github.com/treeline-dev/treeline/internal/world"
)

// ofRows measures sessions in an agent's database: one that is read, beside the bare queries, a list, and the list after a row
// changed while the agent has the database open.
func ofRows(b *bench) {
	ctx := context.Background()
	path := must(world.OpenCode(filepath.Join(b.dir, "rows")))
	sessions := b.size(10_000)
	large := fillRows(path, sessions)
	size := must(os.Stat(path)).Size()
	fresh := func() *rows.Backend {
		return rows.New(rows.NewDatabase(path, opencode.Tables(), rows.Options{}), ".jsonl", true)
	}
	var length int64
	loaded := b.best(func() {
		r := fresh()
		at, reader, err := r.OpenNow(ctx, large+".jsonl")
		check(err)
		length = at.Size
		check(reader.Close())
		check(r.Close())
	})
	bare := b.best(func() { bareRows(path, large) })
	b.faster("a session of rows, "+mb(length), loaded, "SELECT of its rows", bare, 0.5)
	first := b.best(func() { r := fresh(); count(r, sessions); check(r.Close()) })
	b.faster(fmt.Sprintf("list of %d sessions of rows, %s", sessions, mb(size)), first, "SELECT of counts and times", b.best(func() { bareStamps(path) }), 1)

	program := must(litefile.Write(durable.OS{}, path, litefile.Writing{}))
	defer program.Close()
	r := fresh()
	defer r.Close()
	count(r, sessions)
	n := 0
	changed := b.bestPieces(0, func() {
		n++
		must(program.Exec(`UPDATE part SET time_updated = ?, data = json_object('type', 'text', 'text', ?) WHERE id = 'prt_7_1_0'`, n, fmt.Sprint("changed ", n)))
	}, 1, func(int) { count(r, sessions) })
	b.add(row{what: "  after a row changed", figure: ms(changed), baseline: "CPU", ratio: float64(changed) / 1e6, unit: "ms", target: 50, most: true})
}

// count lists all sessions.
func count(b backend.Backend, want int) {
	n := 0
	for _, err := range b.List(context.Background(), "") {
		check(err)
		n++
	}
	if n != want+1 {
		check(fmt.Errorf("%d sessions, not %d", n, want+1))
	}
}

// fillRows makes sessions of ten messages with three parts each, 10 KB in each message, and a large one. It returns the id
// of that.
func fillRows(path string, sessions int) (large string) {
	db := must(litefile.Write(durable.OS{}, path, litefile.Writing{}))
	defer db.Close()
	text := strings.Repeat("All work and no play makes a dull boy. ", 90)
	check(db.Transact(context.Background(), func(tx *sql.Tx) error {
		must(tx.Exec(`INSERT INTO project (id, worktree, time_created, time_updated, sandboxes) VALUES ('global', '/', 1, 1, '[]')`))
		message := must(tx.Prepare(`INSERT INTO message VALUES (?, ?, ?, ?, ?)`))
		part := must(tx.Prepare(`INSERT INTO part VALUES (?, ?, ?, ?, ?, json_object('type', 'text', 'text', ?))`))
		for s := range sessions + 1 {
			id, messages := fmt.Sprint("ses_", s), 10
			if s == sessions {
				large, messages = id, 2000
			}
			must(tx.Exec(`INSERT INTO session (id, project_id, slug, directory, title, version, time_created, time_updated) VALUES (?, 'global', 's', '/work', ?, '1', ?, ?)`,
				id, fmt.Sprint("session ", s), s, s))
			for m := range messages {
				key, role := fmt.Sprintf("msg_%d_%d", s, m), "user"
				if m%2 == 1 {
					role = "assistant"
				}
				must(message.Exec(key, id, m, m, `{"role":"`+role+`","time":{"created":1},"agent":"build","modelID":"m","providerID":"p"}`))
				for p := range 3 {
					must(part.Exec(fmt.Sprintf("prt_%d_%d_%d", s, m, p), key, id, m, m, text))
				}
			}
		}
		return nil
	}))
	check(db.UseWAL(context.Background(), 0))
	return large
}

// bareRows reads the rows of a session with the same driver and does nothing with them.
func bareRows(path, id string) {
	db := must(sql.Open("sqlite", "file:"+path+"?mode=ro&immutable=1"))
	defer db.Close()
	for _, query := range []string{
		`SELECT * FROM session WHERE id = ?`, `SELECT * FROM message WHERE session_id = ? ORDER BY time_created, id`,
		`SELECT * FROM part WHERE session_id = ? ORDER BY +id`,
	} {
		scanRows(must(db.Query(query, id)))
	}
}

// bareStamps asks for what a list compares.
func bareStamps(path string) {
	db := must(sql.Open("sqlite", "file:"+path+"?mode=ro&immutable=1"))
	defer db.Close()
	scanRows(must(db.Query(`SELECT id, title, directory, time_updated FROM session`)))
	for _, table := range []string{"message", "part"} {
		scanRows(must(db.Query(`SELECT session_id, count(*), max(time_updated), sum(octet_length(data)) FROM ` + table + ` GROUP BY session_id`)))
	}
}

func scanRows(found *sql.Rows) {
	defer found.Close()
	names := must(found.Columns())
	values, to := make([]any, len(names)), make([]any, len(names))
	for i := range values {
		to[i] = &values[i]
	}
	for found.Next() {
		check(found.Scan(to...))
	}
	check(found.Err())
}
