package file_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/file"
	"github.com/treeline-dev/treeline/internal/durable/killtest"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

// foreignChild appends to a file as an agent does, without a lock, until its standard input ends, and prints the number of each record
// after it was written. With spell 1 it opens the file for every record; otherwise it keeps the file open for that many.
func foreignChild(path string, spell int) error {
	var f *os.File
	stop := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, os.Stdin)
		stop <- err
	}()
	for n := 0; ; n++ {
		select {
		case err := <-stop:
			return err
		case <-time.After(time.Millisecond):
		}
		if f == nil {
			var err error
			if f, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintf(f, `{"writer":"foreign","n":%d}`+"\n", n); err != nil {
			return err
		}
		if n%spell == spell-1 {
			if err := f.Close(); err != nil {
				return err
			}
			f = nil
		}
		fmt.Println(n)
	}
}

// foreign is a child that is running.
type foreign struct {
	t    *testing.T
	cmd  *exec.Cmd
	in   io.Closer
	done chan []string
}

// startForeign starts a child and waits for its first record.
func startForeign(t *testing.T, path string, spell int) *foreign {
	t.Helper()
	f := &foreign{t: t, cmd: killtest.Command("foreign", path, spell), done: make(chan []string, 1)}
	in, err := f.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := f.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	f.in, f.cmd.Stderr = in, os.Stderr
	if err := f.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	begun := make(chan bool)
	go func() {
		var all []string
		for lines.Scan() {
			if all = append(all, lines.Text()); len(all) == 1 {
				close(begun)
			}
		}
		f.done <- all
	}()
	<-begun
	return f
}

// stop ends the child and returns what it wrote.
func (f *foreign) stop() []string {
	f.t.Helper()
	if err := f.in.Close(); err != nil {
		f.t.Error(err)
	}
	all := <-f.done
	if err := f.cmd.Wait(); err != nil {
		f.t.Error(err)
	}
	return all
}

// A log is rewritten again and again while an agent appends to it without a lock. Every record of the agent is there once, unless the
// rewrite was refused.
func TestReplaceBesideAnAgent(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Log("this system does not tell which programs have a file open; see the package comment")
		return
	}
	for _, tc := range []struct {
		name  string
		spell int
		force bool
		grown bool
	}{
		{"by path", 1, false, false},
		{"by path, forced", 1, true, true},
		{"a handle for some records", 20, false, true},
		{"a handle for some records, forced", 100, true, false},
		{"a handle", 1 << 30, false, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := soaktest.Begin(t)
			r := rewriter{T: t, counts: c, root: t.TempDir(), opt: backend.RewriteOptions{Force: tc.force, Grown: tc.grown}}
			r.b = open(t, r.root, file.Options{})
			rewrites := soaktest.Part(6, 3)
			if c.Soaking() {
				rewrites = 50
			}
			for round := range c.Rounds(1, 1) { // each in a new log, since reading a long one takes longer than all else
				r.run(fmt.Sprintf("%d.jsonl", round), tc.spell, rewrites)
			}
			t.Logf("%d rewritten, %d refused; the agent wrote %d records, %d of them during a rewrite", r.done, r.refused, r.wrote, r.late)
			if tc.spell == 1<<30 && r.done > 0 || tc.spell == 1 && r.done == 0 || tc.force && r.refused > 0 {
				t.Errorf("%d rewritten, %d refused", r.done, r.refused)
			}
		})
	}
}

// rewriter rewrites logs beside an agent.
type rewriter struct {
	*testing.T
	counts                     *soaktest.Counts
	b                          *file.Backend
	root                       string
	opt                        backend.RewriteOptions
	done, refused, wrote, late int
	told                       bool // a rewrite reported that the agent still has the old file open
}

// run rewrites one log, and checks that every record of the agent is there once. If a forced rewrite reported that the agent still has the
// old file open, which happens when the agent gets no processor time, what the agent wrote to it since may be missing.
func (r *rewriter) run(name string, spell, rounds int) {
	r.Helper()
	create(r.T, r.b, name, `{"header":true}`)
	agent := startForeign(r.T, filepath.Join(r.root, name), spell)
	r.told = false
	for end := r.done + r.refused + rounds; r.done+r.refused < end && !r.told && !r.Failed(); {
		r.rewrite(name)
	}
	wrote := agent.stop()
	r.wrote += len(wrote)
	r.counts.Acknowledged(len(wrote))
	count := map[string]int{}
	for line := range strings.Lines(content(r.T, filepath.Join(r.root, name))) {
		var m mark
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			r.counts.Unreadable(name, fmt.Errorf("%q: %w", line, err))
		}
		if m.Writer != "" {
			count[fmt.Sprint(m.N)]++
		}
	}
	for _, n := range wrote {
		if count[n] != 1 && (!r.told || count[n] > 1) {
			r.counts.Lost("record %s is there %d times", n, count[n])
		}
	}
}

