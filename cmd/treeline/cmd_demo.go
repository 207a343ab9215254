package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/convert"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/index/query"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/wire"
)

// demoCommand runs the real code on real files, kill -9 included. If something does not work, the demo fails.
func (a *app) demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "See what treeline does, in a minute",
		Long: "Create a session in a temporary folder, append to it from two programs, compact it, kill a writer, convert and search\n" +
			"it, and show the result of each step. The folder is removed at the end. Your own sessions are not read.",
		Example: "  treeline demo",
		Args:    args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.print(func(out *output) error { return a.demo(cmd.Context(), out) })
		},
	}
}

// The entries of the demo, as an agent would append them.
const (
	demoTalk = `{"type":"model_change","model":"anthropic/claude-sonnet-4"}
{"type":"message","message":{"role":"user","content":"Some prices are off by one cent. Find out why."}}
{"type":"message","message":{"role":"assistant","provider":"anthropic","model":"claude-sonnet-4","content":[{"type":"thinking","thinking":"Money as float64, most likely."},{"type":"text","text":"I look at how prices are computed."},{"type":"toolCall","id":"t1","name":"grep","arguments":{"pattern":"float64","path":"pricing/"}}],"stopReason":"toolUse"}}
{"type":"message","message":{"role":"toolResult","toolCallId":"t1","toolName":"grep","content":[{"type":"text","text":"pricing/sum.go:14:  var total float64\npricing/sum.go:21:  return total * 1.19\npricing/tax.go:9:   func Tax(net float64) float64\npricing/tax.go:30:  rate float64\npricing/cart.go:52: price float64"}],"isError":false}}
{"type":"message","message":{"role":"assistant","provider":"anthropic","model":"claude-sonnet-4","content":[{"type":"text","text":"Prices are float64, so 0.1 + 0.2 is not 0.3. Shall I round at the end, or count in cents?"}],"stopReason":"stop"}}`

	demoFirst = `{"type":"message","message":{"role":"user","content":"Round at the end."}}
{"type":"message","message":{"role":"assistant","provider":"anthropic","model":"claude-sonnet-4","content":[{"type":"text","text":"Done, but two tests still fail: rounding twice loses a cent."}],"stopReason":"stop"}}`

	demoSecond = `{"type":"message","message":{"role":"user","content":"Count in cents."}}
{"type":"message","message":{"role":"assistant","provider":"anthropic","model":"claude-sonnet-4","content":[{"type":"text","text":"All amounts are int64 cents now. 214 tests pass."}],"stopReason":"stop"}}
{"type":"label","targetId":"5a60be28","label":"decision"}`

	demoCompaction = `{"type":"compaction","summary":"Prices were float64; the user decided for int64 cents. pricing/ is converted and all tests pass.","firstKeptEntryId":"38c9d0ea","tokensBefore":48211}`

	demoLast = `{"role":"user","content":"Now the invoices."}`

	demoTorn = `{"type":"message","id":"aa07c5d2","parentId":"14de83b9","timestamp":"2026-03-02T14:21:30.000Z","message":{"role":"assistant","content":[{"type":"text","text":"I conv`
)

// demoIDs are the entry ids of the first program and of the second. They are fixed because the label and the compaction
// name some of them.
var demoIDs = [2]string{"7be0c1a42f81d9e0c40b6a1291d3e7f55a60be28e83a1c970d94f7b3", "b7125ec838c9d0ea66f0a2d1fa52187c"}

type demoPlay struct {
	out   *output
	store *treeline.Store
	dir   string
	path  string
	first *store.Session // opened by the first program
	self  string         // the file of this program
	step  int
}

const demoName = "demo.jsonl"

