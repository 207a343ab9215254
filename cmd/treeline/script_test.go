package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/internal/gen"
	"github.com/treeline-dev/treeline/internal/pgdb"
	"github.com/treeline-dev/treeline/internal/pgtest"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

var update = flag.Bool("update", false, "write what the commands print into the scripts")

func TestMain(m *testing.M) {
	if strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe") == "treeline" {
		main()
	}
	testscript.Main(withProgram{m}, map[string]func(){
		"treeline-worker": work, "treeline-dated": dated, "treeline-recording": recorded, "treeline-eager": eager, "treeline-pausing": pausing,
	})
}

// withProgram links the program as "treeline" into the folder of the commands of testscript.Main. It is not one of those commands,
// because in scripts the name "treeline" belongs to treelineCmd.
type withProgram struct{ m *testing.M }

// Run runs the tests, and stops the servers and workers that they share.
func (w withProgram) Run() int {
	if signal.Ignored(syscall.SIGHUP) { // under nohup; a program that handles a signal starts others with the default action
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	beside, err := exec.LookPath("treeline-worker")
	if err == nil {
		err = os.Link(beside, filepath.Join(filepath.Dir(beside), "treeline"+filepath.Ext(beside)))
	}
	code := exitProblem
	if err == nil {
		code = pgtest.Main(w.m)
		err = workers.end()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitProblem
	}
	return code
}

// dated is the command on a fixed day, so that the sessions of the demo are the same each time.
func dated() {
	a := cli.New()
	a.Clock = demoDay
	os.Exit(command(context.Background(), a))
}

// eager is the command with progress for every file. It may take any time to end by itself after an interruption, since the machine may be
// busy.
func eager() { os.Exit(command(context.Background(), eagerApp())) }

// eagerApp returns an App whose clock is ahead, so that sessions that a test has just written do not have racy stamps.
func eagerApp() *cli.App {
	a := cli.New()
	a.ProgressAfter, a.ProgressEvery = 0, 0
	a.Patience.Store(int64(time.Minute))
	a.Clock = func() time.Time { return time.Now().Add(time.Minute) }
	return a
}

// pausing is eager, and stops after the first file until it is interrupted.
func pausing() {
	ctx, cancel := context.WithCancel(context.Background())
	signals, cancelled := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, os.Interrupt)
	go func() {
		<-signals
		cancel()
		close(cancelled)
	}()
	a := eagerApp()
	a.Stderr = pausingWriter{os.Stderr, cancelled}
	os.Exit(command(ctx, a))
}

// pausingWriter is a terminal. Writing to it continues after the channel is closed.
type pausingWriter struct {
	*os.File
	until <-chan struct{}
}

func (w pausingWriter) Write(p []byte) (int, error) {
	n, err := w.File.Write(p)
	<-w.until
	return n, err
}

// TestScripts runs testdata/script/*.txtar. Each begins with what it tests.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, scripts("script", nil))
}

// TestArchiveScripts runs testdata/archive/*.txtar, each with a database of its own: $STORE.
func TestArchiveScripts(t *testing.T) {
	t.Parallel()
	server := pgtest.Shared(t)
	server.Exec(t, "create role "+pgtest.Guarded+" login password 'right'")
	var n atomic.Int64
	testscript.Run(t, scripts("archive", func(e *testscript.Env) {
		url := server.Database(t, fmt.Sprintf("script%d", n.Add(1)))
		shown, err := pgdb.Shown(url)
		if err != nil {
			t.Fatal(err)
		}
		e.Setenv("GUARDED", strings.Replace(url, "postgres://"+pgtest.User+"@", "postgres://"+pgtest.Guarded+":hunter2@", 1))
		e.Setenv("STORE", strings.Replace(url, "postgres://"+pgtest.User+"@", "postgres://"+pgtest.User+":hunter2@", 1))
		e.Setenv("SHOWN", shown)
		e.Setenv("PGUSER", pgtest.User)
	}))
}