// rewrite tries to rewrite a log once.
func (r *rewriter) rewrite(name string) {
	r.Helper()
	at, err := r.b.Stat(r.Context(), name)
	if err != nil {
		r.Error(err)
		return
	}
	records, err := readAll(r.T, r.b, at)
	if err == nil {
		var late backend.Late
		_, late, err = r.b.ReplaceShared(r.Context(), at, r.opt, records...)
		r.late += len(late.Records)
		if r.told = len(late.Holders) > 0; r.told && !r.opt.Force {
			r.Errorf("still open in %v", late.Holders)
		}
	}
	switch {
	case err == nil:
		r.done++
	case errors.Is(err, backend.ErrHeld):
		r.refused++
	case !errors.Is(err, backend.ErrConflict) && !errors.Is(err, backend.ErrChanged):
		r.Error(err)
	}
}

// readAll returns the records of a log.
func readAll(t *testing.T, b *file.Backend, at backend.Log) (all [][]byte, err error) {
	t.Helper()
	for r, err := range b.Read(t.Context(), at, 0) {
		if err != nil {
			return nil, err
		}
		all = append(all, bytes.Clone(r.Data))
	}
	return all, nil
}

// The error names a foreign program that keeps the log open. Writers of this package do not count: they notice the new file.
func TestReplaceHeld(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Log("this system does not tell which programs have a file open")
		return
	}
	root := t.TempDir()
	path := filepath.Join(root, "log.jsonl")
	b, other := open(t, root, file.Options{}), open(t, root, file.Options{})
	at := create(t, b, "log.jsonl", "one")
	at, err := other.Append(t.Context(), at, []byte("two")) // and keeps it open
	if err != nil {
		t.Fatal(err)
	}
	if at, err = b.Replace(t.Context(), at, []byte("1"), []byte("2")); err != nil {
		t.Fatalf("beside a writer of our own: %v", err)
	}
	if at, err = other.Append(t.Context(), at, []byte("3")); err != nil || content(t, path) != "1\n2\n3\n" {
		t.Fatalf("our own writer wrote elsewhere: %q, %v", content(t, path), err)
	}

	agent, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	process := fmt.Sprintf("process %d", os.Getpid())
	if _, err := b.Replace(t.Context(), at, []byte("x")); !errors.Is(err, backend.ErrHeld) || !strings.Contains(err.Error(), process) {
		t.Errorf("replaced under an agent: %v", err)
	}
	if err := b.Remove(t.Context(), at); !errors.Is(err, backend.ErrHeld) {
		t.Errorf("removed under an agent: %v", err)
	}
	if got := content(t, path); got != "1\n2\n3\n" {
		t.Errorf("refused, and changed: %q", got)
	}
	began := time.Now()
	now, late, err := b.ReplaceShared(t.Context(), at, backend.RewriteOptions{Force: true}, []byte("x"))
	// A process that a parallel test starts also has the agent's file open, until it executes its program.
	named := 0
	for _, holder := range late.Holders {
		if strings.HasPrefix(holder, process+" ") {
			named++
		}
	}
	if err != nil || named != 1 {
		t.Errorf("forced: %+v, %v; want %s once among the holders", late, err, process)
	}
	if took := time.Since(began); took < time.Second || took > 20*time.Second {
		t.Errorf("watched the old file for %v", took)
	}
	if err := agent.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Append(t.Context(), now, []byte("y")); err != nil || content(t, path) != "x\ny\n" {
		t.Errorf(`%q, %v; want no error, content(t, path) == "x\ny\n"`, content(t, path), err)
	}
}

