package rows_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/treeline-dev/treeline/backend/rows"
	"github.com/treeline-dev/treeline/backend/rows/crush"
	"github.com/treeline-dev/treeline/backend/rows/goose"
	"github.com/treeline-dev/treeline/backend/rows/opencode"
	"github.com/treeline-dev/treeline/internal/durable/killtest"
	"github.com/treeline-dev/treeline/internal/started"
)

// agent is a program with a database, for tests beside it.
type agent struct {
	tables rows.Tables
	// install makes its database below a home folder and returns the path.
	install func(home string) (string, error)
	// begin makes the session "own" with the title "turn 0", turn adds a message and makes the title "turn N".
	begin, turn string
	// header and message are records of a session: %[1]s is its id, %[2]s a title or the id of a message, %[3]s a text.
	header, message string
}

var agents = map[string]agent{
	"opencode": {
		tables: opencode.Tables(),
		install: func(home string) (string, error) {
			return started.OpenCode(filepath.Join(home, ".local", "share"))
		},
		begin: `INSERT INTO project (id, worktree, time_created, time_updated, sandboxes) VALUES ('global', '/', 1, 1, '[]');
			INSERT INTO session (id, project_id, slug, directory, title, version, time_created, time_updated) VALUES ('own', 'global', 's', '/w', 'turn 0', '1', 1, 1)`,
		turn: `INSERT INTO message VALUES ('msg_%06[1]d', 'own', %[1]d, %[1]d, '{"role":"user","time":{"created":%[1]d}}');
			INSERT INTO part VALUES ('prt_%06[1]d', 'msg_%06[1]d', 'own', %[1]d, %[1]d, '{"type":"text","text":"word%[1]d %[2]s"}');
			UPDATE session SET title = 'turn %[1]d', time_updated = %[1]d WHERE id = 'own'`,
		header:  `{"session":{"id":"%[1]s","slug":"s","directory":"/w","title":"%[2]s","version":"1","time_created":1}}`,
		message: `{"message":{"id":"%[1]s-%[2]s","session_id":"%[1]s","time_created":1,"time_updated":1,"data":{"role":"user","time":{"created":1}}},"part":[{"id":"p%[1]s-%[2]s","message_id":"%[1]s-%[2]s","session_id":"%[1]s","time_created":1,"time_updated":1,"data":{"type":"text","text":"%[3]s"}}]}`,
	},
	"goose": {
		tables: goose.Tables(),
		install: func(home string) (string, error) {
			return started.Goose(filepath.Join(home, ".local", "share"))
		},
		begin: `INSERT INTO sessions (id, name, working_dir) VALUES ('own', 'turn 0', '/w')`,
		turn: `INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp, metadata_json)
				VALUES ('m%06[1]d', 'own', 'user', '[{"type":"text","text":"word%[1]d %[2]s"}]', %[1]d, '{"userVisible":true,"agentVisible":true}');
			UPDATE sessions SET name = 'turn %[1]d', updated_at = datetime('now') WHERE id = 'own'`,
		header:  `{"sessions":{"id":"%[1]s","name":"%[2]s","working_dir":"/w","created_at":"2026-01-02 03:04:05"}}`,
		message: `{"messages":{"message_id":"%[1]s-%[2]s","session_id":"%[1]s","role":"user","content_json":[{"type":"text","text":"%[3]s"}],"created_timestamp":1,"metadata_json":{"userVisible":true}}}`,
	},
	"crush": {
		tables: crush.Tables(),
		install: func(home string) (string, error) {
			project := filepath.Join(home, "garden")
			return filepath.Join(project, ".crush", "crush.db"), started.Crush(filepath.Join(home, ".local", "share"), started.Project{Dir: project})
		},
		begin: `INSERT INTO sessions (id, title, updated_at, created_at) VALUES ('own', 'turn 0', 1, 1)`,
		turn: `INSERT INTO messages (id, session_id, role, parts, created_at, updated_at)
				VALUES ('m%06[1]d', 'own', 'user', '[{"type":"text","data":{"text":"word%[1]d %[2]s"}}]', %[1]d, %[1]d);
			UPDATE sessions SET title = 'turn %[1]d' WHERE id = 'own'`,
		header:  `{"sessions":{"id":"%[1]s","title":"%[2]s","created_at":1}}`,
		message: `{"messages":{"id":"%[1]s-%[2]s","session_id":"%[1]s","role":"user","parts":[{"type":"text","data":{"text":"%[3]s"}}],"created_at":1,"updated_at":1}}`,
	},
}

