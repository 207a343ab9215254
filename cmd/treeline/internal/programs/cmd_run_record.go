package programs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/place"
	runlog "github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/runs"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/wire"
)

type recordFlags struct {
	stdin                       bool
	session, run, dialect, sync string
}

// runRecordCommand writes run logs for agents that have none. It prints one line for each line of input, in order, so
// that an agent can wait for a receipt. A refused record does not end it.
func runRecordCommand(a *cli.App) *cobra.Command {
	var f recordFlags
	cmd := &cobra.Command{
		Use:   "record --stdin",
		Short: "Record a run of any agent",
		Long: "Read records from standard input, one JSON object per line, and append each to the log of a new run, in order. Each is\n" +
			"acknowledged by a line once it is as durable as --sync asks. If the first record is not a header, one is created. A\n" +
			"missing run id, time, or number of a request or response is filled in.\n\n" +
			"An invalid record is refused and the command continues; the exit code is then 1. Nothing is accepted after run.end.",
		Example: "  my-agent --trace | treeline run record --stdin --session @last\n" +
			"  echo '{\"type\":\"run.end\",\"outcome\":\"cancelled\"}' | treeline run record --stdin --run 51214102",
		Args: cli.Args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case !f.stdin:
				// The flag keeps a command that was typed without a pipe from waiting for input.
				return cli.Misused("--stdin is missing: records come from standard input")
			case f.run != "" && (f.session != "" || f.dialect != ""):
				return cli.Misused("--run continues a run; --session and --dialect are for a new one")
			}
			if err := cli.OneOf("sync", f.sync, cli.Levels); err != nil {
				return err
			}
			return record(cmd.Context(), a, f)
		},
	}
	cmd.Flags().BoolVar(&f.stdin, "stdin", false, "read records from standard input")
	cmd.Flags().StringVar(&f.session, "session", "", "the run belongs to the session `ID`")
	cmd.Flags().StringVar(&f.run, "run", "", "continue the run `ID`, or the one in a file")
	cmd.Flags().StringVar(&f.dialect, "dialect", "", "store the log where the agent `NAME` stores its own (codelia, codelia-doc)")
	cli.AddSync(cmd, &f.sync)
	a.AddJSON(cmd)
	return cmd
}

// record reads records until the input ends. The end of the input does not end the run: a broken pipe looks like a crash of the agent, so
// only run.end does.
func record(ctx context.Context, a *cli.App, f recordFlags) (err error) {
	s, err := a.WriteStore()
	if err != nil {
		return err
	}
	rec := recording{a: a, s: s, f: f, write: runs.WriteOptions{
		Durability: store.Durability(f.sync), Mended: func(e backend.Mended) { a.Tell(store.Mended("", e), "") },
	}}
	if err := rec.prepare(ctx); err != nil {
		return err
	}
	defer func() {
		if rec.r != nil {
			if closeErr := rec.r.Close(); err == nil {
				err = closeErr // with --sync flush, Close syncs
			}
		}
	}()
	a.Awaits("records")
	for in := range cli.InputLines(ctx, a.Stdin) {
		if in.Err != nil {
			return fmt.Errorf("standard input: %w", in.Err)
		}
		if err := rec.line(ctx, in.Text); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	switch {
	case rec.r == nil:
		return errors.New("standard input has no record; no run was created")
	case rec.refused > 0:
		return cli.Quiet("records were refused")
	}
	return nil
}

type recording struct {
	a       *cli.App
	s       *treeline.Store
	f       recordFlags
	opt     runs.StartOptions
	write   runs.WriteOptions
	r       *runs.Recording // nil until the first record, which may be the header
	n       int             // lines read
	refused int
}

// prepare resolves what the flags name, and opens a run that is continued, before the first line is read.
func (c *recording) prepare(ctx context.Context) error {
	if c.f.run != "" {
		path, err := locateRun(ctx, c.s, c.f.run)
		if err != nil {
			return err
		}
		if c.r, err = c.s.ContinueRun(ctx, path, c.write); err != nil {
			return cli.OpenError(path, err)
		}
		return c.begun()
	}
	c.opt.Write = c.write
	var err error
	if c.opt.Dialect, err = cli.NamedDialect(c.s, c.f.dialect); err != nil {
		return err
	}
	if c.f.session == "" {
		return nil
	}
	id, err := sessionOfRuns(ctx, c.a, c.s, c.f.session)
	_, last := place.Last(c.f.session)
	switch {
	case errors.Is(err, place.ErrNoSession) && !last:
		// The session may be of an agent that the store does not know.
		c.a.Notice(fmt.Sprintf("no session %q is known here; the run is linked to it anyway", c.f.session))
		c.opt.Session = session.ID(c.f.session)
	case err != nil:
		return err
	default:
		c.opt.Session = id
	}
	return nil
}

// begun prints the run before the first receipt.
func (c *recording) begun() error {
	h := c.r.Header()
	return c.a.Say(wire.Recording{ID: h.RunID, Session: h.SessionID, Path: c.r.Path()}, c.r.Path())
}

// start starts the run with the header from the input, or with a new one if it is nil. A missing id and time are filled in.
func (c *recording) start(ctx context.Context, header []byte) error {
	if c.opt.Header = header; header == nil {
		c.opt.Header = fmt.Appendf(nil, `{"type":"header","schema_version":%d,"runtime":{"cwd":%s,"os":%q,"arch":%q}}`,
			runlog.SchemaVersion, rawjson.Quote(c.s.Env().WorkDir), runtime.GOOS, runtime.GOARCH)
	}
	r, err := c.s.StartRun(ctx, c.opt)
	if err != nil {
		return err
	}
	c.r = r
	return c.begun()
}

// line handles one line of the input. It fails if nothing more can be written.
func (c *recording) line(ctx context.Context, line []byte) error {
	c.n++
	if line = bytes.TrimSpace(line); len(line) == 0 {
		return nil
	}
	// The run begins with the first record: an empty input leaves no file.
	if c.r == nil {
		isHeader := rawjson.Valid(line) && rawjson.Str(line, "type") == string(runlog.TypeHeader)
		if !isHeader {
			if err := c.start(ctx, nil); err != nil {
				return err
			}
		} else {
			if err := c.start(ctx, line); err != nil {
				return fmt.Errorf("line %d: %w", c.n, err)
			}
			return c.acknowledge(runlog.Written{Type: runlog.TypeHeader})
		}
	}
	w, err := c.r.AppendRaw(ctx, line)
	if errors.Is(err, runlog.ErrRefused) {
		return c.refuse(err)
	}
	if err != nil {
		return fmt.Errorf("line %d: %w", c.n, err)
	}
	return c.acknowledge(w)
}

func (c *recording) acknowledge(w runlog.Written) error {
	j := wire.NewReceipt(c.n, w)
	text := fmt.Sprintf("%d %s", j.Line, j.Type)
	if j.Seq != nil {
		text += fmt.Sprintf(" %d", *j.Seq)
	}
	return c.a.Say(j, text)
}

// refuse reports a refused record. With --json, this takes the place of the receipt.
func (c *recording) refuse(err error) error {
	c.refused++
	if c.a.JSON {
		return wire.Write(c.a.Stdout, wire.Receipt{Line: c.n, Error: err.Error()})
	}
	c.a.Notice(fmt.Sprintf("line %d: %v", c.n, err))
	return nil
}
