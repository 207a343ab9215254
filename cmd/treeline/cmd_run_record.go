package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/internal/screen"
	runlog "github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/store"
)

// recordFlags say what is recorded.
type recordFlags struct {
	stdin, json                 bool
	session, run, dialect, sync string
}

// runRecordCommand writes run logs for agents that have none of their own. It is a filter: one line in, one line
// out, in order, so that an agent can wait for the receipt of what it did. Refused records are told and do not end
// it, because a run goes on whether or not its log is perfect.
func (a *app) runRecordCommand() *cobra.Command {
	var f recordFlags
	cmd := &cobra.Command{
		Use:   "record --stdin",
		Short: "Record a run of any agent",
		Long: "Take records from standard input, one JSON object on each line, and append each to the log of a new run, in order. Each is\n" +
			"acknowledged by a line when it is as durable as --sync says. A first record of type header is the run's; otherwise one\n" +
			"is made. The id of the run, the time, and the number of a request or response are filled in where they are missing.\n\n" +
			"A record that does not fit is refused, which ends nothing; the exit code is then 1. Behind run.end nothing is taken.",
		Example: "  my-agent --trace | treeline run record --stdin --session @last\n" +
			"  echo '{\"type\":\"run.end\",\"outcome\":\"cancelled\"}' | treeline run record --stdin --run 8f1d7b7a",
		Args: args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case !f.stdin:
				// The flag is there so that a command that was typed without a pipe does not sit and wait.
				return errNothing(cmd, "--stdin is missing: records come on standard input")
			case f.run != "" && (f.session != "" || f.dialect != ""):
				return usageError{errors.New("--run goes on with a run, --session and --dialect are for a new one"), cmd}
			}
			if !slices.Contains(levels, f.sync) {
				return usageError{fmt.Errorf("--sync %q: it is %s", f.sync, anyOf(levels)), cmd}
			}
			return a.record(cmd, f)
		},
	}
	cmd.Flags().BoolVar(&f.stdin, "stdin", false, "take records from standard input")
	cmd.Flags().StringVar(&f.session, "session", "", "the run belongs to the session `ID`")
	cmd.Flags().StringVar(&f.run, "run", "", "go on with the run `ID`, or that in a file")
	cmd.Flags().StringVar(&f.dialect, "dialect", "", "keep the log where the agent `NAME` keeps its own (codelia, codelia-doc)")
	cmd.Flags().StringVar(&f.sync, "sync", "flush", "what is written survives: `LEVEL` none, flush or always")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
	_ = cmd.RegisterFlagCompletionFunc("sync", cobra.FixedCompletions(levels, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("run", func(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		return a.completeRun(cmd, nil, word)
	})
	return cmd
}

// record reads records until the input ends.
// The log is not ended when the input is: only run.end in the input says how a run ended, and a pipe that breaks
// is what a crash looks like.
func (a *app) record(cmd *cobra.Command, f recordFlags) (err error) {
	ctx := cmd.Context()
	s, err := a.writeStore()
	if err != nil {
		return err
	}
	rec := recording{a: a, s: s, f: f, write: store.WriteOptions{
		Durability: store.Durability(f.sync), Observer: func(e store.Event) { a.tell(e, "") },
	}}
	if err := rec.prepare(ctx, cmd); err != nil {
		return err
	}
	defer func() {
		if rec.r != nil {
			// Close reports what a lazy --sync left to be written, so its error counts where nothing else went
			// wrong.
			if closeErr := rec.r.Close(); err == nil {
				err = closeErr
			}
		}
	}()
	// Reading has a goroutine, since a read cannot be interrupted; see inputLines.
	lines := make(chan []byte)
	ended := make(chan error, 1)
	done := make(chan struct{})
	defer close(done)
	go func() { ended <- readRecords(a.stdin, lines, done) }()
	for {
		select {
		case line := <-lines:
			if err := rec.line(ctx, line); err != nil {
				return err
			}
		case err := <-ended:
			if err != nil {
				return fmt.Errorf("standard input: %w", err)
			}
			return rec.finish(ctx)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// readRecords hands on the lines of the input, however long they are, blank ones too.
// Blank lines are handed on so that the numbers of lines in messages are those of the input.
func readRecords(in io.Reader, lines chan<- []byte, done <-chan struct{}) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 {
			select {
			case lines <- line:
			case <-done:
				return nil
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// recording is a run that is being recorded from lines.
type recording struct {
	a       *app
	s       *store.Store
	f       recordFlags
	opt     store.RunOptions
	write   store.WriteOptions
	r       *store.Recording // nil until the first record: it may be the header
	n       int              // lines
	refused int
}

// prepare finds what the flags name. A run that goes on is opened now.
// Whatever can fail without any input fails before the first line is read.
func (c *recording) prepare(ctx context.Context, cmd *cobra.Command) error {
	if c.f.run != "" {
		path, err := c.a.locateRun(ctx, c.s, c.f.run)
		if err != nil {
			return err
		}
		if c.r, err = c.s.ContinueRun(ctx, path, c.write); err != nil {
			return runError(path, err)
		}
		return c.begun()
	}
	c.opt.Write = c.write
	if c.f.dialect != "" {
		d, err := c.s.Dialect(c.f.dialect)
		if err != nil {
			return usageError{err, cmd}
		}
		c.opt.Dialect = d
	}
	if c.f.session == "" {
		return nil
	}
	id, err := c.a.sessionOfRuns(ctx, c.s, c.f.session)
	switch {
	case errors.Is(err, store.ErrNoSession) && c.f.session != "@last":
		// Any agent may have runs, also one whose sessions nobody here knows.
		fmt.Fprintf(c.a.stderr, "treeline: no session %q is known here; the run is linked to it all the same\n", c.f.session)
		c.opt.Session = sessionID(c.f.session)
	case err != nil:
		return err
	default:
		c.opt.Session = id
	}
	return nil
}

// begun tells which run it is.
// It is the first line of the output, before any receipt.
func (c *recording) begun() error {
	if !c.f.json {
		_, err := fmt.Fprintln(c.a.stdout, screen.Clean(c.r.Path()))
		return err
	}
	return writeJSON(c.a.stdout, struct {
		Run     string `json:"run"`
		Session string `json:"session,omitempty"`
		Path    string `json:"path"`
	}{c.r.Header().RunID, c.r.Header().SessionID, c.r.Path()})
}

// start begins the run, with the header that the input brought or one of our own.
// A header of the input is taken as it is, with the id and time filled in where it has none.
func (c *recording) start(ctx context.Context, header []byte) error {
	if c.opt.Header = header; header == nil {
		env, err := c.a.env()
		if err != nil {
			return err
		}
		c.opt.Header = fmt.Appendf(nil, `{"type":"header","schema_version":%d,"runtime":{"cwd":%s,"os":%q,"arch":%q}}`,
			runlog.SchemaVersion, rawjson.Quote(env.WorkDir), runtime.GOOS, runtime.GOARCH)
	}
	r, err := c.s.StartRun(ctx, c.opt)
	if err != nil {
		return err
	}
	c.r = r
	return c.begun()
}

// line takes one line of the input. It fails where nothing more can be written.
func (c *recording) line(ctx context.Context, line []byte) error {
	c.n++
	if line = bytes.TrimSpace(line); len(line) == 0 {
		return nil
	}
	// The run begins with the first record and not before: an empty input leaves no file.
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

// ackJSON is a stable format, one for each record: ok false comes with error, and type and seq are those that were
// written.
type ackJSON struct {
	Line  int    `json:"line"`
	OK    bool   `json:"ok"`
	Type  string `json:"type,omitempty"`
	Seq   *int64 `json:"seq,omitempty"`
	Error string `json:"error,omitempty"`
}

func (c *recording) acknowledge(w runlog.Written) error {
	j := ackJSON{Line: c.n, OK: true, Type: string(w.Type)}
	if w.HasSeq {
		j.Seq = &w.Seq
	}
	if c.f.json {
		return writeJSON(c.a.stdout, j)
	}
	text := fmt.Sprintf("%d %s", j.Line, screen.Clean(j.Type))
	if j.Seq != nil {
		text += fmt.Sprintf(" %d", *j.Seq)
	}
	_, err := fmt.Fprintln(c.a.stdout, text)
	return err
}

// With --json refusals go to stdout, in the place of the receipt, so that a program need not read two streams.
func (c *recording) refuse(err error) error {
	c.refused++
	if c.f.json {
		return writeJSON(c.a.stdout, ackJSON{Line: c.n, Error: err.Error()})
	}
	fmt.Fprintf(c.a.stderr, "treeline: line %d: %s\n", c.n, screen.Clean(err.Error()))
	return nil
}

// finish tells what came of it when the input has ended.
func (c *recording) finish(context.Context) error {
	switch {
	case c.r == nil:
		return errors.New("standard input had no record; no run was begun")
	case c.refused > 0:
		return quietError{errors.New("records were refused")}
	}
	return nil
}
