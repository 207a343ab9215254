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
	"github.com/treeline-dev/treeline/backend/rows/crush"
	"github.com/treeline-dev/treeline/backend/rows/goose"
	"github.com/treeline-dev/treeline/backend/rows/opencode"
	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/litefile"
	"github.com/treeline-dev/treeline/internal/started"
)

// rowsOf describes a database of an agent to measure, with the least queries that its sessions need.
type rowsOf struct {
	name     string
	sessions int
	tables   rows.Tables
	make     func(data string) (string, error)
	// before runs once. session inserts a session; its argument is the session's number. message inserts a message; its arguments are its
	// number, the session's number, its place, a role and a text.
	before, session string
	message         []string
	// load are the queries for a session, stamps those for what a list compares, change changes a message to a text.
	load, stamps []string
	change       string
}

func databases(b *bench) []rowsOf {
	return []rowsOf{{
		name: "OpenCode", sessions: b.size(10_000), tables: opencode.Tables(), make: started.OpenCode,
		before: `INSERT INTO project (id, worktree, time_created, time_updated, sandboxes) VALUES ('global', '/', 1, 1, '[]')`,
		session: `INSERT INTO session (id, project_id, slug, directory, title, version, time_created, time_updated)
			VALUES ('ses_' || ?1, 'global', 's', '/work', 'session ' || ?1, '1', ?1, ?1)`,
		message: []string{
			`INSERT INTO message VALUES ('msg_' || ?1, 'ses_' || ?2, ?3, ?3, json_object('role', ?4, 'time', json('{"created":1}'), 'agent', 'build', 'modelID', 'm', 'providerID', 'p'))`,
			`INSERT INTO part SELECT 'prt_' || ?1 || '_' || value, 'msg_' || ?1, 'ses_' || ?2, ?3, ?3, json_object('type', 'text', 'text', ?5) FROM json_each('[0,1,2]')`,
		},
		load: []string{`SELECT * FROM session WHERE id = 'ses_' || ?`, `SELECT * FROM message WHERE session_id = 'ses_' || ? ORDER BY time_created, id`,
			`SELECT * FROM part WHERE session_id = 'ses_' || ? ORDER BY +id`},
		stamps: []string{`SELECT id, title, directory, time_updated FROM session`,
			`SELECT session_id, count(*), max(time_updated), sum(octet_length(data)) FROM message GROUP BY session_id`,
			`SELECT session_id, count(*), max(time_updated), sum(octet_length(data)) FROM part GROUP BY session_id`},
		change: `UPDATE part SET time_updated = ?1, data = json_object('type', 'text', 'text', 'changed ' || ?1) WHERE id = 'prt_71_0'`,
	}, {
		name: "Goose", sessions: b.size(2_000), tables: goose.Tables(), make: started.Goose,
		session: `INSERT INTO sessions (id, name, working_dir) VALUES ('ses_' || ?1, 'session ' || ?1, '/work')`,
		message: []string{`INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp, metadata_json)
			VALUES ('msg_' || ?1, 'ses_' || ?2, ?4, json_array(json_object('type', 'text', 'text', ?5 || ?5 || ?5)), ?3, '{"userVisible":true,"agentVisible":true}')`},
		load: []string{`SELECT * FROM sessions WHERE id = 'ses_' || ?`, `SELECT * FROM messages WHERE session_id = 'ses_' || ? ORDER BY created_timestamp, id`},
		stamps: []string{`SELECT id, name, working_dir, updated_at FROM sessions`,
			`SELECT session_id, count(*), max(created_timestamp), sum(octet_length(content_json)) FROM messages GROUP BY session_id`},
		change: `UPDATE messages SET content_json = json_array(json_object('type', 'text', 'text', 'changed ' || ?1)) WHERE id = 72`,
	}, {
		name: "Crush", sessions: b.size(2_000), tables: crush.Tables(),
		make: func(data string) (string, error) {
			project := filepath.Join(data, "garden")
			return filepath.Join(project, ".crush", "crush.db"), started.Crush(data, started.Project{Dir: project})
		},
		session: `INSERT INTO sessions (id, title, updated_at, created_at) VALUES ('ses_' || ?1, 'session ' || ?1, ?1, ?1)`,
		message: []string{`INSERT INTO messages (id, session_id, role, parts, created_at, updated_at)
			VALUES ('msg_' || ?1, 'ses_' || ?2, ?4, json_array(json_object('type', 'text', 'data', json_object('text', ?5 || ?5 || ?5))), ?3, ?3)`},
		load: []string{`SELECT * FROM sessions WHERE id = 'ses_' || ?`, `SELECT * FROM messages WHERE session_id = 'ses_' || ? ORDER BY created_at, rowid`},
		stamps: []string{`SELECT id, title, updated_at FROM sessions`,
			`SELECT session_id, count(*), max(updated_at), sum(octet_length(parts)) FROM messages GROUP BY session_id`},
		change: `UPDATE messages SET parts = json_array(json_object('type', 'text', 'data', json_object('text', 'changed ' || ?1))) WHERE id = 'msg_71'`,
	}}
}

