package push_test

import (
	"os"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend/postgres"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/pgtest"
	"github.com/treeline-dev/treeline/push"
)

// What holds in memory holds in a database: an empty archive gets its identity with the first push, and nothing is sent twice.
func TestPostgres(t *testing.T) {
	t.Parallel()
	url := pgtest.Shared(t).Database(t, "push")
	d := newDeskAt(t, postgres.Driver(postgres.Options{}), url)
	pathA, _ := d.log(a, 300), d.log(b, 2)
	d.pushes(map[string]push.Fate{file(a): push.Created, file(b): push.Created})
	d.equal()
	d.pushes(map[string]push.Fate{})
	d.Must(os.RemoveAll(d.State))
	d.pushes(map[string]push.Fate{})
	ours, theirs := entry("aaaa0300", "aaaa0299", "ours")+`{"torn`, entry("eeee0001", "aaaa0299", "theirs")
	d.append(file(a), theirs)
	d.AppendPlain(pathA, ours)
	d.pushes(map[string]push.Fate{file(a): push.Branched})
	d.pulls(map[string]push.Fate{file(a): push.Withheld}) // the last line may still be being written
	old := time.Now().Add(-time.Minute)
	d.Must(os.Chtimes(pathA, old, old))
	d.pulls(map[string]push.Fate{file(a): push.Extended})
	d.holds(pathA, text(d.CWD, a, 300)+ours+"\n"+theirs)
	d.pushes(map[string]push.Fate{})
	more := entry("aaaa0301", "aaaa0300", "more")
	d.AppendPlain(pathA, more)
	d.pushes(map[string]push.Fate{file(a): push.Extended})
	if diff := difftest.Diff(text(d.CWD, a, 300)+theirs+ours+"\n"+more, d.there()[origin+"/omp/-garden/"+file(a)]); diff != "" {
		t.Fatal(diff)
	}
	d.log(b, 1)
	d.pushes(map[string]push.Fate{file(b): push.Replaced})
	o := newDeskAt(t, postgres.Driver(postgres.Options{}), url)
	o.origin = "desktop-00c0ffee"
	all := push.PullOptions{Origins: []string{"*"}, Deletions: true}
	if diff := difftest.Diff(map[string]push.Fate{file(a): push.Created, file(b): push.Created}, o.pull(all)); diff != "" {
		t.Fatal(diff)
	}
	d.Must(os.Remove(pathA))
	got, _ := d.push(push.PushOptions{Deletions: true})
	if diff := difftest.Diff(map[string]push.Fate{file(a): push.Removed}, got); diff != "" {
		t.Fatal(diff)
	}
	if diff := difftest.Diff(map[string]push.Fate{file(a): push.Removed}, o.pull(all)); diff != "" {
		t.Fatal(diff)
	}
}
