package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/store"
)

// demoCommand is for the first minute. It runs the real code on real files, kill -9 included, and not a film of
// it: where something does not work, the demo fails.
func (a *app) demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "See in a minute what treeline does",
		Long: "Make a session in a temporary folder, talk, let a second program write to it, compact it and kill who writes, and show\n" +
			"what treeline makes of it. The folder is removed at the end; no sessions of yours are read.",
		Example: "  treeline demo",
		Args:    args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			width, _ := terminalWidth(a.stdout)
			return a.print(cmd.Context(), a.stdout, width, a.demo) // without a pager: it is to end by itself
		},
	}
}

// What is said in the demo, as an agent would append it.
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

// demoIDs are the ids of the entries: of those of the first program, and of the second.
// They are fixed because the texts name some of them (the label, the compaction), and so that each demo shows the
// same.
var demoIDs = [2]string{"7be0c1a42f81d9e0c40b6a1291d3e7f55a60be28e83a1c970d94f7b3", "b7125ec838c9d0ea66f0a2d1fa52187c"}

// demoPlay is the stage: a store in a folder of its own.
type demoPlay struct {
	out   *output
	store *store.Store
	dir   string
	path  string
	first *store.Session // what the first program has open
	self  string         // the file of this program
	step  int
}

const demoName = "demo.jsonl"

// demo plays the demo. It ends by itself.
// Home and environment are the demo's own, so it can neither see nor change what the user has.
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
	fmt.Fprintf(out, "%s keeps what you and a coding agent said and did as a tree of entries.\n", st.bold("treeline"))
	fmt.Fprintln(out, st.dim("The session of this demo is "+d.path+", which is removed at the end."))
	for _, scene := range []func(context.Context) error{d.begin, d.talk, d.second, d.compact, d.kill, d.torn, d.convert, d.find} {
		if err := scene(ctx); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "\n%s\n", st.bold("Now yours:"))
	for _, next := range [][2]string{
		{"treeline ls --all", "the sessions on this machine"},
		{"treeline show @last", "read the newest one of this directory"},
		{"treeline search WORDS", "find what was said, in any of them"},
		{"treeline new --cwd .", "begin one: append, branch and label go on from there"},
		{"treeline check --all", "is anything damaged? repair mends it"},
	} {
		fmt.Fprintf(out, "  %s  %s\n", st.cyan(screen.Pad("$ "+next[0], 29, false)), st.dim(next[1]))
	}
	return nil
}

// say opens a scene: what happens, and the command that shows the same for a file.
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

// note says something beside the scene.
func (d *demoPlay) note(text string) {
	for _, line := range screen.Wrap(text, max(d.out.width-3, 0)) {
		fmt.Fprintln(d.out, "   "+d.out.style.dim(line))
	}
}

// options are those of one of the two programs. Its times and ids are the same in every demo.
// The random source gives the ids in their order, which is why each program has its own.
func (d *demoPlay) options(program int) store.WriteOptions {
	ids, _ := hex.DecodeString(demoIDs[program])
	now := time.Date(2026, 3, 2, 14, 2+program*5, 11, 0, time.UTC)
	return store.WriteOptions{
		Random: bytes.NewReader(ids), Defer: dialect.DeferNever, Durability: store.DurabilityAlways,
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
	d.say("For people it is a conversation.", "treeline show "+demoName)
	return d.open(ctx, func(s *store.Session) error {
		path, err := s.Tree().Path(s.Tree().LeafID())
		if err != nil {
			return err
		}
		t := &transcript{out: d.out.indented(), label: s.Tree().Label, blobSize: func(string) int64 { return -1 }}
		for _, e := range path.Entries() {
			v, err := look(s.Dialect().Codec(), e)
			if err != nil {
				return err
			}
			t.entry(v)
		}
		return t.out.Flush()
	})
}

// second lets two programs go on from the same entry, neither of which knows of the other.
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
	d.say("A second program goes on from the same entry, and does not know of the first. It is told, and becomes a branch: nobody's words are lost.",
		"treeline tree "+demoName)
	d.note(fmt.Sprintf("the second program was told: others wrote %s meanwhile; what it wrote is a %s of its own",
		counted(done.Foreign, "entry", "entries"), done.Outcome))
	fmt.Fprintln(d.out)
	return d.open(ctx, func(s *store.Session) error {
		out := d.out.indented()
		if err := drawTree(ctx, out, s, atLeaf(s.Tree())); err != nil {
			return err
		}
		return out.Flush()
	})
}