// scripts returns the parameters for the scripts in a folder. more adds to their environment.
func scripts(folder string, more func(*testscript.Env)) testscript.Params {
	return testscript.Params{
		Dir:           filepath.Join("testdata", folder),
		UpdateScripts: *update,
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "mount":
				return canMount(), nil
			case "every":
				return soaktest.Every(), nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, "home")
			for key, value := range map[string]string{
				"HOME": home, "USERPROFILE": home, "TZ": "UTC", "TERM": "xterm", "PAGER": "cat", "NO_COLOR": "",
				"XDG_CACHE_HOME": filepath.Join(e.WorkDir, "cache"),
				"GORACE":         os.Getenv("GORACE"), // also for the commands
			} {
				e.Setenv(key, value)
			}
			e.Values[rememberedKey{}] = map[string]map[string]string{}
			e.Values[namesKey{}] = map[string]string{}
			e.Values[backgroundKey{}] = map[string]*background{}
			if more != nil {
				more(e)
			}
			return os.MkdirAll(filepath.Join(home, ".omp", "agent"), 0o700) // omp is the default agent if its folder exists
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"treeline":    treelineCmd,
			"code":        codeCmd,
			"scrub":       scrubCmd,
			"bytes":       bytesCmd,
			"mtime":       mtimeCmd,
			"place":       placeCmd,
			"remember":    rememberCmd,
			"unchanged":   unchangedCmd,
			"chain":       chainCmd,
			"sessions":    sessionsCmd,
			"machine":     machineCmd,
			"terminal":    terminalCmd,
			"capture":     captureCmd,
			"stable":      stableCmd,
			"glob":        globCmd,
			"big":         bigCmd,
			"disk":        diskCmd,
			"asked":       askedCmd,
			"background":  backgroundCmd,
			"fetch":       fetchCmd,
			"certificate": certificateCmd,
			"occupy":      occupyCmd,
			"compress":    compressCmd,
			"tables":      tablesCmd,
		},
	}
}

// compressCmd puts a file into FILE.zst and removes it: compress FILE
func compressCmd(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	content, err := os.ReadFile(path)
	ts.Check(err)
	enc, err := zstd.NewWriter(nil)
	ts.Check(err)
	ts.Check(os.WriteFile(path+".zst", enc.EncodeAll(content, nil), 0o600))
	ts.Check(os.Remove(path))
}

// codeCmd runs a command and expects an exit code: code 2 treeline show
func codeCmd(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := scriptCode(ts, args[1:]); got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

var demoFolder = regexp.MustCompile(`treeline-demo-\d+`)

// scrubCmd replaces the work folder by WORK and the demo's number by N in the last output: scrub stdout
func scrubCmd(ts *testscript.TestScript, _ bool, args []string) {
	text := strings.ReplaceAll(ts.ReadFile(args[0]), ts.Getenv("WORK"), "WORK")
	text = demoFolder.ReplaceAllString(text, "treeline-demo-N")
	_, err := ts.Stdout().Write([]byte(text))
	ts.Check(err)
}

// bytesCmd writes or appends arbitrary bytes: bytes [-a] FILE 'as in Go\x00'
func bytesCmd(ts *testscript.TestScript, _ bool, args []string) {
	flags := os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	if args[0] == "-a" {
		flags, args = os.O_CREATE|os.O_WRONLY|os.O_APPEND, args[1:]
	}
	path := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o700))
	f, err := os.OpenFile(path, flags, 0o600)
	ts.Check(err)
	defer f.Close()
	for _, part := range args[1:] {
		s, err := strconv.Unquote(`"` + strings.ReplaceAll(part, `"`, `\"`) + `"`)
		ts.Check(err)
		_, err = f.WriteString(s)
		ts.Check(err)
	}
}

// placeCmd replaces $WORK in files by the work folder: place FILE…
func placeCmd(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		text := strings.ReplaceAll(ts.ReadFile(name), "$WORK", filepath.ToSlash(ts.Getenv("WORK")))
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o600))
	}
}