// demo plays the demo. Its home and environment are its own, so that it cannot see or change the user's sessions.
func (a *app) demo(ctx context.Context, out *output) (err error) {
	dir, err := os.MkdirTemp("", "treeline-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := treeline.New(treeline.Options{
		Home: dir, WorkDir: dir, Getenv: func(string) string { return "" }, NoBreadcrumbs: true,
	})
	if err != nil {
		return err
	}
	d := &demoPlay{out: out, store: s, self: a.self, dir: dir, path: filepath.Join(dir, demoName)}
	defer func() {
		if d.first != nil {
			err = errors.Join(err, d.first.Close())
		}
	}()
	st := out.style
	fmt.Fprintf(out, "%s keeps a conversation with a coding agent as a tree of entries.\n", st.bold("treeline"))
	fmt.Fprintln(out, st.dim("The session of this demo is "+d.path+". It is removed at the end."))
	for _, scene := range []func(context.Context) error{d.begin, d.talk, d.second, d.compact, d.kill, d.torn, d.convert, d.find} {
		if err := scene(ctx); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "\n%s\n", st.bold("Next steps:"))
	for _, next := range [][2]string{
		{"treeline ls --all", "the sessions on this machine"},
		{"treeline serve --open", "see them in a browser; --demo shows made-up ones"},
		{"treeline show @last", "read the newest session of this directory"},
		{"treeline search WORDS", "search all of them"},
		{"treeline new --cwd .", "start one; then append, branch and label"},
		{"treeline check --all", "find damaged files; repair repairs them"},
	} {
		fmt.Fprintf(out, "  %s  %s\n", st.cyan(screen.Pad("$ "+next[0], 29, false)), st.dim(next[1]))
	}
	return nil
}

// say opens a scene: what happens, and the command that shows it.
func (d *demoPlay) say(what, command string) {
	d.step++
	st := d.out.style
	fmt.Fprintln(d.out)
	for i, line := range screen.Wrap(what, max(d.out.width-3, 0)) {
		number := "  "
		if i == 0 {
			number = st.mark("1;36", fmt.Sprintf("%d.", d.step))
		}
		fmt.Fprintln(d.out, number, st.bold(line))
	}
	if command != "" {
		fmt.Fprintln(d.out, st.cyan("   $ "+command))
	}
	fmt.Fprintln(d.out)
}

func (d *demoPlay) note(text string) {
	for _, line := range screen.Wrap(text, max(d.out.width-3, 0)) {
		fmt.Fprintln(d.out, "   "+d.out.style.dim(line))
	}
}

// options are those of one of the two programs, with its ids and a fixed clock.
func (d *demoPlay) options(program int) store.WriteOptions {
	ids, _ := hex.DecodeString(demoIDs[program])
	now := time.Date(2026, 3, 2, 14, 2+program*5, 11, 0, time.UTC)
	return store.WriteOptions{
		Random: bytes.NewReader(ids), Defer: dialect.DeferNever, Durability: store.DurabilityAlways, Force: true,
		Clock: func() time.Time {
			now = now.Add(14 * time.Second)
			return now
		},
	}
}

func (d *demoPlay) begin(ctx context.Context) (err error) {
	opt := store.CreateOptions{
		CWD: "/home/you/shop", Title: "Prices are off by a cent", ID: "01a1dcc8-5e1f-7b60-9c5e-2d6f0a4b7c31", Write: d.options(0),
	}
	opt.Write.Create = true
	if d.first, err = d.store.OpenWrite(ctx, d.path, opt); err != nil {
		return err
	}
	if _, err := d.add(ctx, d.first, demoTalk); err != nil {
		return err
	}
	columns := 90
	if d.out.width > 0 {
		columns = min(columns, max(d.out.width-3, 20))
	}
	d.say("A session is a log: a header, then one line per entry, appended and never changed.", fmt.Sprintf("cut -c-%d %s", columns, demoName))
	log, err := os.ReadFile(d.path)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(log)) {
		fmt.Fprintln(d.out, d.out.style.dim("   "+screen.Cut(strings.TrimSuffix(line, "\n"), columns)))
	}
	return nil
}