func (d *demoPlay) compact(ctx context.Context) error {
	other, err := d.store.OpenWrite(ctx, d.path, store.CreateOptions{Write: d.rest()})
	if err != nil {
		return err
	}
	_, err = d.add(ctx, other, demoCompaction)
	if err = errors.Join(err, other.Close()); err != nil {
		return err
	}
	d.say("When the context is full, a summary takes the place of what was said. This is what the model sees now:", "treeline context "+demoName)
	return d.open(ctx, func(s *store.Session) error {
		c, err := s.Context(ctx, s.Tree().LeafID(), store.ContextOptions{})
		if err != nil {
			return err
		}
		out := d.out.indented()
		if err := printContext(ctx, out, s, c, newBlobSizes(ctx, s)); err != nil {
			return err
		}
		if err := out.Flush(); err != nil {
			return err
		}
		d.note("Nothing is lost: --leaf 0d94f7b3 gives the context of the branch that was left.")
		return nil
	})
}

// rest are the options of a program that takes up the ids that the second one left.
func (d *demoPlay) rest() store.WriteOptions {
	opt := d.options(1)
	// The compaction comes from a third opening of the file: the bytes that the second program took for its three
	// entries, four each, are skipped.
	_, _ = io.CopyN(io.Discard, opt.Random, 12)
	return opt
}

// kill ends a program in the hardest way, right after its append was acknowledged.
func (d *demoPlay) kill(ctx context.Context) error {
	d.say("What was acknowledged is on disk. A program appends, gets its answer and is killed in that moment (kill -9):",
		"treeline append "+demoName+" --stdin --sync always")
	if err := d.killed(ctx); err != nil {
		return err
	}
	return d.open(ctx, func(s *store.Session) error {
		leaf, _ := s.Tree().Leaf()
		v, err := look(s.Dialect().Codec(), leaf)
		if err != nil {
			return err
		}
		fmt.Fprintf(d.out, "   killed; the last entry of the file is: %s\n", v.line(60))
		return nil
	})
}

func (d *demoPlay) killed(ctx context.Context) error {
	if d.self == "" {
		d.note("(no second program can be started here)")
		return nil
	}
	child := exec.CommandContext(ctx, d.self, "append", d.path, "--stdin", "--sync", "always")
	// The child must not see the user's own config, cache or sessions either.
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
	// The acknowledgement is read before the kill: what is promised is promised from that line on.
	_, err = bufio.NewReader(out).ReadString('\n')
	if killErr := child.Process.Kill(); err == nil {
		err = killErr
	}
	_ = child.Wait() // it was killed: that is no news
	return err
}

// torn leaves half a record in the file, as the end of a machine does.
func (d *demoPlay) torn(ctx context.Context) error {
	f, err := os.OpenFile(d.path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(demoTorn)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	// Half a record counts as torn when it stood still for a while: its writer might just be slow.
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(d.path, long, long); err != nil {
		return err
	}
	d.say("The power fails in the middle of a line. All before it is still there, and you are told where it broke:", "treeline check "+demoName)
	err = d.open(ctx, func(s *store.Session) error {
		out := d.out.indented()
		for _, p := range s.Tree().Problems() {
			p.File = demoName
			if err := printProblem(out, nil, p, false); err != nil {
				return err
			}
		}
		return out.Flush()
	})
	if err != nil {
		return err
	}
	opt := store.WriteOptions{Observer: func(e store.Event) {
		if e.Kind == store.EventRepaired {
			d.note("The next append goes on behind what is whole. Nothing is thrown away: the half record is in " + demoName + ".torn-<time>.")
		}
	}}
	s, err := d.store.OpenWrite(ctx, d.path, store.CreateOptions{Write: opt})
	if err != nil {
		return err
	}
	_, err = s.AppendMessage(ctx, []byte(demoLast))
	return errors.Join(err, s.Close())
}

// add appends entries, as an agent does, and gives what became of the first.
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

func (d *demoPlay) open(ctx context.Context, use func(*store.Session) error) error {
	s, err := d.store.Open(ctx, d.path, store.OpenOptions{})
	if err != nil {
		return err
	}
	defer s.Close()
	return use(s)
}
