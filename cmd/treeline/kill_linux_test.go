package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

// disturbed is a session that commands rewrite, some of which are killed, while an agent appends to it without a lock.
type disturbed struct {
	t      *testing.T
	counts *soaktest.Counts
	rnd    *rand.Rand
	home   string
	said   []string // texts that a command acknowledged
	did    []string // the commands
	killed bool     // a command was killed

	paused atomic.Bool     // the agent waits
	path   string          // the file of the agent
	told   []string        // texts that the agent wrote; read after it has ended
	after  map[string]bool // those of them that were written to a file without a name
}

const disturbedID = "01a1dcc8-0000-7000-8000-000000000001"

// begin makes the session. It has two records on one line and a line that is not a record, so that there is something to repair.
func (d *disturbed) begin() {
	d.t.Helper()
	dir := filepath.Join(d.home, ".omp", "agent", "sessions", "-w")
	err := os.MkdirAll(dir, 0o700)
	for _, cwd := range []string{"w", "v"} {
		err = errors.Join(err, os.Mkdir(filepath.Join(d.home, cwd), 0o700))
	}
	log := fmt.Sprintf(`{"type":"session","version":3,"id":%q,"timestamp":"2026-03-02T14:00:00.000Z","cwd":%q}`+"\n", disturbedID, filepath.Join(d.home, "w")) +
		agentLine("glued 0") + agentLine("glued 1") + "\nnot a record\n"
	d.path = filepath.Join(dir, "2026-03-02T14-00-00-000Z_"+disturbedID+".jsonl")
	err = errors.Join(err, os.WriteFile(d.path, []byte(log), 0o600))
	if err != nil {
		d.t.Fatal(err)
	}
	d.said = append(d.said, "glued 0", "glued 1")
}

func agentLine(text string) string {
	return fmt.Sprintf(`{"type":"message","id":%q,"parentId":null,"timestamp":"2026-03-02T14:00:00.000Z","message":{"role":"user","content":%q}}`, strings.ReplaceAll(text, " ", "-"), text)
}

// files returns the files of the session: one, or two after a move that was killed.
func (d *disturbed) files() []string {
	found, _ := filepath.Glob(filepath.Join(d.home, ".omp", "agent", "sessions", "*", "*_"+disturbedID+".jsonl"))
	return found
}

// agent appends until stop is called. It opens its file for each entry, and searches for it when it is gone.
func (d *disturbed) agent() (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for n := 0; ; n++ {
			select {
			case <-end:
				return
			case <-time.After(2 * time.Millisecond):
			}
			if text := fmt.Sprint("agent ", n, "."); !d.paused.Load() && d.write(text) {
				d.told = append(d.told, text)
			}
		}
	}()
	return func() { close(end); <-ended }
}

func (d *disturbed) write(text string) bool {
	f, err := os.OpenFile(d.path, os.O_WRONLY|os.O_APPEND, 0)
	if errors.Is(err, fs.ErrNotExist) {
		if files := d.files(); len(files) > 0 { // otherwise it is in the trash
			d.path = files[0]
		}
		return false
	}
	if err == nil {
		_, err = f.WriteString(agentLine(text) + "\n")
		var stat syscall.Stat_t
		err = errors.Join(err, syscall.Fstat(int(f.Fd()), &stat), f.Close())
		if stat.Nlink == 0 {
			d.after[text] = true
		}
	}
	if err != nil {
		d.t.Error(err)
	}
	return err == nil
}

// run starts a command, and kills it after a random time if kill is set. It returns whether the command succeeded.
func (d *disturbed) run(kill bool, args ...string) bool {
	d.t.Helper()
	d.did = append(d.did, strings.Join(args[:2], " "))
	cmd := exec.Command("treeline", args...) // the test binary under another name
	cmd.Env = append(os.Environ(), "HOME="+d.home, "XDG_STATE_HOME=", "XDG_CACHE_HOME=", "TZ=UTC")
	cmd.Dir = d.home
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	if kill {
		timer := time.AfterFunc(time.Duration(d.rnd.IntN(60_000))*time.Microsecond, func() { _ = cmd.Process.Kill() }) // it may have ended
		defer timer.Stop()
	}
	err := cmd.Wait()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return true
	case errors.As(err, &exit) && !exit.Exited():
		d.did = append(d.did, "killed")
		d.killed = true
		return false
	case refused.MatchString(out.String()):
		return false
	}
	d.t.Errorf("%q ended: %v\n%s", args, err, out.String())
	return false
}

// refused matches the errors of a command that wrote nothing, because the agent had the file open at that moment or changed it again and
// again.
var refused = regexp.MustCompile(`open for writing|has the file open|keeps writing to it|changed by another writer|nothing was removed: a place that is missing`)