// ofRows measures sessions in agents' databases: reading one, compared with the bare queries, a list, and the list after a row changed
// while the agent has the database open.
func ofRows(b *bench) {
	for _, of := range databases(b) {
		of.measure(b, must(of.make(filepath.Join(b.dir, "rows"))))
	}
}

func (of rowsOf) measure(b *bench, path string) {
	ctx := context.Background()
	of.fill(path)
	size := must(os.Stat(path)).Size()
	fresh := func() *rows.Backend {
		return rows.New(rows.NewDatabase(path, of.tables, rows.Options{}), ".jsonl", true)
	}
	var length int64
	loaded := b.best(func() {
		r := fresh()
		at, reader, err := r.OpenNow(ctx, fmt.Sprintf("ses_%d.jsonl", of.sessions))
		check(err)
		length = at.Size
		check(reader.Close())
		check(r.Close())
	})
	bare := b.best(func() { queried(path, of.load, of.sessions) })
	b.faster(fmt.Sprintf("a session of %s's rows, %s", of.name, mb(length)), loaded, "SELECT of its rows", bare, 0.5)
	first := b.best(func() { r := fresh(); count(r, of.sessions); check(r.Close()) })
	b.faster(fmt.Sprintf("list of %d sessions of %s's rows, %s", of.sessions, of.name, mb(size)), first,
		"SELECT of counts and times", b.best(func() { queried(path, of.stamps) }), 1)

	program := must(litefile.Write(durable.OS{}, path, litefile.Writing{}))
	defer program.Close()
	r := fresh()
	defer r.Close()
	count(r, of.sessions)
	n := 0
	changed := b.bestPieces(0, func() {
		n++
		must(program.Exec(of.change, n))
	}, 1, func(int) { count(r, of.sessions) })
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

// fill makes sessions of ten messages, 10 KB in each message, and a large one.
func (of rowsOf) fill(path string) {
	db := must(litefile.Write(durable.OS{}, path, litefile.Writing{}))
	defer db.Close()
	text := strings.Repeat("All work and no play makes a dull boy. ", 90)
	check(db.Transact(context.Background(), func(tx *sql.Tx) error {
		must(tx.Exec(of.before))
		session := must(tx.Prepare(of.session))
		var message []*sql.Stmt
		for _, query := range of.message {
			message = append(message, must(tx.Prepare(query)))
		}
		number := 0
		for s := range of.sessions + 1 {
			messages := 10
			if s == of.sessions {
				messages = 2000
			}
			must(session.Exec(s))
			for m := range messages {
				role := []string{"user", "assistant"}[m%2]
				for _, insert := range message {
					must(insert.Exec(number, s, m, role, text))
				}
				number++
			}
		}
		return nil
	}))
	check(db.UseWAL(context.Background(), 0))
}

// queried makes queries with the same driver and does nothing with the rows.
func queried(path string, queries []string, args ...any) {
	db := must(sql.Open("sqlite", "file:"+path+"?mode=ro&immutable=1"))
	defer db.Close()
	for _, query := range queries {
		scanRows(must(db.Query(query, args...)))
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
