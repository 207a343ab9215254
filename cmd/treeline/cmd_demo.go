package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/memory"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/all"
	"github.com/treeline-dev/treeline/store"
)

func (a *app) demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "See in a minute what treeline does",
		Long: "Make a session in memory, talk, branch, compact and break it, and show what treeline makes of it. Nothing is\n" +
			"written to disk and no sessions of yours are read.",
		Example: "  treeline demo",
		Args:    args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			width, _ := terminalWidth(a.stdout)
			return a.print(cmd.Context(), a.stdout, width, a.demo) // without a pager: it is to end by itself
		},
	}
}

// The records of the demo, as an agent would append them.
const (
	demoHeader = `{"type":"session","version":3,"id":"01a1dcc8-5e1f-7b60-9c5e-2d6f0a4b7c31","timestamp":"2026-03-02T14:02:11.000Z","cwd":"/home/you/shop","title":"Prices are off by a cent"}`

	demoTalk = `{"type":"model_change","id":"7be0c1a4","parentId":null,"timestamp":"2026-03-02T14:02:11.000Z","model":"anthropic/claude-sonnet-4"}
{"type":"message","id":"2f81d9e0","parentId":"7be0c1a4","timestamp":"2026-03-02T14:02:40.000Z","message":{"role":"user","content":"Some prices are off by one cent. Find out why."}}
{"type":"message","id":"c40b6a12","parentId":"2f81d9e0","timestamp":"2026-03-02T14:02:49.000Z","message":{"role":"assistant","provider":"anthropic","model":"claude-sonnet-4","content":[{"type":"thinking","thinking":"Money as float64, most likely."},{"type":"text","text":"I look at how prices are computed."},{"type":"toolCall","id":"t1","name":"grep","arguments":{"pattern":"float64","path":"pricing/"}}],"stopReason":"toolUse"}}
{"type":"message","id":"91d3e7f5","parentId":"c40b6a12","timestamp":"2026-03-02T14:02:50.000Z","message":{"role":"toolResult","toolCallId":"t1","toolName":"grep","content":[{"type":"text","text":"pricing/sum.go:14:  var total float64\npricing/sum.go:21:  return total * 1.19\npricing/tax.go:9:   func Tax(net float64) float64\npricing/tax.go:30:  rate float64\npricing/cart.go:52: price float64"}],"isError":false}}
{"type":"message","id":"5a60be28","parentId":"91d3e7f5","timestamp":"2026-03-02T14:03:05.000Z","message":{"role":"assistant","provider":"anthropic","model":"claude-sonnet-4","content":[{"type":"text","text":"Prices are float64, so 0.1 + 0.2 is not 0.3. Shall I round at the end, or count in cents?"}],"stopReason":"stop"}}`

	demoBranches = `{"type":"message","id":"e83a1c97","parentId":"5a60be28","timestamp":"2026-03-02T14:05:00.000Z","message":{"role":"user","content":"Round at the end."}}
{"type":"message","id":"0d94f7b3","parentId":"e83a1c97","timestamp":"2026-03-02T14:05:21.000Z","message":{"role":"assistant","provider":"anthropic","model":"claude-sonnet-4","content":[{"type":"text","text":"Done, but two tests still fail: rounding twice loses a cent."}],"stopReason":"stop"}}
{"type":"label","id":"66f0a2d1","parentId":"0d94f7b3","timestamp":"2026-03-02T14:05:40.000Z","targetId":"5a60be28","label":"decision"}
{"type":"message","id":"b7125ec8","parentId":"5a60be28","timestamp":"2026-03-02T14:06:02.000Z","message":{"role":"user","content":"Count in cents."}}
{"type":"message","id":"38c9d0ea","parentId":"b7125ec8","timestamp":"2026-03-02T14:07:30.000Z","message":{"role":"assistant","provider":"anthropic","model":"claude-sonnet-4","content":[{"type":"text","text":"All amounts are int64 cents now. 214 tests pass."}],"stopReason":"stop"}}`

	demoCompaction = `{"type":"compaction","id":"fa52187c","parentId":"38c9d0ea","timestamp":"2026-03-02T14:20:00.000Z","summary":"Prices were float64; the user decided for int64 cents. pricing/ is converted and all tests pass.","firstKeptEntryId":"38c9d0ea","tokensBefore":48211}
{"type":"message","id":"14de83b9","parentId":"fa52187c","timestamp":"2026-03-02T14:21:12.000Z","message":{"role":"user","content":"Now the invoices."}}`

	demoTorn = `{"type":"message","id":"aa07c5d2","parentId":"14de83b9","timestamp":"2026-03-02T14:21:30.000Z","message":{"role":"assistant","content":[{"type":"text","text":"I conv`
)

// demoPlay is the stage: a store that has nothing but memory.
type demoPlay struct {
	out   *output
	store *store.Store
	logs  *memory.Backend
	log   backend.Log
	step  int
}

const demoName = "demo.jsonl"

