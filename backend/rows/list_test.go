package rows_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/all"
	"github.com/treeline-dev/treeline/backend/rows"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/durable/killtest"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

// A list of many sessions reads no message: it reads far fewer bytes than the messages have. There are 10,000 if TREELINE_SOAK is set.
func TestListReadsNoMessage(t *testing.T) {
	eachAgent(t, func(t *testing.T, name string, a agent, home, path string) {
		sessions, every, length := soaktest.Part(2_000, 500), soaktest.Part(40, 10), 100_000
		if os.Getenv("TREELINE_SOAK") != "" {
			sessions, every = 10_000, 200
		}
		a.fill(t, path, sessions, every, length)
		out, err := killtest.Command("list", name, home, 0).CombinedOutput()
		var list, read int
		if _, scanErr := fmt.Sscan(string(out), &list, &read); err != nil || scanErr != nil || list != sessions {
			t.Fatalf("%v: %.500s; want no error, list == %v", err, out, sessions)
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

// bytesRead returns how many bytes the process has read, as Linux counts them.
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

// A number behind a long text that is changed in place is noticed by the next list, which reads only what changed.
func TestListsFollowLongRows(t *testing.T) {
	eachAgent(t, func(t *testing.T, _ string, a agent, _, path string) {
		db, err := open(path, 5000)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		run(t, db, a.begin+`; DROP TRIGGER IF EXISTS update_messages_updated_at`) // Crush's own trigger has a resolution of a second
		rnd := rand.New(rand.NewPCG(5, 6))
		b := a.backend(path, true)
		defer b.Close()
		listed := func(b *rows.Backend) (logs []backend.Log) {
			for l, err := range b.List(t.Context(), "") {
				if err != nil {
					t.Fatal(err)
				}
				logs = append(logs, l)
			}
			return logs
		}
		message := a.tables.Message
		for n := range soaktest.Part(80, 41) {
			switch k := rnd.IntN(8); {
			case n < 6 || k < 2:
				run(t, db, fmt.Sprintf(a.turn, n+1, strings.Repeat("long ", rnd.IntN(6000))))
			case k < 7:
				// As many digits as before, so that the row keeps its pages.
				run(t, db, fmt.Sprintf(`UPDATE "%s" SET "%s" = %d WHERE rowid = (SELECT rowid FROM "%[1]s" ORDER BY rowid LIMIT 1 OFFSET %[4]d)`,
					message.Name, cmp.Or(message.Updated, message.Order[0]), 1_700_000_000+n, rnd.IntN(6)))
			default:
				run(t, db, fmt.Sprintf(`DELETE FROM "%s" WHERE rowid = (SELECT max(rowid) FROM "%[1]s")`, message.Name))
			}
			if n%40 == 39 {
				run(t, db, `PRAGMA wal_checkpoint(TRUNCATE)`)
			}
			got := listed(b)
			fresh := a.backend(path, true)
			if diff := difftest.Diff(listed(fresh), got); diff != "" {
				t.Fatalf("step %d (-new +followed):\n%s", n, diff)
			}
			fresh.Close()
		}
	})
}
