package push_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/push"
)

// diverged pushes a log, and then adds an entry here and another one in the archive. It returns the path of the log.
func (d *desk) diverged(ours, theirs string) string {
	d.Helper()
	path := d.log(a, 3)
	d.push(push.PushOptions{})
	d.append(file(a), theirs)
	d.AppendPlain(path, ours)
	return path
}

// Logs of a tree family that were written both here and elsewhere have both parts as branches.
func TestPushBranches(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	pathA := d.log(a, 3)
	d.push(push.PushOptions{})
	theirs := entry("eeee0001", "aaaa0002", "theirs")
	d.append(file(a), theirs)
	d.pushes(map[string]push.Fate{file(a): push.Ahead})
	ours := entry("aaaa0003", "aaaa0002", "ours")
	d.AppendPlain(pathA, ours)
	d.pushes(map[string]push.Fate{file(a): push.Branched})
	base := text(d.CWD, a, 3)
	name := origin + "/omp/-garden/" + file(a)
	if diff := difftest.Diff(map[string]string{name: base + theirs + ours}, d.there()); diff != "" {
		t.Fatal(diff)
	}
	tree := logtree.FromText(d.Format("omp"), "", []byte(d.there()[name])).Tree
	if n := len(tree.Children("aaaa0002")); n != 2 || len(tree.Problems()) > 0 {
		t.Errorf("%d branches, problems %v", n, tree.Problems())
	}
	// Pushing continues from there, even without a state folder.
	d.pushes(map[string]push.Fate{})
	d.Must(os.RemoveAll(d.State))
	d.pushes(map[string]push.Fate{})
	more := entry("aaaa0004", "aaaa0003", "more")
	d.AppendPlain(pathA, more)
	d.pushes(map[string]push.Fate{file(a): push.Extended})
	if diff := difftest.Diff(map[string]string{name: base + theirs + ours + more}, d.there()); diff != "" {
		t.Fatal(diff)
	}
	// The log diverges again.
	again := entry("eeee0002", "eeee0001", "again")
	d.append(file(a), again)
	last := entry("aaaa0005", "aaaa0004", "last")
	d.AppendPlain(pathA, last)
	d.pushes(map[string]push.Fate{file(a): push.Branched})
	if diff := difftest.Diff(map[string]string{name: base + theirs + ours + more + again + last}, d.there()); diff != "" {
		t.Fatal(diff)
	}
}

// An id that occurs in both new parts, or a copy that was replaced elsewhere, results in a fork.
func TestPushForks(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	ours, theirs := entry("aaaa0003", "aaaa0002", "ours"), entry("aaaa0003", "aaaa0002", "theirs")
	d.diverged(ours, theirs)
	got, _ := d.push(push.PushOptions{})
	if got[file(a)] != push.Forked {
		t.Fatalf("%v; want got[file(a)] == push.Forked", got)
	}
	name, base := origin+"/omp/-garden/"+file(a), text(d.CWD, a, 3)
	all := d.there()
	if all[name] != base+ours || len(all) != 2 {
		t.Fatalf("the archive has %v", all)
	}
	delete(all, name)
	for fork, content := range all {
		tree := logtree.FromText(d.Format("omp"), "", []byte(content)).Tree
		h := tree.Header()
		if !strings.HasSuffix(content, theirs) || h.ID == a || h.Parent != a || !strings.Contains(fork, string(h.ID)) || tree.Len() != 4 {
			t.Errorf("%s is %s", fork, content)
		}
	}
	d.pushes(map[string]push.Fate{})
}

// A linear family has no branches.
func TestPushForksLinear(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	line := func(i int, said string) string {
		return fmt.Sprintf(`{"role":"user","blocks":[{"type":"text","content":%q}],"id":"m%d","timestamp":"2026-02-16T10:00:0%d.000Z"}`+"\n", said, i, i)
	}
	id := "1f10b6e0-7a44-6000-8000-0123456789ab"
	log := d.Put(".wave/projects/garden/"+id+".jsonl", line(1, "one"))
	got, _ := d.push(push.PushOptions{})
	if got[id+".jsonl"] != push.Created {
		t.Fatalf(`%v; want got[id+".jsonl"] == push.Created`, got)
	}
	var name string
	for name = range d.there() {
	}
	at, err := d.archive.Stat(d.Context(), name)
	d.Must(err)
	_, err = d.archive.Append(d.Context(), at, []byte(strings.TrimSpace(line(2, "theirs"))))
	d.Must(err)
	d.AppendPlain(log, line(3, "ours"))
	if got, _ = d.push(push.PushOptions{}); got[id+".jsonl"] != push.Forked {
		t.Fatalf(`%v; want got[id+".jsonl"] == push.Forked`, got)
	}
	all := d.there()
	if all[name] != line(1, "one")+line(3, "ours") || len(all) != 2 {
		t.Fatalf("the archive has %v", all)
	}
	delete(all, name)
	for fork, content := range all {
		if content != line(1, "one")+line(2, "theirs") {
			t.Errorf("%s is %s", fork, content)
		}
	}
	d.pushes(map[string]push.Fate{})
}

// If all logs have the same file name, a fork is in a folder of its own.
func TestPushForksFolder(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	const id = "0199aaaa-0000-4000-8000-000000000001"
	event := func(n int, typ, data string) string {
		return fmt.Sprintf(`{"type":"%s","data":{%s},"id":"c0b11070-0000-4000-8000-%012d","timestamp":"2026-02-16T10:00:00.000Z","parentId":null}`+"\n", typ, data, n)
	}
	base := event(1, "session.start", `"sessionId":"`+id+`","version":1,"producer":"x","copilotVersion":"1","startTime":"2026-02-16T10:00:00.000Z","context":{"cwd":"/garden"}`) +
		event(2, "user.message", `"content":"hello"`)
	ours, theirs := event(3, "user.message", `"content":"ours"`), event(4, "user.message", `"content":"theirs"`)
	path := d.Put(".copilot/session-state/"+id+"/events.jsonl", base)
	d.push(push.PushOptions{})
	name := origin + "/copilot/" + id + "/events.jsonl"
	at, err := d.archive.Stat(d.Context(), name)
	d.Must(err)
	_, err = d.archive.Append(d.Context(), at, []byte(strings.TrimSuffix(theirs, "\n")))
	d.Must(err)
	d.AppendPlain(path, ours)
	// A pull makes the fork here.
	if diff := difftest.Diff(map[string]push.Fate{"events.jsonl": push.Forked}, d.pull(push.PullOptions{})); diff != "" {
		t.Fatal(diff)
	}
	d.holds(path, base+ours)
	if list, err := filepath.Glob(d.At(".copilot/session-state/*/events.jsonl")); err != nil || len(list) != 2 {
		t.Errorf("%v, %v; want two sessions", list, err)
	}
	d.push(push.PushOptions{})
	there := d.there()
	if there[name] != base+ours || len(there) != 2 {
		t.Fatalf("%d logs, the first is %s", len(there), there[name])
	}
	for other, content := range there {
		fork := strings.TrimSuffix(strings.TrimPrefix(other, origin+"/copilot/"), "/events.jsonl")
		if other != name && (len(fork) != len(id) || !strings.Contains(content, `"sessionId":"`+fork+`"`) || !strings.HasSuffix(content, theirs)) {
			t.Errorf("%s: %s; want not (other != name && (len(fork) != len(id) || !strings.Contains(content, `\"sessionId\":\"`+fork+`\"`) || !strings.HasSuffix(content, theirs)))", other, content)
		}
	}
}
