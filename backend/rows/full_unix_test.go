//go:build unix

package rows_test

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/durable/killtest"
)

// writeFull writes sessions while the size of the process's files is limited; the limit is raised step by step. It prints each session and
// whether the write was acknowledged. Between the steps there is no limit.
func (a agent) writeFull(path string) error {
	signal.Ignore(syscall.SIGXFSZ) // a write beyond the limit is then an error
	var free syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &free); err != nil {
		return err
	}
	ctx := context.Background()
	const step = 3000
	for k, fine := 0, 0; fine < 3; k++ {
		b := a.backend(path, false)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: uint64(k * step), Max: free.Max}); err != nil {
			return err
		}
		id := fmt.Sprint("f", k)
		_, err := b.Create(ctx, id, a.session(id, 3, 2500)...)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &free); err != nil {
			return err
		}
		b.Close()
		if errors.Is(err, backend.ErrExist) || errors.Is(err, backend.ErrConflict) {
			return err
		}
		if fine++; err != nil {
			fine = 0
		}
		fmt.Println(id, err == nil)
		if err := a.intact(ctx, path, id, err == nil); err != nil {
			return fmt.Errorf("a limit of %d: %w", k*step, err)
		}
	}
	return nil
}

// intact checks the database after a write: the session is complete or, unless it was acknowledged, missing.
func (a agent) intact(ctx context.Context, path, id string, acknowledged bool) error {
	db, err := open(path, 5000)
	if err != nil {
		return err
	}
	defer db.Close()
	var check string
	if err := db.QueryRowContext(ctx, `PRAGMA integrity_check`).Scan(&check); err != nil || check != "ok" {
		return errors.Join(err, errors.New(check))
	}
	m := a.tables.Message
	var sessions, messages int
	err = db.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM "`+a.tables.Session.Name+`" WHERE id = ?1), (SELECT count(*) FROM "`+m.Name+`" WHERE "`+m.Session+`" = ?1)`, id).Scan(&sessions, &messages)
	if err == nil && messages != 3*sessions || sessions == 0 && acknowledged {
		err = fmt.Errorf("%d rows of the session and %d messages, acknowledged: %v", sessions, messages, acknowledged)
	}
	return err
}

// If a disk has no room for a write, at whatever point that shows, no session is lost: each is complete, or the write was refused and the
// session is missing.
func TestDiskFull(t *testing.T) {
	eachAgent(t, func(t *testing.T, name string, a agent, _, path string) {
		text, err := killtest.Command("full", name, path, 0).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		refused, acknowledged := strings.Count(string(text), "false"), strings.Count(string(text), "true")
		if refused < 5 || acknowledged < 3 {
			t.Errorf("%d refused, %d acknowledged", refused, acknowledged)
		}
		b := a.backend(path, true)
		defer b.Close()
		for l, err := range b.List(t.Context(), "") {
			if err != nil {
				t.Fatal(err)
			}
			a.complete(t, b, l)
		}
		t.Logf("%d refused, %d acknowledged", refused, acknowledged)
	})
}
