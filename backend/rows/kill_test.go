package rows_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/durable/killtest"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

// writeOn makes sessions and appends to them until it is killed. When a write is acknowledged, it prints the session and its number of
// messages. A title has the number of messages with which a session was made: it is there with these or not at all.
func (a agent) writeOn(path string, seed uint64) error {
	ctx, rnd := context.Background(), rand.New(rand.NewPCG(seed, 0))
	a.tables.Busy = time.Minute
	b := a.backend(path, false)
	for k := 0; ; k++ {
		id, n := fmt.Sprintf("s%d-%d", seed, k), 1+rnd.IntN(12)
		at, err := b.Create(ctx, id, a.session(id, n, rnd.IntN(4000))...)
		for err == nil {
			fmt.Println(id, n)
			if rnd.IntN(3) == 0 {
				break
			}
			n++
			at, err = b.Append(ctx, at, a.record(id, n-1, rnd.IntN(4000)))
		}
		if err != nil {
			return err
		}
	}
}

// Several writers are killed at any moment. Acknowledged messages are there, a session is there with all messages that it was made with or
// not at all, and SQLite finds no damage.
func TestKill(t *testing.T) {
	eachAgent(t, func(t *testing.T, name string, a agent, _, path string) {
		c := soaktest.Begin(t)
		rnd := rand.New(rand.NewPCG(c.Seed(3), 4))
		for round := range c.Rounds(2, 1) {
			told, err := killtest.Round(rnd, 2, func(seed uint64) *exec.Cmd { return killtest.Command("writer", name, path, seed) })
			if err != nil {
				t.Fatal(err)
			}
			b := a.backend(path, true)
			for _, lines := range told {
				c.Acknowledged(len(lines))
				a.survived(t, b, lines)
			}
			for l, err := range b.List(t.Context(), "") {
				if err != nil {
					t.Fatal(err)
				}
				a.complete(t, b, l)
			}
			b.Close()
			whole(t, path)
			if round%20 == 19 { // otherwise reading would take longer than writing
				db, err := open(path, 5000)
				if err != nil {
					t.Fatal(err)
				}
				run(t, db, `DELETE FROM "`+a.tables.Message.Name+`"`)
				if a.tables.Part.Name != "" {
					run(t, db, `DELETE FROM "`+a.tables.Part.Name+`"`)
				}
				run(t, db, `DELETE FROM "`+a.tables.Session.Name+`"`)
				db.Close()
			}
		}
	})
}

// survived checks that everything acknowledged is there.
func (a agent) survived(t *testing.T, b backend.Backend, lines []string) {
	t.Helper()
	most := map[string]int{}
	for _, line := range lines {
		var id string
		var n int
		if _, err := fmt.Sscan(line, &id, &n); err != nil {
			t.Fatal(err)
		}
		most[id] = n
	}
	for id, n := range most {
		at, err := b.Stat(t.Context(), id)
		if err != nil {
			t.Error(err)
			continue
		}
		if got, err := read(t, b, at, 0); err != nil || len(got) < n+1 || len(got) > n+2 {
			t.Errorf("%s: %d records, acknowledged with %d messages, %v", id, len(got), n, err)
		}
	}
}

// complete checks that a session has the messages that it was made with.
func (a agent) complete(t *testing.T, b backend.Backend, l backend.Log) {
	t.Helper()
	got, err := read(t, b, l, 0)
	if err != nil || len(got) == 0 {
		t.Errorf("%s: %d records, %v", l.Name, len(got), err)
		return
	}
	_, title, ok := strings.Cut(got[0], `"of `)
	var made int
	if _, err := fmt.Sscanf(title, "%d", &made); err != nil || !ok || len(got) < made+1 {
		t.Errorf("%s: %d records, %s, %v", l.Name, len(got), got[0], err)
	}
	for i, r := range got[1:] {
		if want := fmt.Sprintf(`%s-%05d"`, l.Name, i); !strings.Contains(r, want) {
			t.Errorf("%s: message %d is %.100s", l.Name, i, r)
		}
	}
}