// What arrives in the last moment before the rename or the removal is carried over, returned, or a conflict.
func TestArrivesInTheLastMoment(t *testing.T) {
	t.Parallel()
	add := func(path, text string) {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err == nil {
			_, err = f.WriteString(text)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Error(err)
		}
	}
	for _, tc := range []struct {
		name, before string
		meanwhile    func(path string)
		want         string // of the file; "" if it must be a conflict
	}{
		{"lines", "one\n", func(path string) { add(path, "two\nthree\n") }, "ONE\ntwo\nthree\n"},
		{"part of a line", "one\n", func(path string) { add(path, "two\nthr") }, "ONE\ntwo\nthr\n"},
		{"the rest of a line", "{}\n{", func(path string) { add(path, "}\n") }, ""},
		{"another file", "one\n", func(path string) {
			if err := errors.Join(os.WriteFile(path+".new", []byte("other\n"), 0o600), os.Rename(path+".new", path)); err != nil {
				t.Error(err)
			}
		}, ""},
		{"other content", "one\n", func(path string) {
			if err := os.WriteFile(path, []byte("other and longer\n"), 0o600); err != nil {
				t.Error(err)
			}
		}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			root := t.TempDir()
			path := filepath.Join(root, "log.jsonl")
			if err := put(root, "log.jsonl", []byte(tc.before)); err != nil {
				t.Fatal(err)
			}
			staged := false
			b := open(t, root, file.Options{FS: &stagingFS{synced: func() {
				if !staged {
					staged = true
					tc.meanwhile(path)
				}
			}}})
			at, err := b.Stat(t.Context(), "log.jsonl")
			if err != nil {
				t.Fatal(err)
			}
			now, late, err := b.ReplaceShared(t.Context(), at, backend.RewriteOptions{}, []byte("ONE"))
			if tc.want == "" {
				if !errors.Is(err, backend.ErrConflict) || strings.Contains(content(t, path), "ONE") {
					t.Errorf("error %v, file %q", err, content(t, path))
				}
				return
			}
			if err != nil || content(t, path) != tc.want {
				t.Fatalf("error %v, file %q", err, content(t, path))
			}
			if again, err := b.Stat(t.Context(), "log.jsonl"); err != nil || !again.Same(now) {
				t.Errorf("Replace returned %+v, Stat %+v, %v", now, again, err)
			}
			if got := "ONE\n" + string(bytes.Join(late.Records, []byte("\n"))) + "\n"; got != tc.want {
				t.Errorf("told %q", got)
			}
		})
	}
}

// A log that has grown since the caller saw it is replaced and removed if the caller says so, and nothing of it is lost.
func TestReplaceGrown(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	path := filepath.Join(root, "log.jsonl")
	b, other := open(t, root, file.Options{}), open(t, root, file.Options{})
	at := create(t, b, "log.jsonl", "one")
	if _, err := other.Append(t.Context(), at, []byte("two")); err != nil {
		t.Fatal(err)
	}
	opt := backend.RewriteOptions{Grown: true}
	if _, _, err := b.ReplaceShared(t.Context(), at, backend.RewriteOptions{}, []byte("ONE")); !errors.Is(err, backend.ErrConflict) {
		t.Errorf("strict: %v", err)
	}
	now, late, err := b.ReplaceShared(t.Context(), at, opt, []byte("ONE"))
	if err != nil || len(late.Records) != 1 || content(t, path) != "ONE\ntwo\n" {
		t.Errorf(`%q, %q, %v; want no error, len(late.Records) == 1, content(t, path) == "ONE\ntwo\n"`, content(t, path), late.Records, err)
	}
	if _, _, err := b.ReplaceShared(t.Context(), at, opt, []byte("x")); !errors.Is(err, backend.ErrConflict) {
		t.Errorf("the log was replaced, and that counts as growth: %v", err)
	}
	if _, err := other.Append(t.Context(), now, []byte("three")); err != nil {
		t.Fatal(err)
	}
	late, err = b.RemoveShared(t.Context(), now, opt)
	if err != nil || len(late.Records) != 1 || string(late.Records[0]) != "three" || late.Kept != 0 {
		t.Errorf("removed: %q, %v", late.Records, err)
	}
}

// What was appended since the caller saw a log is kept elsewhere before the log is removed, so that it survives a kill after the removal.
func TestRemoveKeeps(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	path := filepath.Join(root, "log.jsonl")
	b, other := open(t, root, file.Options{}), open(t, root, file.Options{})
	at := create(t, b, "log.jsonl", "one")
	if _, err := other.Append(t.Context(), at, []byte("two"), []byte("three")); err != nil {
		t.Fatal(err)
	}
	full := errors.New("no space")
	opt := backend.RewriteOptions{Grown: true, Keep: func([][]byte) error { return full }}
	if _, err := b.RemoveShared(t.Context(), at, opt); !errors.Is(err, full) || content(t, path) != "one\ntwo\nthree\n" {
		t.Errorf("%v, and the log is %q; want the error of Keep, and the log as it was", err, content(t, path))
	}
	var kept []string
	opt.Keep = func(records [][]byte) error {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("the log went before its records were kept: %v", err)
		}
		for _, r := range records {
			kept = append(kept, string(r))
		}
		return nil
	}
	late, err := b.RemoveShared(t.Context(), at, opt)
	if err != nil || late.Kept != 2 || len(late.Records) != 0 || strings.Join(kept, " ") != "two three" {
		t.Errorf("kept %q, %d of them, late %q, %v; want two and three, and nothing late", kept, late.Kept, late.Records, err)
	}
}