// step runs a command on the session.
func (d *disturbed) step(n int) {
	d.t.Helper()
	kill := d.rnd.IntN(2) == 0
	files := d.files()
	if len(files) == 0 {
		d.t.Fatal("the session is gone")
	}
	path := files[0]
	switch d.rnd.IntN(8) {
	case 0, 1:
		if text := fmt.Sprint("command ", n, "."); d.run(kill, "append", path, "--text", text) {
			d.said = append(d.said, text)
		}
	case 2:
		d.run(kill, "rename", path, fmt.Sprint("title ", n))
	case 3:
		d.run(kill, "move", path, "--cwd", filepath.Join(d.home, []string{"v", "w"}[n%2]))
	case 4:
		// A repair waits until a log was not written to for two seconds, but the agent writes all the time.
		d.paused.Store(true)
		time.Sleep(5 * time.Millisecond) // time for a write that has begun
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(path, old, old); err != nil {
			d.t.Fatal(err)
		}
		burst := time.AfterFunc(time.Duration(d.rnd.IntN(40_000))*time.Microsecond, func() {
			d.paused.Store(false)
			time.Sleep(10 * time.Millisecond)
			d.paused.Store(true)
		})
		d.run(kill, "repair", path, "--apply")
		burst.Stop()
		d.paused.Store(false)
	case 5:
		d.run(kill, "rm", path, "--yes")
		if len(d.files()) == 0 && !d.run(false, "rm", "--undo", d.removed()) {
			d.t.Error("it cannot be put back")
		}
	case 6:
		image := fmt.Sprintf(`{"role":"user","content":[{"type":"text","text":"image %d."},{"type":"image","mimeType":"image/png","data":"%s"}]}`, n, strings.Repeat(fmt.Sprintf("A%03d", n), 500))
		if d.run(kill, "append", path, "--message", image) {
			d.said = append(d.said, fmt.Sprintf("image %d.", n))
		}
	case 7:
		d.age()
		d.run(kill, "gc", "--apply")
	}
}

// removed returns the id of the session in the trash. A command that was killed may have left an older copy there.
func (d *disturbed) removed() (id string) {
	found, _ := filepath.Glob(filepath.Join(d.home, ".local", "state", "treeline", "trash", disturbedID+"*.session"))
	var newest time.Time
	for _, path := range found {
		if info, err := os.Stat(path); err == nil && info.ModTime().After(newest) {
			id, newest = strings.TrimSuffix(filepath.Base(path), ".session"), info.ModTime()
		}
	}
	return id
}

// age makes blobs old enough for a collection to remove unused ones.
func (d *disturbed) age() {
	blobs, _ := filepath.Glob(filepath.Join(d.home, ".omp", "agent", "blobs", "*"))
	for _, path := range blobs {
		_ = os.Chtimes(path, time.Time{}, time.Now().Add(-48*time.Hour)) // it may be on its way to the trash
	}
}

var namedBlob = regexp.MustCompile(`blob:sha256:([0-9a-f]{64})`)

// check checks everything that was acknowledged: it is in the session once, and so is every blob that the session refers to.
func (d *disturbed) check() {
	d.t.Helper()
	d.counts.Acknowledged(len(d.said) + len(d.told))
	st, err := treeline.New(treeline.Options{Home: d.home, WorkDir: d.home, Getenv: func(string) string { return "" }})
	if err != nil {
		d.t.Fatal(err)
	}
	defer st.Close()
	there := map[string]int{}
	for _, path := range d.files() {
		s, err := st.Open(d.t.Context(), path, treeline.OpenOptions{})
		d.counts.Unreadable(path, err)
		_ = s.Close() // it was only read
		content, err := os.ReadFile(path)
		d.counts.Unreadable(path, err)
		for line := range bytes.Lines(content) {
			line = bytes.TrimSpace(line)
			if !json.Valid(line) && string(line) != "not a record" && !bytes.Contains(line, []byte(`"glued 0"`)) {
				d.counts.Unreadable(path, fmt.Errorf("not a record: %.200q", line))
			}
		}
		for _, text := range append(d.said, d.told...) {
			n := bytes.Count(content, []byte(`"`+text+`"`))
			if n > 1 {
				d.counts.Lost("%q is there %d times in %s", text, n, path)
			}
			there[text] += n
		}
		for _, ref := range namedBlob.FindAllSubmatch(content, -1) {
			if _, err := os.Stat(filepath.Join(d.home, ".omp", "agent", "blobs", string(ref[1]))); err != nil {
				d.counts.Lost("a blob that %s names: %v", path, err)
			}
		}
	}
	for _, text := range append(d.said, d.told...) {
		// A command that is killed just after it has replaced or removed a file cannot save what another program then writes to the old
		// file through an open handle; see package backend/file.
		if there[text] == 0 && !(d.killed && d.after[text]) {
			d.counts.Lost("%q was acknowledged and is lost", text)
		}
	}
}

// Commands that append, rename, move, repair, remove, restore and collect run while an agent appends without a lock, and half of them are
// killed. Everything that the agent wrote, and that a command acknowledged, must be there once.
func TestKillCommands(t *testing.T) {
	t.Parallel()
	c := soaktest.Begin(t)
	rnd := rand.New(rand.NewPCG(c.Seed(1), 5))
	for range c.Rounds(1, 1) {
		d := &disturbed{t: t, counts: c, rnd: rnd, home: t.TempDir(), after: map[string]bool{}}
		d.begin()
		stop := d.agent()
		for n := range 12 {
			d.step(n)
			if t.Failed() || len(d.files()) > 1 { // after a move that was killed, a person must choose one of the files
				break
			}
		}
		stop()
		if d.check(); t.Failed() {
			t.Logf("the commands were %q; files %q", d.did, d.files())
		}
		if !t.Failed() {
			_ = os.RemoveAll(d.home) // a soak makes thousands of them
		}
	}
}
