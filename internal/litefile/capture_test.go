package litefile

import (
	"bufio"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/durable/killtest"
)

func TestMain(m *testing.M) { killtest.Main(m, restless) }

// restless runs as a program that never pauses: each transaction changes a word anywhere in the database, and adds one. It prints a line once
// its log was restarted.
func restless(path string) error {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=synchronous(NORMAL)")
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	for n := 1; ; n++ {
		if _, err := db.Exec(`BEGIN; UPDATE words SET word = ? WHERE rowid = 1 + abs(random()) % (SELECT max(rowid) FROM words);
			INSERT INTO words VALUES (hex(zeroblob(2000))); UPDATE counts SET n = n + 1; COMMIT`, fmt.Sprint("changed by ", n)); err != nil {
			return err
		}
		if n == 500 {
			fmt.Println("restless")
		}
	}
}

// A read that takes longer than the program needs to move its log into the database ends, and sees the database after one
// transaction.
func TestRestless(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	db := other(t, path)
	do(t, db, `PRAGMA journal_mode = WAL; CREATE TABLE words (word TEXT); CREATE TABLE counts (n INTEGER); INSERT INTO counts VALUES (0);
		INSERT INTO words SELECT hex(zeroblob(1000)) FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) SELECT i FROM n)`)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	child := killtest.Command(path)
	out, err := child.StdoutPipe()
	if err == nil {
		child.Stderr = os.Stderr
		err = child.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = child.Process.Kill(); _ = child.Wait() }()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	f := Follow(durable.OS{}, path)
	defer f.Close()
	copies := 0
	for range 2 {
		var words, counted int
		calls := 0
		err := f.Read(t.Context(), func(s *Snapshot) error {
			if s.kept != nil {
				copies++
			}
			db, err := s.DB()
			if err != nil {
				return err
			}
			if err := db.QueryRow(`SELECT n FROM counts`).Scan(&counted); err != nil {
				return err
			}
			calls++                            // earlier failures take no time, so there may be many calls
			time.Sleep(120 * time.Millisecond) // long enough for a change of every page that is read later
			var check string
			err = db.QueryRow(`SELECT count(*), (SELECT integrity_check FROM pragma_integrity_check) FROM words`).Scan(&words, &check)
			if err == nil && check != "ok" {
				err = errors.New(check)
			}
			return err
		})
		if err != nil || words-2000 != counted || calls > 2 {
			t.Errorf("%d words after %d transactions, %d calls, %v", words, counted, calls, err)
		}
	}
	if copies == 0 {
		t.Error("it was never restless")
	}
}

// A log that was removed and made anew is not followed: the copy would have old pages over new ones.
func TestCaptureReplaced(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	db := other(t, path)
	do(t, db, `PRAGMA journal_mode = WAL; CREATE TABLE words (word TEXT); INSERT INTO words VALUES ('one')`)
	f := Follow(durable.OS{}, path)
	defer f.Close()
	if _, err := f.look(); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	do(t, other(t, path), `INSERT INTO words VALUES ('two')`)
	if _, err := f.capture(t.Context()); !errors.Is(err, errOvertaken) {
		t.Errorf("got %v", err)
	}
	if got := seen(t, f); len(got) != 2 {
		t.Errorf("%q; want len(got) == 2", got)
	}
}
