package rpc_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/durable/killtest"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/rpc"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// A program that embeds the store, and one that uses it over RPC, perform the same steps until they are killed. Each prints claims, one per
// line, about what must be found afterwards:
//
//	entry FILE ID      the entry is in the file
//	branch FILE ID     a move of the leaf to the entry is in the file
//	naming FILE NAME   the name may be this from now on
//	named FILE NAME    the name is this, or a later one

// child is "library HOME SEED", which prints its claims, or "rpc HOME", which serves.
func child(args string) error {
	var mode, home string
	var seed uint64
	if _, err := fmt.Sscan(args, &mode, &home, &seed); err != nil && mode != "rpc" {
		return err
	}
	st, err := homeStore(home)
	if err != nil {
		return err
	}
	if mode == "rpc" {
		return rpc.Serve(context.Background(), st, rpc.Options{}, os.Stdin, os.Stdout)
	}
	return live(&embedder{store: st, cwd: home}, rand.New(rand.NewPCG(seed, 0)), func(claim string) { fmt.Println(claim) })
}

func homeStore(home string) (*treeline.Store, error) {
	return treeline.New(treeline.Options{Home: home, WorkDir: home, Getenv: func(string) string { return "" }})
}

// program is what the steps need of a store with default options.
type program interface {
	create(dialect string) (file string, err error)
	// append appends a message or, with the role "", an entry that does not cause the file to be created.
	append(role, text string) (id string, durable bool, err error)
	flush() error
	branch(id string) error // durably
	fork() (file string, err error)
	rename(name string) error
}

// life is one session of the test.
type life struct {
	program
	rnd     *rand.Rand
	claim   func(string)
	file    string
	ids     []string // in the order of the log
	claimed int      // number of ids that were claimed
	written bool     // the file exists
	name    string   // not yet claimed
}

// live creates one session after the other until the program fails, because it was killed.
func live(p program, rnd *rand.Rand, claim func(string)) error {
	for {
		file, err := p.create([]string{"omp", "omp", "pi", "operator", "omp-doc", "operator-doc"}[rnd.IntN(6)])
		if err != nil {
			return err
		}
		l := &life{program: p, rnd: rnd, claim: claim, file: file}
		for range 1 + rnd.IntN(25) {
			if err := l.step(); err != nil {
				return err
			}
		}
	}
}

// step does one thing and claims what follows from its answer.
func (l *life) step() error {
	switch n := l.rnd.IntN(16); {
	case n == 0:
		if err := l.flush(); err != nil {
			return err
		}
		l.written = l.written || len(l.ids) > 0
	case n == 1 && len(l.ids) > 0:
		id := l.ids[l.rnd.IntN(len(l.ids))]
		if err := l.branch(id); err != nil {
			return err
		}
		l.claim("branch " + l.file + " " + id)
		l.written = true
	case n == 2:
		file, err := l.fork()
		if err != nil {
			return err
		}
		l.file, l.claimed, l.written, l.name = file, 0, true, ""
	case n == 3:
		name := fmt.Sprint("name-", l.rnd.IntN(1e6))
		l.claim("naming " + l.file + " " + name)
		if err := l.rename(name); err != nil {
			return err
		}
		l.name = name
	default:
		role := []string{"user", "assistant", "user", "assistant", ""}[l.rnd.IntN(5)]
		id, durable, err := l.append(role, strings.Repeat("x", l.rnd.IntN(3000)))
		if err != nil {
			return err
		}
		if l.written && !durable {
			return errors.New("an entry of a session that has a file is not durable")
		}
		l.ids = append(l.ids, id)
		l.written = durable
	}
	if !l.written {
		return nil
	}
	for ; l.claimed < len(l.ids); l.claimed++ {
		l.claim("entry " + l.file + " " + l.ids[l.claimed])
	}
	if l.name != "" {
		l.claim("named " + l.file + " " + l.name)
		l.name = ""
	}
	return nil
}

// anyMessage returns a message that all formats of the test can read.
func anyMessage(role, text string) json.RawMessage {
	return fmt.Appendf(nil, `{"role":%q,"content":[{"type":"text","text":%q}],"contents":[{"type":"text","content":%q}],"id":"m","timestamp":1755000000.5}`, role, text, text)
}

