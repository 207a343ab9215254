package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
)

// A worker is a process that runs the commands of scripts one after the other, because starting a process takes several times as long as
// most commands. For each command it changes its folder and environment. "exec treeline" always starts a process.
type worker struct {
	cmd *exec.Cmd
	in  io.Closer
	to  *json.Encoder
	of  *json.Decoder
}

// seldom makes garbage collections of a worker rare: the flags of each command stay in memory, and each collection reads all of them.
const seldom = "GOGC=1000"

// crew has the idle workers.
type crew struct {
	mu   sync.Mutex
	idle []*worker
}

var workers crew

// order is a command line, and answer its outcome.
type order struct {
	Dir       string
	Env, Args []string
}

type answer struct {
	Stdout, Stderr []byte
	Code           int
}

// work is the main function of a worker. It ends with its input.
func work() {
	orders, answers := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var o order
		if err := orders.Decode(&o); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			panic(err)
		}
		result, err := o.carryOut()
		if err != nil {
			panic(err)
		}
		if err := answers.Encode(result); err != nil {
			panic(err)
		}
	}
}

// carryOut runs the command line like main does.
func (o order) carryOut() (answer, error) {
	os.Clearenv()
	for _, v := range append(o.Env, seldom) {
		key, value, _ := strings.Cut(v, "=")
		if err := os.Setenv(key, value); err != nil {
			return answer{}, err
		}
	}
	if err := os.Chdir(o.Dir); err != nil {
		return answer{}, err
	}
	os.Args = append([]string{"treeline"}, o.Args...)
	var stdout, stderr bytes.Buffer
	a := cli.New()
	a.Stdin, a.Stdout, a.Stderr = strings.NewReader(""), &stdout, &stderr
	code := command(context.Background(), a)
	return answer{stdout.Bytes(), stderr.Bytes(), code}, os.Chdir(string(filepath.Separator)) // so that the script can remove its folder
}

// treelineCmd runs a command line: treeline show FILE
func treelineCmd(ts *testscript.TestScript, neg bool, args []string) {
	switch code := scriptCode(ts, append([]string{"treeline"}, args...)); {
	case neg && code == 0:
		ts.Fatalf("unexpected command success")
	case !neg && code != 0:
		ts.Fatalf("exit code %d", code)
	}
}

// scriptCode runs a program with the folder and the environment of a script, and returns its exit code.
func scriptCode(ts *testscript.TestScript, args []string) int {
	if args[0] == "treeline" && !alone(ts, args[1:]) {
		result, err := workers.run(ts, args[1:])
		ts.Check(err)
		_, _ = ts.Stdout().Write(result.Stdout)
		_, _ = ts.Stderr().Write(result.Stderr)
		return result.Code
	}
	var exit *exec.ExitError
	if err := ts.Exec(args[0], args[1:]...); errors.As(err, &exit) {
		return exit.ExitCode()
	} else {
		ts.Check(err)
	}
	return 0
}

// alone reports whether a command needs a process of its own: an agent replaces it, it starts itself, it has standard input, or it has
// another value of something that a process reads only once.
func alone(ts *testscript.TestScript, args []string) bool {
	return slices.Contains(args, "--exec") || slices.Contains(args, "demo") ||
		scriptField(ts, "stdin").String() != "" || ts.Getenv("TZ") != "UTC" || ts.Getenv("SSL_CERT_FILE") != ""
}

// run lets a worker run a command line.
func (c *crew) run(ts *testscript.TestScript, args []string) (a answer, err error) {
	w, err := c.take(ts)
	if err != nil {
		return a, err
	}
	if err = w.to.Encode(order{ts.MkAbs("."), scriptEnviron(ts), args}); err == nil {
		err = w.of.Decode(&a)
	}
	if err != nil {
		return a, errors.Join(fmt.Errorf("the worker ended: %w", err), w.end())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = append(c.idle, w)
	return a, nil
}

// take returns an idle worker, or a new one.
func (c *crew) take(ts *testscript.TestScript) (*worker, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.idle); n > 0 {
		w := c.idle[n-1]
		c.idle = c.idle[:n-1]
		return w, nil
	}
	cmd := scriptProcess(ts, []string{"treeline-worker"})
	cmd.Env, cmd.Stderr = append(cmd.Env, seldom), os.Stderr // a panic
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &worker{cmd, in, json.NewEncoder(in), json.NewDecoder(out)}, cmd.Start()
}

func (w *worker) end() error { return errors.Join(w.in.Close(), w.cmd.Wait()) }

// end ends all workers. No scripts run any more.
func (c *crew) end() (err error) {
	for _, w := range c.idle {
		err = errors.Join(err, w.end())
	}
	return err
}

// scriptProcess makes a process with the folder and environment of a script.
func scriptProcess(ts *testscript.TestScript, args []string) *exec.Cmd {
	path := args[0]
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if _, err := os.Stat(filepath.Join(dir, args[0])); err == nil {
			path = filepath.Join(dir, args[0])
			break
		}
	}
	cmd := exec.Command(path, args[1:]...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), scriptEnviron(ts)
	return cmd
}

// scriptEnviron returns the environment of a script's commands.
func scriptEnviron(ts *testscript.TestScript) []string {
	env := scriptField(ts, "env")
	list := make([]string, env.Len(), env.Len()+1)
	for i := range list {
		list[i] = env.Index(i).String()
	}
	return append(list, "PWD="+ts.MkAbs("."))
}

// scriptField reads a field for which testscript has no accessor.
func scriptField(ts *testscript.TestScript, name string) reflect.Value {
	return reflect.ValueOf(ts).Elem().FieldByName(name)
}