// demo plays the demo. It ends by itself.
func (a *app) demo(ctx context.Context, out *output) error {
	noFolder := func(string) (backend.Backend, error) { return nil, errors.New("the demo opens no folders") }
	d := &demoPlay{out: out, logs: memory.New(), store: store.New(store.Options{
		Dialects: all.Dialects(), OpenDir: noFolder,
		Env: dialect.Env{
			Home: "/home/you", TempDir: "/tmp", WorkDir: "/home/you/shop",
			Getenv: func(string) string { return "" }, Realpath: func(p string) (string, error) { return p, nil },
		},
	})}
	st := out.style
	fmt.Fprintf(out, "%s keeps what you and a coding agent said and did as a tree of entries.\n", st.bold("treeline"))
	fmt.Fprintln(out, st.dim("This demo lives in memory: no file is written, none of yours is read."))
	for _, scene := range []func(context.Context) error{d.begin, d.talk, d.branch, d.compact, d.crash} {
		if err := scene(ctx); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "\n%s\n", st.bold("Now yours:"))
	for _, next := range [][2]string{
		{"treeline ls --all", "the sessions on this machine"},
		{"treeline show @last", "read the newest one of this directory"},
		{"treeline check ~/.omp ~/.pi", "is anything damaged?"},
	} {
		fmt.Fprintf(out, "  %s  %s\n", st.cyan(pad("$ "+next[0], 29, false)), st.dim(next[1]))
	}
	return nil
}

// say opens a scene: what happens, and the command that shows the same for a file.
func (d *demoPlay) say(what, command string) {
	d.step++
	st := d.out.style
	fmt.Fprintln(d.out)
	for i, line := range wrap(what, max(d.out.width-3, 0)) {
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

func (d *demoPlay) begin(ctx context.Context) (err error) {
	if d.log, err = d.logs.Create(ctx, demoName, []byte(demoHeader)); err != nil {
		return err
	}
	if err := d.add(ctx, demoTalk); err != nil {
		return err
	}
	columns := 90
	if d.out.width > 0 {
		columns = min(columns, max(d.out.width-3, 20))
	}
	d.say("A session is a log: a header, then one line per entry, appended and never changed.", fmt.Sprintf("cut -c-%d %s", columns, demoName))
	for _, line := range append([]string{demoHeader}, strings.Split(demoTalk, "\n")...) {
		fmt.Fprintln(d.out, d.out.style.dim("   "+cut(line, columns)))
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
		t := &transcript{out: d.indented(), label: s.Tree().Label, blobSize: func(string) int64 { return -1 }}
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

func (d *demoPlay) branch(ctx context.Context) error {
	if err := d.add(ctx, demoBranches); err != nil {
		return err
	}
	d.say("Every entry names its parent. Go back, answer differently: a second branch, and the first one stays (○).", "treeline tree "+demoName)
	return d.open(ctx, func(s *store.Session) error {
		out := d.indented()
		if err := drawTree(ctx, out, s); err != nil {
			return err
		}
		return out.Flush()
	})
}

func (d *demoPlay) compact(ctx context.Context) error {
	if err := d.add(ctx, demoCompaction); err != nil {
		return err
	}
	d.say("When the context is full, a summary takes the place of what was said. This is what the model sees now:", "treeline context "+demoName)
	return d.open(ctx, func(s *store.Session) error {
		c, err := s.Context(ctx, s.Tree().LeafID(), store.ContextOptions{})
		if err != nil {
			return err
		}
		out := d.indented()
		if err := printContext(ctx, out, s, c, newBlobSizes(ctx, s)); err != nil {
			return err
		}
		if err := out.Flush(); err != nil {
			return err
		}
		fmt.Fprintf(d.out, "   %s\n", d.out.style.dim("Nothing is lost: --leaf 0d94f7b3 gives the context of the branch that was left."))
		return nil
	})
}

func (d *demoPlay) crash(ctx context.Context) error {
	var whole []byte
	for r, err := range d.logs.Read(ctx, d.log, 0) {
		if err != nil {
			return err
		}
		whole = append(append(whole, r.Data...), '\n')
	}
	d.logs.Put(demoName, append(bytes.Clone(whole), demoTorn...))
	d.say("The power fails in the middle of a line. All before it is still there, and you are told where it broke:", "treeline check "+demoName)
	return d.open(ctx, func(s *store.Session) error {
		out := d.indented()
		for _, p := range s.Tree().Problems() {
			if err := printProblem(out, nil, p, false); err != nil {
				return err
			}
		}
		return out.Flush()
	})
}

// add appends records, as an agent does.
func (d *demoPlay) add(ctx context.Context, lines string) (err error) {
	for _, line := range strings.Split(lines, "\n") {
		if d.log, err = d.logs.Append(ctx, d.log, []byte(line)); err != nil {
			return err
		}
	}
	return nil
}

func (d *demoPlay) open(ctx context.Context, use func(*store.Session) error) error {
	s, err := d.store.OpenLog(ctx, d.logs, demoName, demoName, store.OpenOptions{})
	if err != nil {
		return err
	}
	defer s.Close()
	return use(s)
}

// indented gives an output that writes three columns further in.
func (d *demoPlay) indented() *output {
	width := d.out.width
	if width > 0 {
		width = max(width-3, 20)
	}
	return &output{Writer: bufio.NewWriter(&indenter{w: d.out, lineStart: true}), style: d.out.style, width: width}
}

// indenter puts spaces before each line that is not blank.
type indenter struct {
	w         io.Writer
	lineStart bool
}

func (i *indenter) Write(p []byte) (int, error) {
	var b bytes.Buffer
	for _, c := range p {
		if i.lineStart && c != '\n' {
			b.WriteString("   ")
		}
		i.lineStart = c == '\n'
		b.WriteByte(c)
	}
	if _, err := i.w.Write(b.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}