// session returns the records of a session with n messages; its title is their number.
func (a agent) session(id string, n, length int) (records [][]byte) {
	records = append(records, fmt.Appendf(nil, a.header, id, fmt.Sprint("of ", n), ""))
	for i := range n {
		records = append(records, a.record(id, i, length))
	}
	return records
}

// record returns the record of a message.
func (a agent) record(id string, i, length int) []byte {
	return fmt.Appendf(nil, a.message, id, fmt.Sprintf("%05d", i), strings.Repeat("x", length))
}

// backend opens the database at a path.
func (a agent) backend(path string, readOnly bool) *rows.Backend {
	return rows.New(rows.NewDatabase(path, a.tables, rows.Options{}), "", readOnly)
}

func TestMain(m *testing.M) {
	killtest.Main(m, func(args string) error {
		var role, name, path string
		var number uint64
		if _, err := fmt.Sscan(args, &role, &name, &path, &number); err != nil {
			return err
		}
		switch a := agents[name]; role {
		case "program":
			return a.work(path, number)
		case "writer":
			return a.writeOn(path, number)
		case "list":
			return list(path)
		default:
			return a.writeFull(path)
		}
	})
}

// open opens the database as the program does, which waits for other writers for some milliseconds.
func open(path string, busy uint64) (*sql.DB, error) {
	db, err := sql.Open("sqlite", fmt.Sprintf("file:%s?_pragma=busy_timeout(%d)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)", filepath.ToSlash(path), busy))
	if err == nil {
		db.SetMaxOpenConns(1)
	}
	return db, err
}

// work is the program: it pauses only when a line on its standard input tells it to, and then prints how many turns of its session it has
// written. An error ends it: it must not meet a lock.
func (a agent) work(path string, busy uint64) error {
	db, err := open(path, busy)
	if err != nil {
		return err
	}
	ctx := context.Background()
	if _, err := db.ExecContext(ctx, a.begin); err != nil {
		return err
	}
	pause := make(chan bool)
	go func() {
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			pause <- true
		}
		os.Exit(0)
	}()
	text := strings.Repeat("long ", 300)
	for n := 1; ; n++ {
		if _, err := db.ExecContext(ctx, `BEGIN IMMEDIATE; `+fmt.Sprintf(a.turn, n, text)+`; COMMIT`); err != nil {
			return fmt.Errorf("turn %d: %w", n, err)
		}
		select {
		case <-pause:
			fmt.Println(n)
			<-pause
		default:
		}
	}
}

// running is a program at work.
type running struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.Writer
	out *bufio.Reader
}

// start starts a program that waits for other writers for some milliseconds. The end of the test kills it.
func start(t *testing.T, name, path string, busy int) *running {
	t.Helper()
	r := &running{t: t, cmd: killtest.Command("program", name, path, busy)}
	var complaints strings.Builder
	r.cmd.Stderr = &complaints
	in, err := r.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := r.cmd.StdoutPipe()
	if err == nil {
		err = r.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	r.in, r.out = in, bufio.NewReader(out)
	t.Cleanup(func() {
		_ = r.cmd.Process.Kill()
		_ = r.cmd.Wait()
		if complaints.Len() > 0 {
			t.Errorf("the program said: %s", complaints.String())
		}
	})
	return r
}

// pause stops the program between two transactions and returns the number of its turns.
func (r *running) pause() (turns int) {
	r.t.Helper()
	fmt.Fprintln(r.in)
	if _, err := fmt.Fscanln(r.out, &turns); err != nil {
		r.t.Fatal("it does not pause: ", err)
	}
	return turns
}

// goOn ends a pause.
func (r *running) goOn() { fmt.Fprintln(r.in) }

// until lets the program work for some turns and pauses it.
func (r *running) until(turns int) int {
	r.t.Helper()
	for begun := time.Now(); ; {
		n := r.pause()
		if n >= turns {
			return n
		}
		if time.Since(begun) > time.Minute {
			r.t.Fatalf("%d turns in a minute", n)
		}
		r.goOn()
		time.Sleep(5 * time.Millisecond)
	}
}
