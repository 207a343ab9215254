package push_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/postgres"
	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/durable/killtest"
	"github.com/treeline-dev/treeline/internal/pgtest"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/push"
)

func TestMain(m *testing.M) {
	killtest.Main(mainFunc(func() int { return pgtest.Main(m) }), childPush)
}

type mainFunc func() int

func (f mainFunc) Run() int { return f() }

// childPush is "home url way". It pushes, or pulls everything into another folder, and prints a line for each log.
func childPush(args string) error {
	var home, url, way string
	if _, err := fmt.Sscan(args, &home, &url, &way); err != nil {
		return err
	}
	b, err := postgres.Driver(postgres.Options{}).Open(url, backend.OpenOptions{})
	if err != nil {
		return err
	}
	c := push.New(push.Options{
		Machine: place.New(world.Options(home, durable.OS{})), Origin: origin, State: filepath.Join(home, "state"), Step: 2000,
	})
	fmt.Println("begun")
	told := func(e push.Event) { fmt.Println(e.Name) }
	t := push.Target{Backend: b, Shown: "archive"}
	if way == "pull" {
		_, err = c.Pull(context.Background(), t, push.PullOptions{Event: told, Workers: 2, Into: filepath.Join(home, "into"), Origins: []string{origin}})
	} else {
		_, err = c.Push(context.Background(), t, push.PushOptions{Event: told, Workers: 2})
	}
	return err
}

// A push or pull that is killed at any moment continues where it was: the copies are equal, and nothing is there twice.
func TestKill(t *testing.T) {
	t.Parallel()
	url := pgtest.Shared(t).Database(t, "kill")
	d := newDeskAt(t, postgres.Driver(postgres.Options{}), url)
	d.step = 2000
	c := soaktest.Begin(t)
	rnd := rand.New(rand.NewPCG(c.Seed(1), 2))
	var paths []string
	for i := range 6 {
		paths = append(paths, d.log(fmt.Sprintf("%04x1111-0000-4000-8000-000000000001", 0xa000+i), 40+20*i))
	}
	pushed := false
	for round := range c.Rounds(2, 1) {
		for _, way := range []string{"push", "pull"} {
			if way == "pull" && !pushed {
				continue // a pull from an archive without logs is refused
			}
			lines, err := killtest.Run(killtest.Command(d.Home, url, way), 1+rnd.IntN(5), time.Duration(rnd.IntN(4000))*time.Microsecond)
			d.Must(err)
			pushed = pushed || len(lines) > 1
		}
		path := paths[rnd.IntN(len(paths))]
		if rnd.IntN(3) == 0 {
			d.Must(os.WriteFile(path, []byte(text(d.CWD, filepath.Base(path)[25:61], 1+rnd.IntN(60))), 0o600))
		} else {
			id := fmt.Sprintf("f%07d", round)
			d.AppendPlain(path, entry(id, "", strings.Repeat("x", rnd.IntN(5000))))
			c.Acknowledged(1)
		}
	}
	d.push(push.PushOptions{})
	d.equal()
	d.pushes(map[string]push.Fate{})
	into := d.At("into/" + origin + "/omp/sessions/-garden")
	fates := d.pull(push.PullOptions{Into: d.At("into"), Origins: []string{origin}})
	all := lines(t, into)
	for _, path := range paths {
		want, err := os.ReadFile(path)
		d.Must(err)
		switch fates[filepath.Base(path)] {
		case push.Forked, push.Ahead:
			// A pull was killed before it stored its watermark, and then the log was replaced in the archive. The local copy may have been
			// changed, so both are kept, and nothing is missing.
			for line := range strings.Lines(string(want)) {
				if !all[line] && !strings.Contains(line, `"type":"session"`) { // a fork has another header
					t.Errorf("%s is %s, and no copy has %.200s", path, fates[filepath.Base(path)], line)
				}
			}
		default:
			d.holds(filepath.Join(into, filepath.Base(path)), string(want))
		}
	}
}

// lines returns the lines of all logs in a folder.
func lines(t *testing.T, dir string) map[string]bool {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(content)) {
			all[line] = true
		}
	}
	return all
}

// breaking is an archive whose nth mutation fails, either before or after it was done.
type breaking struct {
	archive
	mu    sync.Mutex
	left  int
	after bool
}

var errBroken = errors.New("connection lost")

func (b *breaking) do(f func() (backend.Log, error)) (backend.Log, error) {
	b.mu.Lock()
	b.left--
	now := b.left == 0
	b.mu.Unlock()
	if now && !b.after {
		return backend.Log{}, errBroken
	}
	l, err := f()
	if now {
		return backend.Log{}, errBroken
	}
	return l, err
}

func (b *breaking) Extend(ctx context.Context, at backend.Log, mark string, content io.Reader) (backend.Log, error) {
	return b.do(func() (backend.Log, error) { return b.archive.Extend(ctx, at, mark, content) })
}

func (b *breaking) Overwrite(ctx context.Context, at backend.Log, mark string, content io.Reader) (backend.Log, error) {
	return b.do(func() (backend.Log, error) { return b.archive.Overwrite(ctx, at, mark, content) })
}

// A step that failed, or whose outcome is unknown, takes effect once: the next push finds out.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, redact := range []bool{false, true} {
		for n := 1; n <= 12; n++ {
			for _, after := range []bool{false, true} {
				t.Run(fmt.Sprint(redact, n, after), func(t *testing.T) {
					t.Parallel()
					d := newDesk(t)
					d.step = 600
					broken := &breaking{archive: d.archive, left: n, after: after}
					pathA, pathB := d.log(a, 12), d.log(b, 5)
					try := func() (failed int) {
						r, err := d.copier().Push(d.Context(), push.Target{Backend: broken, Shown: "mem://team"}, push.PushOptions{Redact: redact, Workers: 1})
						d.Must(err)
						return r.Logs[push.Failed]
					}
					failed := try()
					d.AppendPlain(pathA, entry("aaaa0012", "aaaa0011", "more"))
					failed += try()
					d.Must(os.WriteFile(pathB, []byte(text(d.CWD, b, 9)[:700]), 0o600))
					failed += try()
					broken.left = 0
					d.push(push.PushOptions{Redact: redact})
					if redact {
						d.AppendPlain(pathB, "\n") // the push waits for the end of the line
						d.push(push.PushOptions{Redact: redact})
					}
					d.equal()
					if n <= 8 && failed != 1 {
						t.Errorf("%d logs failed", failed)
					}
				})
			}
		}
	}
}

// A problem with one log or one source does not stop the rest.
func TestOneBadLog(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.log(a, 2)
	d.log(b, 2)
	broken := &breaking{archive: d.archive, left: 1}
	var failed []error
	r, err := d.copier().Push(d.Context(), push.Target{Backend: broken}, push.PushOptions{Workers: 1, Event: func(e push.Event) {
		if e.Err != nil {
			failed = append(failed, e.Err)
		}
	}})
	if err != nil || r.Logs[push.Failed] != 1 || r.Logs[push.Created] != 1 || len(failed) != 1 || !errors.Is(failed[0], errBroken) {
		t.Errorf("%+v, %v, %v; want no error, r.Logs[push.Failed] == 1, r.Logs[push.Created] == 1, len(failed) == 1, the error errBroken", r.Logs, failed, err)
	}
}