func (d *demoPlay) talk(ctx context.Context) error {
	d.say("It reads as a conversation.", "treeline show "+demoName)
	return d.show(ctx, func(s *store.Session, page wire.Page) error {
		path, err := s.Tree().Path(s.Tree().LeafID())
		if err != nil {
			return err
		}
		t := &wire.Transcript{Page: page, Label: s.Tree().Label}
		return t.Path(wire.NewReader(ctx, s), path)
	})
}

// second lets two programs continue from the same entry without knowing of each other.
func (d *demoPlay) second(ctx context.Context) error {
	other, err := d.store.OpenWrite(ctx, d.path, store.CreateOptions{Write: d.options(1)})
	if err != nil {
		return err
	}
	defer other.Close()
	if _, err := d.add(ctx, d.first, demoFirst); err != nil {
		return err
	}
	done, err := d.add(ctx, other, demoSecond)
	if err != nil {
		return err
	}
	d.say("A second program continues from the same entry. Its entries become a branch, and it is told: nothing is lost.",
		"treeline tree "+demoName)
	d.note(fmt.Sprintf("the second program is told: others wrote %s meanwhile; its entries are a %s of their own",
		wire.Count(done.Foreign, "entry", "entries"), done.Outcome))
	fmt.Fprintln(d.out)
	return d.show(ctx, func(s *store.Session, page wire.Page) error {
		return wire.NewTree(s.Tree(), s.Dialect().Codec(), s.Header().CWD).Draw(ctx, &page, -1)
	})
}

func (d *demoPlay) compact(ctx context.Context) error {
	third := d.options(1)                          // a third program has the ids that the second did not use,
	_, _ = io.CopyN(io.Discard, third.Random, 3*4) // which are all but three
	other, err := d.store.OpenWrite(ctx, d.path, store.CreateOptions{Write: third})
	if err != nil {
		return err
	}
	_, err = d.add(ctx, other, demoCompaction)
	if err = errors.Join(err, other.Close()); err != nil {
		return err
	}
	d.say("When the context is full, a summary replaces the older messages. The model now sees:", "treeline context "+demoName)
	err = d.show(ctx, func(s *store.Session, page wire.Page) error {
		c, err := s.Context(ctx, s.Tree().LeafID(), store.ContextOptions{})
		if err != nil {
			return err
		}
		t := &wire.Transcript{Page: page, Dir: s.Header().CWD}
		return t.Context(ctx, wire.NewReader(ctx, s), c)
	})
	d.note("Nothing is lost: --leaf 0d94f7b3 gives the context of the abandoned branch.")
	return err
}

// kill kills a program right after its append was acknowledged.
func (d *demoPlay) kill(ctx context.Context) error {
	d.say("Once an append returns, it is never lost. A program appends, gets its receipt and is killed at once (kill -9):",
		"treeline append "+demoName+" --stdin --sync always")
	if err := d.killed(ctx); err != nil {
		return err
	}
	return d.show(ctx, func(s *store.Session, page wire.Page) error {
		leaf, _ := s.Tree().Leaf()
		v, err := wire.Look(s.Dialect().Codec(), leaf)
		fmt.Fprintf(page, "killed; the last entry of the file is: %s\n", v.Line(60))
		return err
	})
}

func (d *demoPlay) killed(ctx context.Context) error {
	if d.self == "" {
		d.note("(no second program can be started here)")
		return nil
	}
	child := exec.CommandContext(ctx, d.self, "append", d.path, "--stdin", "--sync", "always")
	child.Env = append(os.Environ(), "HOME="+d.dir, "USERPROFILE="+d.dir, "XDG_STATE_HOME=")
	in, err := child.StdinPipe()
	if err != nil {
		return err
	}
	out, err := child.StdoutPipe()
	if err != nil {
		return err
	}
	if err := child.Start(); err != nil {
		return err
	}
	if _, err := io.WriteString(in, demoLast+"\n"); err != nil {
		return err
	}
	_, err = bufio.NewReader(out).ReadString('\n')
	if killErr := child.Process.Kill(); err == nil {
		err = killErr
	}
	_ = child.Wait() // killed, as intended
	return err
}

