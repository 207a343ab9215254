package usage_test

import (
	"testing"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/usage"
)

// TestForks: in every dialect that can be written and has times, the messages of a forked session count once.
func TestForks(t *testing.T) {
	t.Parallel()
	for _, d := range world.New(t).Dialects() {
		if _, ok := d.(dialect.Writer); !ok || d.Family() == "codelia-state" { // its messages have no times
			continue
		}
		t.Run(d.Name(), func(t *testing.T) {
			t.Parallel()
			w := world.New(t)
			say := func(s *store.Session, texts ...string) {
				for i, text := range texts {
					_, err := s.AppendText(t.Context(), []session.Role{session.RoleUser, session.RoleAssistant}[i%2], text)
					w.Must(err)
				}
			}
			source := w.Begin(d.Name(), store.CreateOptions{})
			say(source, "plan the beds", "six of them", "and the paths?", "three")
			fork := w.Closing(w.ForkFrom(t.Context(), source.Path(), store.CreateOptions{Dialect: d, Write: w.Write(store.WriteOptions{})}))
			say(fork, "and a pond?", "one")
			w.Must(fork.Flush(t.Context()))
			m := w.Machine()
			defer m.Close()
			rows, err := find.New(m, index.Open(index.Options{}), time.Now).Catalogue(t.Context(), find.RefreshOptions{})
			w.Must(err)
			r := usage.Look(rows).Sum(rows, usage.Options{Zone: time.UTC})
			if r.Total.Sessions != 2 || r.Total.Messages != 6 || r.Copies != 0 {
				t.Errorf("%+v", r.Total)
				for i := range rows {
					t.Logf("%s parent %q created %v: %+v", rows[i].ID, rows[i].Parent, rows[i].Created, rows[i].Known.Spells.List())
				}
			}
		})
	}
}
