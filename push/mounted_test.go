package push_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/rows/crush"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/internal/started"
	"github.com/treeline-dev/treeline/push"
)

// newCrushDesk returns a machine with two projects of Crush, each with a session that is named after it.
func newCrushDesk(t *testing.T) *desk {
	d := newDesk(t)
	d.Databases = []backend.Driver{crush.Driver()}
	d.Must(started.Crush(d.At(".local/share"), started.Project{Dir: d.At("garden")}, started.Project{Dir: d.At("orchard")}))
	b, err := crush.Driver().Open(d.At(".local/share/crush"), backend.OpenOptions{})
	d.Must(err)
	defer b.Close()
	oneName := strings.NewReplacer("/", "%2F", `\`, "%5C", ":", "%3A")
	for _, id := range []string{"garden", "orchard"} {
		header := `{"sessions":{"id":"` + id + `","title":"Trees","created_at":1},"project":` + string(rawjson.Quote(d.At(id))) + `}`
		_, err := b.Create(t.Context(), oneName.Replace(d.At(id))+"/"+id+".jsonl", []byte(header))
		d.Must(err)
	}
	d.pushes(map[string]push.Fate{"garden.jsonl": push.Created, "orchard.jsonl": push.Created})
	return d
}

// deletes expects the outcome of a push with deletions.
func (d *desk) deletes(want map[string]push.Fate) {
	d.Helper()
	got, _ := d.push(push.PushOptions{Deletions: true})
	if diff := difftest.Diff(want, got); diff != "" {
		d.Fatal(diff)
	}
}

// A project of Crush on a disk that is not mounted is not removed.
func TestPushUnmounted(t *testing.T) {
	t.Parallel()
	d := newCrushDesk(t)
	d.Must(os.Rename(d.At("orchard"), d.At("elsewhere")))
	d.deletes(map[string]push.Fate{"orchard.jsonl": push.Withheld})
	if n := len(d.there()); n != 2 {
		t.Errorf("%d logs are left in the archive, want both", n)
	}
	d.Must(os.Rename(d.At("elsewhere"), d.At("orchard")))
	d.deletes(map[string]push.Fate{})
}

// A log whose copy was removed by deletions is copied again if it is back unchanged.
func TestPushBack(t *testing.T) {
	t.Parallel()
	d := newCrushDesk(t)
	registry := d.At(".local/share/crush/projects.json")
	both, err := os.ReadFile(registry)
	d.Must(err)
	alone := []byte(`{"projects":[{"path":` + string(rawjson.Quote(d.At("garden"))) + `}]}`)
	register := func(text []byte) {
		t.Helper()
		d.Must(os.WriteFile(registry+".new", text, 0o600))
		d.Must(os.Rename(registry+".new", registry))
	}
	register(alone)
	d.deletes(map[string]push.Fate{"orchard.jsonl": push.Removed})
	register(both)
	d.pushes(map[string]push.Fate{"orchard.jsonl": push.Created})
	d.pushes(map[string]push.Fate{})
	// The same holds for a program that watches, before it lists the archive again.
	reports, ended := make(chan push.Report, 100), make(chan error)
	ctx, stop := context.WithCancel(t.Context())
	c := d.copier()
	go func() {
		ended <- c.Watch(ctx, d.target(), push.PushOptions{Deletions: true}, push.Watching{
			Told: func(r push.Report, _ error) { reports <- r },
			After: func(d time.Duration) <-chan time.Time {
				if d > time.Minute {
					return nil
				}
				return time.After(min(d, 5*time.Millisecond)) // time passes quickly
			},
		})
	}()
	next := func(want push.Fate) {
		t.Helper()
		select {
		case r := <-reports:
			if r.Logs[want] != 1 {
				t.Fatalf("%+v, want a log %s", r, want)
			}
		case <-time.After(time.Minute): // a limit, not a measurement
			t.Fatal("nothing was pushed")
		}
	}
	register(alone)
	next(push.Removed)
	register(both)
	next(push.Created)
	stop()
	d.Must(<-ended)
	if n := len(d.there()); n != 2 {
		t.Errorf("%d logs are in the archive, want both", n)
	}
}
