package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend/all"
	"github.com/treeline-dev/treeline/internal/pgtest"
	"github.com/treeline-dev/treeline/session"
)

// A client gets each entry that another machine appends to an archive once and in order, even while connections to the database are cut.
func TestEventsOfMachines(t *testing.T) {
	t.Parallel()
	db := pgtest.Start(t, pgtest.Options{})
	url := db.Database(t, "events")
	on := func(home string) *treeline.Store {
		s, err := treeline.New(treeline.Options{
			Backends: all.Drivers(), Roots: []string{url}, Home: home, WorkDir: home, Getenv: func(string) string { return "" }, NoBreadcrumbs: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	m := newMachine(t)
	m.must(m.Close())
	m.must(m.store.Close())
	laptop := on(t.TempDir())
	defer laptop.Close()
	sess, err := laptop.Create(t.Context(), treeline.CreateOptions{CWD: t.TempDir()})
	m.must(err)
	defer sess.Close()
	say := func(i int) {
		_, err := sess.AppendText(t.Context(), []session.Role{session.RoleUser, session.RoleAssistant}[i%2], fmt.Sprint("number ", i, "."))
		m.must(err)
	}
	say(0)
	say(1)
	m.store = on(m.home)
	m.start()
	l := m.hear(m.listen()+"/api/v1/events", "")
	const count = 40
	for i := 2; i < count; i++ {
		if i%13 == 0 {
			db.Exec(t, "select pg_terminate_backend(pid) from pg_stat_activity where datname = 'events'")
		}
		say(i)
	}
	for i := 2; i < count; {
		e := l.next()
		switch {
		case !strings.Contains(e[2], `"number `):
		case e[1] == "entry" && strings.Contains(e[2], fmt.Sprintf(`"number %d."`, i)):
			i++
		default:
			t.Fatalf("number %d was awaited, and this came: %v", i, e)
		}
	}
}
