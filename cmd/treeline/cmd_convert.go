package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/store"
)

// convertCommand makes a new session and leaves the old one alone. Converting is never silent about loss: one line
// on stderr sums it up, --report (or --json) has every single one. The exit code is 0 also with losses, since they
// are known and, where there was room, carried along.
func (a *app) convertCommand() *cobra.Command {
	var (
		f                             sessionFlags
		toName, leaf, out, reportPath string
	)
	cmd := &cobra.Command{
		Use:   "convert <session> --to DIALECT",
		Short: "Make a session of one agent into one of another",
		Long: "Make a session of another agent from a session, where that agent keeps its own, and print its file. What the other\n" +
			"agent can express is written as it would; what it cannot is carried along where there is room, so that converting back\n" +
			"restores it. --report lists what became of everything. The new file is read back and compared before the command is\n" +
			"done; the old one is not touched.\n\n" +
			"An agent without branches gets the way to the leaf, and the other branches are carried along." + sessionHelp,
		Example: "  treeline convert @last --to operator\n  treeline convert 01a1dcc8 --to pi --out /tmp --report loss.json\n  treeline convert @last --to wave --leaf 5a60be28",
		Args:    args("<session>"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if toName == "" {
				return errNothing(cmd, "--to is missing")
			}
			// opened first: see reportFile
			report, err := openReport(reportPath)
			if err != nil {
				return err
			}
			r, err := a.convert(cmd.Context(), cmd, args[0], toName, leaf, out, f)
			if err != nil {
				return errors.Join(err, report.drop())
			}
			if err := report.save(r); err != nil {
				return err
			}
			if f.json {
				return writeJSON(a.stdout, r)
			}
			if why := outcome(r); why != "" {
				fmt.Fprintf(a.stderr, "treeline: %s\n", why)
			}
			_, err = fmt.Fprintln(a.stdout, screen.Clean(r.Target.File))
			return err
		},
		ValidArgsFunction: a.completeSession,
	}
	cmd.Flags().StringVar(&toName, "to", "", "make it a session of `DIALECT`: omp, pi, operator, wave, codelia, "+screen.Ellipsis)
	cmd.Flags().StringVar(&leaf, "leaf", "", "convert only the way to the entry `ID`")
	cmd.Flags().StringVar(&out, "out", "", "write it into the folder `DIR` instead of the agent's own")
	cmd.Flags().StringVar(&reportPath, "report", "", "write what became of everything to `FILE`, as JSON")
	f.add(cmd)
	_ = cmd.RegisterFlagCompletionFunc("to", cobra.FixedCompletions(targetNames(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// It goes through Open and not through OpenWrite: the source is read only, so an old version is migrated in
// memory.
func (a *app) convert(ctx context.Context, cmd *cobra.Command, ref, toName, leaf, out string, f sessionFlags) (store.ConvertReport, error) {
	var none store.ConvertReport
	s, err := a.writeStore()
	if err != nil {
		return none, err
	}
	opt := store.ConvertOptions{Dir: out}
	if opt.To, err = s.Dialect(toName); err != nil {
		return none, usageError{err, cmd}
	}
	open, err := openOptions(s, cmd, f)
	if err != nil {
		return none, err
	}
	path, err := a.locate(ctx, s, ref)
	if err != nil {
		return none, err
	}
	src, err := s.Open(ctx, path, open)
	if err != nil {
		return none, openError(path, err)
	}
	defer src.Close()
	a.problems(src.Tree().Problems())
	// Changed and not a comparison with "": --leaf '' is an error that entryOf explains.
	if cmd.Flags().Changed("leaf") {
		id, err := entryOf(src, leaf)
		if err != nil {
			return none, err
		}
		opt.Leaf = &id
	}
	sess, r, err := s.ConvertSession(ctx, src, opt)
	switch {
	// it was converted before, and nothing is ever written over a file that is there
	case errors.Is(err, backend.ErrExist):
		return none, fmt.Errorf("%w; --out names another folder", err)
	case err != nil:
		return none, err
	}
	return r, sess.Close()
}

// outcome says in one line what was not converted.
// The parts are in the order of how much they matter to the one who reads it: what is in the new file in another
// form, and what is not.
func outcome(r store.ConvertReport) string {
	var lines, header int
	for _, l := range r.Losses {
		if l.Became == store.Dropped {
			switch l.Kind {
			case "line":
				lines += l.Count
			case "header", "slot":
				header++
			}
		}
	}
	var parts []string
	if r.Carried > 0 {
		parts = append(parts, counted(r.Carried, "entry", "entries")+" carried along in part or whole")
	}
	if r.Dropped > 0 {
		parts = append(parts, counted(r.Dropped, "entry", "entries")+" left out")
	}
	if lines > 0 {
		parts = append(parts, counted(lines, "line", "lines")+" that could not be read left out")
	}
	if header > 0 {
		parts = append(parts, "the header left out")
	}
	if parts == nil {
		return ""
	}
	return strings.Join(parts, ", ") + "; --report lists them"
}

// reportFile is where a report goes. It is opened before anything is converted: a session whose report cannot be written is
// not made.
type reportFile struct {
	*os.File
	fresh bool
}

// It is not truncated yet: a report of an earlier conversion must survive one that fails.
func openReport(path string) (reportFile, error) {
	if path == "" {
		return reportFile{}, nil
	}
	_, err := os.Lstat(path)
	fresh := errors.Is(err, fs.ErrNotExist)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return reportFile{}, atPath(path, err)
	}
	return reportFile{file, fresh}, nil
}

// drop takes away what was only opened.
func (f reportFile) drop() error {
	switch {
	case f.File == nil:
		return nil
	case f.fresh:
		return errors.Join(f.Close(), os.Remove(f.Name()))
	}
	return f.Close()
}

func (f reportFile) save(r store.ConvertReport) error {
	if f.File == nil {
		return nil
	}
	// What is no file, like a pipe, has nothing to be cut off.
	_ = f.Truncate(0)
	return errors.Join(writeJSON(f, r), f.Close())
}