// torn leaves a torn record in the file, as a power failure does.
func (d *demoPlay) torn(ctx context.Context) error {
	f, err := os.OpenFile(d.path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(demoTorn)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	// An unterminated line counts as torn only after a while: its writer may be slow.
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(d.path, long, long); err != nil {
		return err
	}
	d.say("The power fails in the middle of a line. Everything before it is intact, and check shows where it broke:", "treeline check "+demoName)
	err = d.show(ctx, func(s *store.Session, page wire.Page) error {
		for _, p := range s.Tree().Problems() {
			p.File = demoName
			page.Problem(p)
		}
		return nil
	})
	if err != nil {
		return err
	}
	opt := store.WriteOptions{Observer: func(e store.Event) {
		if e.Kind == store.EventRepaired {
			d.note("The next append continues after the last whole record. The torn one is kept in " + demoName + ".torn-<time>.")
		}
	}}
	s, err := d.store.OpenWrite(ctx, d.path, store.CreateOptions{Write: opt})
	if err != nil {
		return err
	}
	_, err = s.AppendMessage(ctx, []byte(demoLast))
	return errors.Join(err, s.Close())
}

// add appends entries and returns the receipt of the first.
func (d *demoPlay) add(ctx context.Context, s *store.Session, lines string) (first store.Appended, err error) {
	for i, line := range strings.Split(lines, "\n") {
		done, err := s.AppendRecord(ctx, []byte(line))
		if err != nil {
			return first, err
		}
		if i == 0 {
			first = done
		}
	}
	return first, nil
}

// show opens the session and prints something of it, indented.
func (d *demoPlay) show(ctx context.Context, print func(*store.Session, wire.Page) error) error {
	s, err := d.store.Open(ctx, d.path, store.OpenOptions{})
	if err != nil {
		return err
	}
	defer s.Close()
	page := d.out.indented().page()
	if err := print(s, page); err != nil {
		return err
	}
	return page.Flush()
}

// convert converts the session to the format of another agent. The clock and the random source are fixed.
func (d *demoPlay) convert(ctx context.Context) error {
	to, err := d.store.Dialect("operator")
	if err != nil {
		return err
	}
	now := time.Date(2026, 3, 2, 15, 0, 0, 0, time.UTC)
	s, report, err := d.store.Convert(ctx, d.path, convert.Options{To: to, Write: store.WriteOptions{
		Random: rand.NewChaCha8([32]byte{}), Clock: func() time.Time { return now },
	}})
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		return err
	}
	d.say("To continue with another agent, convert the session to its format. Both branches and the label are kept.",
		"treeline convert "+demoName+" --to operator")
	place, err := filepath.Rel(d.dir, filepath.Dir(report.Target.File))
	if err != nil {
		return err
	}
	fmt.Fprintf(d.out, "   %s → %s, in ~/%s\n", report.Source.Dialect, report.Target.Dialect, filepath.ToSlash(place))
	told := "--report lists what is lost"
	if report.Lossless {
		told = "converting back gives the same session"
	}
	d.note(fmt.Sprintf("%s. What %s cannot express, in %d of them, is carried along: %s.",
		wire.Count(report.Source.Entries, "entry", "entries"), report.Target.Dialect, report.Carried, told))
	return nil
}

func (d *demoPlay) find(ctx context.Context) error {
	d.say("Search every session of every agent, including abandoned branches.", "treeline search 'cent*' --in user,assistant")
	res, err := d.store.Search(ctx, "cent*", find.Options{Limit: 3, Fields: query.FieldUser | query.FieldAssistant})
	if err == nil && len(res.Hits) == 0 {
		err = errors.New("the demo's own session is not found")
	}
	if err != nil {
		return err
	}
	out := d.out.indented()
	printHits(out, res.Hits, d.dir)
	return out.Flush()
}