// mtimeCmd sets the modification time: mtime 2026-03-02T14:00:00Z FILE…
func mtimeCmd(ts *testscript.TestScript, _ bool, args []string) {
	at, err := time.Parse(time.RFC3339, args[0])
	ts.Check(err)
	for _, name := range args[1:] {
		ts.Check(os.Chtimes(ts.MkAbs(name), at, at))
	}
}

type rememberedKey struct{}

// rememberCmd stores what is below a folder; unchangedCmd expects the same bytes, modes and times.
func rememberCmd(ts *testscript.TestScript, _ bool, args []string) {
	ts.Value(rememberedKey{}).(map[string]map[string]string)[args[0]] = listOf(ts, args[0])
}

func unchangedCmd(ts *testscript.TestScript, _ bool, args []string) {
	before := ts.Value(rememberedKey{}).(map[string]map[string]string)[args[0]]
	after := listOf(ts, args[0])
	for name, state := range after {
		if before[name] != state {
			ts.Fatalf("%s: was %q, is %q", name, before[name], state)
		}
	}
	if len(before) != len(after) {
		ts.Fatalf("%d files before, %d after", len(before), len(after))
	}
}

func listOf(ts *testscript.TestScript, dir string) map[string]string {
	files := map[string]string{}
	ts.Check(filepath.WalkDir(ts.MkAbs(dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		state := fmt.Sprint(info.Mode(), " ", info.ModTime().UnixNano())
		if info.Mode().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			state += fmt.Sprintf(" %x", sha256.Sum256(b))
		}
		files[path] = state
		return nil
	}))
	return files
}

// sessionsCmd makes many short sessions, one a day up to 2020-06-01, the newest with the highest number: sessions FOLDER CWD 40
func sessionsCmd(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[2])
	ts.Check(err)
	ts.Check(os.MkdirAll(ts.MkAbs(args[0]), 0o700))
	for i := range n {
		at := time.Date(2020, 6, 1, 12, 0, 0, 0, time.UTC).AddDate(0, 0, i-n)
		when := at.Format("2006-01-02T15:04:05.000Z")
		id := fmt.Sprintf("%08x-0000-7000-8000-000000000000", 0x5e550000+i)
		path := ts.MkAbs(filepath.Join(args[0], fmt.Sprintf("%d_%s.jsonl", i, id)))
		text := fmt.Sprintf(`{"type":"session","version":3,"id":%q,"timestamp":%q,"cwd":%q}`+"\n"+
			`{"type":"message","id":"a","parentId":null,"timestamp":%q,"message":{"role":"user","content":"frog %d"}}`+"\n", id, when, args[1], when, i)
		ts.Check(os.WriteFile(path, []byte(text), 0o600))
		ts.Check(os.Chtimes(path, at, at))
	}
}

// machineCmd fills a home folder with sessions of all agents: machine HOME 1
func machineCmd(ts *testscript.TestScript, _ bool, args []string) {
	seed, err := strconv.ParseUint(args[1], 10, 64)
	ts.Check(err)
	_, err = gen.Machine(ts.MkAbs(args[0]), seed)
	ts.Check(err)
}

// chainCmd makes a session of many entries, each the parent of the next: chain FILE 100000
func chainCmd(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	defer f.Close()
	w := bufio.NewWriter(f)
	fmt.Fprintln(w, `{"type":"session","version":3,"id":"chain","timestamp":"2026-03-02T14:00:00.000Z","cwd":"/work"}`)
	parent := "null"
	for i := range n {
		fmt.Fprintf(w, `{"type":"message","id":"%08x","parentId":%s,"timestamp":"2026-03-02T14:00:00.000Z","message":{"role":"user","content":"message %d"}}`+"\n", i, parent, i)
		parent = fmt.Sprintf(`"%08x"`, i)
	}
	ts.Check(w.Flush())
}