// embedder is the library.
type embedder struct {
	store *treeline.Store
	cwd   string
	s     *treeline.Session
}

func (e *embedder) create(name string) (string, error) {
	d, err := e.store.Dialect(name)
	if err != nil {
		return "", err
	}
	e.s, err = e.store.Create(context.Background(), treeline.CreateOptions{CWD: e.cwd, Dialect: d})
	if err != nil {
		return "", err
	}
	return e.s.Path(), nil
}

func (e *embedder) append(role, text string) (string, bool, error) {
	var a treeline.Appended
	var err error
	if role == "" {
		a, err = e.s.AppendModelChange(context.Background(), "", "p", "m")
	} else {
		a, err = e.s.AppendMessage(context.Background(), anyMessage(role, text))
	}
	return string(a.ID), a.Durable, err
}

func (e *embedder) flush() error { return e.s.Flush(context.Background()) }

func (e *embedder) branch(id string) error {
	_, err := e.s.Branch(context.Background(), session.EntryID(id), treeline.BranchOptions{Durable: true})
	return err
}

func (e *embedder) fork() (string, error) {
	err := e.s.Fork(context.Background())
	return e.s.Path(), err
}

func (e *embedder) rename(name string) error { return e.s.Rename(context.Background(), name) }

// remote is a server in another process.
type remote struct {
	in      io.Writer
	out     *bufio.Reader
	cwd     string
	last    int
	session string
}

// call fails when the server was killed. An error in an answer is reported as such.
func (r *remote) call(method string, params members, result any) error {
	r.last++
	params["session"] = r.session
	text, err := json.Marshal(members{"jsonrpc": "2.0", "id": r.last, "method": method, "params": params})
	if err != nil {
		return err
	}
	if _, err := r.in.Write(append(text, '\n')); err != nil {
		return errKilled
	}
	line, err := r.out.ReadBytes('\n')
	if err != nil { // half a line does not count
		return errKilled
	}
	var a reply
	if err := json.Unmarshal(line, &a); err != nil {
		return err
	}
	if a.Error != nil {
		return fmt.Errorf("%s: %s", method, a.Error.Message)
	}
	return json.Unmarshal(a.Result, result)
}

var errKilled = errors.New("killed")

type opened struct{ Session, File string }

func (r *remote) create(name string) (string, error) {
	var a opened
	err := r.call("create", members{"cwd": r.cwd, "dialect": name}, &a)
	r.session = a.Session
	return a.File, err
}

func (r *remote) append(role, text string) (string, bool, error) {
	var a struct {
		ID      string
		Durable bool
	}
	method, params := "appendMessage", members{"message": anyMessage(role, text)}
	if role == "" {
		method, params = "appendModelChange", members{"model": "p/m"}
	}
	err := r.call(method, params, &a)
	return a.ID, a.Durable, err
}

func (r *remote) flush() error { return r.call("flush", members{}, new(any)) }

func (r *remote) branch(id string) error {
	return r.call("branch", members{"id": id, "durable": true}, new(any))
}

func (r *remote) fork() (string, error) {
	var a opened
	err := r.call("fork", members{}, &a)
	return a.File, err
}

func (r *remote) rename(name string) error {
	return r.call("setSessionName", members{"name": name}, new(any))
}

// Programs with default options are killed at any moment. Afterwards, every entry that was acknowledged as durable, everything that was
// flushed, every durable branch, every fork and every name of a session with a file must be found.
func TestKillEverything(t *testing.T) {
	for mode, run := range map[string]func(t *testing.T, home string, rnd *rand.Rand) []string{"library": killLibrary, "rpc": killServer} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			c := soaktest.Begin(t)
			rnd := rand.New(rand.NewPCG(c.Seed(uint64(len(mode))), 12))
			for range c.Rounds(6, 3) {
				home := t.TempDir()
				list := run(t, home, rnd)
				checkClaims(t, c, home, list)
				_ = os.RemoveAll(home)
			}
		})
	}
}

