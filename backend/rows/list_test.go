package rows_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend/all"
	"github.com/treeline-dev/treeline/backend/rows"
	"github.com/treeline-dev/treeline/internal/durable/killtest"
)

// A list of 10,000 sessions reads no message: it reads far fewer bytes than the messages have.
func TestListReadsNoMessage(t *testing.T) {
	eachAgent(t, func(t *testing.T, name string, a agent, home, path string) {
		const sessions, every, length = 10_000, 20, 20_000
		a.fill(t, path, sessions, every, length)
		out, err := killtest.Command("list", name, home, 0).CombinedOutput()
		var list, read int
		if _, scanErr := fmt.Sscan(string(out), &list, &read); err != nil || scanErr != nil || list != sessions {
			t.Fatalf("%v: %.500s", err, out)
		}
		texts := sessions / every * length
		t.Logf("%d bytes of %d were read", read, texts)
		if read > texts/2 {
			t.Errorf("a list read %d bytes; the messages have %d", read, texts)
		}
	})
}

// list lists all sessions and prints how many there are, and how many bytes that read: 0 if the system does not count them.
func list(home string) error {
	ctx := context.Background()
	s, err := treeline.New(treeline.Options{Backends: all.Drivers(), Home: home, WorkDir: home, Getenv: func(string) string { return "" }, NoBreadcrumbs: true})
	if err != nil {
		return err
	}
	defer s.Close()
	before := bytesRead()
	var failed error
	rows, err := s.List(ctx, treeline.ListOptions{Problem: func(err error) { failed = err }})
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	fmt.Println(len(rows), bytesRead()-before)
	return nil
}

// bytesRead is how many bytes the process has read, as Linux counts them.
func bytesRead() (n int) {
	text, _ := os.ReadFile("/proc/self/io")
	_, _ = fmt.Sscanf(string(text), "rchar: %d", &n)
	return n
}

// fill makes sessions of which some have a long message.
func (a agent) fill(t *testing.T, path string, sessions, every, length int) {
	t.Helper()
	db, err := open(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	b := a.backend(path, false)
	defer b.Close()
	records := a.session("s0", 1, length)
	if _, err := b.Create(t.Context(), "s0", records...); err != nil {
		t.Fatal(err)
	}
	// The others are copies of its rows.
	run(t, db, fmt.Sprintf(`BEGIN; CREATE TEMP TABLE n AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT i FROM n`, sessions-1))
	copyRows := func(of rows.Table, session, where string) {
		var columns []string
		run(t, db, `CREATE TEMP TABLE columns AS SELECT name FROM pragma_table_info('`+of.Name+`')`)
		list, err := db.Query(`SELECT name FROM columns`)
		if err != nil {
			t.Fatal(err)
		}
		for list.Next() {
			var name string
			if err := list.Scan(&name); err != nil {
				t.Fatal(err)
			}
			switch name {
			case session:
				name = `'s' || i`
			case "id", of.Message:
				name = `i + 1`
			default:
				name = `"` + name + `"`
			}
			columns = append(columns, name)
		}
		list.Close()
		run(t, db, `DROP TABLE columns; INSERT INTO "`+of.Name+`" SELECT `+strings.Join(columns, ", ")+` FROM "`+of.Name+`", n`+where)
	}
	some := fmt.Sprintf(` WHERE i %% %d = 0`, every)
	copyRows(a.tables.Session, a.tables.Session.ID, "")
	copyRows(a.tables.Message, a.tables.Message.Session, some)
	if a.tables.Part.Name != "" {
		copyRows(a.tables.Part, a.tables.Part.Session, some)
	}
	run(t, db, `COMMIT; PRAGMA wal_checkpoint(TRUNCATE)`)
}