// moment chooses when a program is killed: some time after some number of claims.
func moment(rnd *rand.Rand) (after int, patience time.Duration) {
	return 1 + rnd.IntN(30), time.Duration(rnd.IntN(8_000)) * time.Microsecond
}

func killLibrary(t *testing.T, home string, rnd *rand.Rand) []string {
	after, patience := moment(rnd)
	claims, err := killtest.Run(killtest.Command("library", home, rnd.Uint64()>>1), after, patience)
	if err != nil {
		t.Fatal(err)
	}
	return claims
}

func killServer(t *testing.T, home string, rnd *rand.Rand) (claims []string) {
	cmd := killtest.Command("rpc", home)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	after, patience := moment(rnd)
	err = live(&remote{in: in, out: bufio.NewReader(out), cwd: home}, rnd, func(claim string) {
		if claims = append(claims, claim); len(claims) == after {
			time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
		}
	})
	if !errors.Is(err, errKilled) {
		t.Error(err)
		_ = cmd.Process.Kill()
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) {
		t.Error(err)
	}
	return claims
}

// expected is what must be found in one file.
type expected struct {
	entries, branches []string
	names             []string // if a name was claimed, it is one of these
	named             bool
}

// checkClaims opens every file for which there are claims.
func checkClaims(t *testing.T, c *soaktest.Counts, home string, claims []string) {
	t.Helper()
	files := map[string]*expected{}
	for _, line := range claims {
		words := strings.Fields(line)
		want := files[words[1]]
		if want == nil {
			want = &expected{}
			files[words[1]] = want
		}
		switch what := words[2]; words[0] {
		case "entry":
			want.entries = append(want.entries, what)
		case "branch":
			want.branches = append(want.branches, what)
		case "naming":
			want.names = append(want.names, what)
		case "named":
			want.names, want.named = []string{what}, true
		default:
			t.Fatalf("claim %q", line)
		}
	}
	st, err := homeStore(home)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	for file, want := range files {
		if len(want.entries)+len(want.branches) == 0 {
			continue // only a name that may exist
		}
		c.Acknowledged(len(want.entries) + len(want.branches))
		s, err := st.Open(t.Context(), file, store.OpenOptions{})
		c.Unreadable(file, err)
		if err := want.check(s); err != nil {
			c.Lost("%s: %v", file, err)
		}
		_ = s.Close() // it was only read
	}
}

func (x *expected) check(s *treeline.Session) error {
	for _, id := range x.entries {
		if !s.Tree().Has(session.EntryID(id)) {
			return fmt.Errorf("entry %s was acknowledged and is lost", id)
		}
	}
	moves, err := leafMoves(s)
	if err != nil {
		return err
	}
	for _, id := range x.branches {
		if moves[id]--; moves[id] < 0 {
			return fmt.Errorf("a branch at %s was acknowledged and is lost", id)
		}
	}
	return x.checkName(s)
}

// checkName compares the name. The last claimed name may have been replaced by one that was announced. If names are entries, the last one
// in the log counts, because the current branch may not contain it.
func (x *expected) checkName(s *treeline.Session) error {
	name, err := s.Name()
	for e := range s.Tree().Entries() {
		if body, bodyErr := e.Body(); bodyErr == nil {
			if info, ok := body.(session.SessionInfo); ok {
				name = info.Name
			}
		}
	}
	if err != nil || !x.named || slices.Contains(x.names, name) {
		return err
	}
	return fmt.Errorf("the name is %q, want one of %q", name, x.names)
}

// leafMoves counts the entries that move the leaf, by their target.
func leafMoves(s *treeline.Session) (map[string]int, error) {
	kind := s.Dialect().(dialect.Writer).Habits().LeafType
	moves := map[string]int{}
	for e := range s.Tree().Entries() {
		body, err := e.Body()
		if err != nil {
			return nil, err
		}
		switch b := body.(type) {
		case session.Leaf:
			moves[string(b.Target)]++
		case session.Custom:
			if b.Type == kind {
				moves[string(e.Parent)]++
			}
		}
	}
	return moves, nil
}
