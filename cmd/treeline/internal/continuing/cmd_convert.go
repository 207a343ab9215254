package continuing

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/convert"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/export"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/wire"
)

// Convert makes a new session. A line on stderr sums up the losses; --report and --json list them. The exit code is 0 even with losses.
func Convert(a *cli.App) *cobra.Command {
	var dialectName, toName, leaf, out, reportPath string
	var force bool
	cmd := &cobra.Command{
		Use: "convert <session> --to DIALECT",

		Short: "Convert a session to another agent's format",
		Long: "Create a session of another agent from a session, in that agent's own folder, and print its file. What the other\n" +
			"format cannot express is carried along where possible, so that converting back restores it byte for byte. The new\n" +
			"session has its own id. --report lists what became of everything. The new file is read back and compared before the\n" +
			"command ends. The old session is not changed.\n\n" +
			"A format without branches gets the path to the leaf; the other branches are carried along." + cli.SessionHelp + cli.EntryHelp,
		Example: "  treeline convert @last --to operator\n  treeline convert 01a1df83 --to pi -o /tmp --report loss.json\n  treeline convert @last --to wave --leaf 446c3b98\n  treeline convert /tmp/talk.jsonl --dialect pi --to omp",
		Args:    cli.Args("<session>"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if toName == "" {
				return cli.Misused("--to is missing")
			}
			if force && reportPath == "" {
				return cli.Misused("--force needs --report")
			}
			ref, leaf, err := cli.OneLeaf(args[0], leaf)
			if err != nil {
				return err
			}
			if _, err := os.Stat(out); err == nil {
				if err := cli.IsFolder(out); err != nil {
					return fmt.Errorf("--output: %w", err)
				}
			}
			save, drop, err := openReport(cmd.Context(), a, reportPath, force)
			if err != nil {
				return err
			}
			r, next, err := convertTo(cmd.Context(), a, ref, dialectName, toName, leaf, out)
			if err != nil {
				return errors.Join(err, drop())
			}
			if err := save(wire.NewConversion(r)); err != nil {
				return err
			}
			if why := outcome(r); why != "" && !a.JSON {
				a.Notice(why + "; --report lists them")
			}
			if next != "" && !a.JSON {
				a.Notice("continue it with: " + next)
			}
			return a.Say(wire.NewConversion(r), r.Target.File)
		},
		ValidArgsFunction: a.CompleteSession,
	}
	cmd.Flags().StringVar(&toName, "to", "", "the target `DIALECT`: omp, pi, operator, wave, codelia, claude, codex, "+screen.Ellipsis)
	cmd.Flags().StringVar(&leaf, "leaf", "", "convert only the path to the entry `ID`")
	cmd.Flags().StringVarP(&out, "output", "o", "", "write to the folder `DIR` instead of the agent's own")
	cmd.Flags().StringVar(&reportPath, "report", "", "write a JSON report of what became of everything to `FILE`")
	cmd.Flags().BoolVar(&force, "force", false, "replace the file of --report; a session is never replaced")
	a.AddDialect(cmd, &dialectName)
	return cmd
}

// convertTo only reads the source: an old version is migrated in memory. next is the command that continues the new session, or "" if its
// agent would not find it.
func convertTo(ctx context.Context, a *cli.App, ref, dialectName, toName, leaf, out string) (none convert.Report, next string, err error) {
	s, err := a.WriteStore()
	if err != nil {
		return none, "", err
	}
	opt := convert.Options{Dir: out}
	if opt.To, err = cli.NamedDialect(s, toName); err != nil {
		return none, "", err
	}
	src, err := a.OpenIn(ctx, s, ref, dialectName)
	if err != nil {
		return none, "", err
	}
	defer src.Close()
	a.Problems(src.Tree().Problems())
	if leaf != "" {
		id, err := cli.EntryOf(src, leaf)
		if err != nil {
			return none, "", err
		}
		opt.Leaf = &id
	}
	cli.EaseCollection()
	sess, r, err := s.ConvertSession(ctx, src, opt)
	switch {
	case errors.Is(err, backend.ErrExist):
		return none, "", fmt.Errorf("%w: it is the original of this session, or an earlier conversion made it; 'treeline resume --in %s' makes another copy, -o DIR writes to another folder", err, cli.AgentOf(opt.To))
	case err != nil:
		return none, "", elsewhere(sameFamily(err), opt)
	}
	if archived := backend.Scheme(sess.Path()) != ""; archived {
		next = "treeline resume " + sess.Path() // its agent finds sessions only as files
	} else if c, err := s.ResumeCommand(ctx, sess, treeline.ResumeOptions{}); err == nil {
		next = wire.ShellLine(c.Dir, c.Env, c.Args)
	}
	return r, next, sess.Close()
}

// sameFamily adds the flag that helps if another agent of the same family may have written the session.
func sameFamily(err error) error {
	var same *convert.SameError
	if !errors.As(err, &same) || same.Other == nil {
		return err
	}
	return fmt.Errorf("%w: --dialect %s", err, same.Other.Name())
}

// elsewhere adds advice if the agent keeps its sessions in a database, which the folder of -o cannot have.
func elsewhere(err error, opt convert.Options) error {
	_, housed := opt.To.Layout().(dialect.Housed)
	if housed && opt.Dir != "" && (errors.Is(err, backend.ErrName) || errors.Is(err, backend.ErrReadOnly)) {
		return fmt.Errorf("%w; without -o the session goes into the agent's own database", err)
	}
	return err
}

// outcome sums up on one line what was not converted. It returns "" if everything was.
func outcome(r convert.Report) string {
	var lines, spacing, tasks int
	migrated := false
	for _, l := range r.Losses {
		switch {
		case l.Became == convert.Migrated:
			migrated = true
		case l.Became == convert.Dropped && l.Kind == "line":
			lines += l.Count
		case l.Became == convert.Dropped && l.Kind == "spacing":
			spacing += l.Count
		case l.Became == convert.Dropped && l.Kind == "sub-agent":
			tasks += l.Count
		}
	}
	var parts []string
	if r.Carried > 0 {
		parts = append(parts, wire.Count(r.Carried, "entry", "entries")+" carried along in part or whole"+kindsOf(r, convert.Carried))
	}
	if r.Dropped > 0 {
		parts = append(parts, wire.Count(r.Dropped, "entry", "entries")+" left out"+kindsOf(r, convert.Dropped))
	}
	if lines > 0 {
		parts = append(parts, wire.Count(lines, "line", "lines")+" that could not be read left out")
	}
	if spacing > 0 {
		parts = append(parts, "the spacing of "+wire.Count(spacing, "line", "lines")+" lost")
	}
	if tasks > 0 {
		parts = append(parts, wire.Count(tasks, "log of a sub-agent", "logs of sub-agents")+" not converted")
	}
	parts = append(parts, unseen(r.Source.View, r.Target.View)...)
	if migrated {
		parts = append(parts, "an old version converted to the current one")
	}
	return strings.Join(parts, ", ")
}

// unseen describes what the model no longer sees, and what it sees only now.
func unseen(before, after convert.View) (parts []string) {
	less := func(lost int, one, more string) {
		if lost > 0 {
			parts = append(parts, wire.Count(lost, one, more)+" not shown to the model any more")
		}
	}
	less(before.Calls-after.Calls, "call", "calls")
	less(before.Images-after.Images, "image", "images")
	less(before.Thinking-after.Thinking, "thought", "thoughts")
	if made := (after.Results - after.Calls) - (before.Results - before.Calls); made > 0 {
		parts = append(parts, wire.Count(made, "call without a result got one", "calls without a result got one")+" that says so")
	}
	return parts
}

// kindsOf lists, in parentheses, the kinds of the entries with that outcome and their number.
func kindsOf(r convert.Report, became convert.Became) string {
	var kinds []string
	entries := map[string]map[session.EntryID]bool{}
	for _, l := range r.Losses {
		if l.Became != became || len(l.Entries) == 0 {
			continue
		}
		if entries[l.Kind] == nil {
			entries[l.Kind] = map[session.EntryID]bool{}
			kinds = append(kinds, l.Kind)
		}
		for _, id := range l.Entries {
			entries[l.Kind][id] = true // an entry may have several losses
		}
	}
	if len(kinds) == 0 {
		return ""
	}
	for i, kind := range kinds {
		kinds[i] = fmt.Sprintf("%s: %d", kind, len(entries[kind]))
	}
	return " (" + strings.Join(kinds, ", ") + ")"
}

// openReport opens the file of --report before anything is converted, so that nothing is converted if it cannot be written. save writes the
// report; until then, an earlier report is kept. drop removes a new file after a failed conversion.
func openReport(ctx context.Context, a *cli.App, path string, force bool) (save func(wire.Conversion) error, drop func() error, err error) {
	nothing := func() error { return nil }
	switch {
	case path == "":
		return func(wire.Conversion) error { return nil }, nothing, nil
	case isStdout(a, path): // opened again, it would be overwritten by the output
		return func(c wire.Conversion) error { return wire.Write(a.Stdout, c) }, nothing, nil
	}
	if err := checkReport(ctx, a, path, force); err != nil {
		return nil, nil, err
	}
	_, err = os.Lstat(path)
	fresh := errors.Is(err, fs.ErrNotExist)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, cli.AtPath(path, err)
	}
	save = func(c wire.Conversion) error {
		_ = file.Truncate(0) // fails for a pipe
		return errors.Join(wire.Write(file, c), file.Close())
	}
	drop = func() error {
		if fresh {
			return errors.Join(file.Close(), os.Remove(path))
		}
		return file.Close()
	}
	return save, drop, nil
}

// isStdout reports whether a path names standard output, such as /dev/stdout.
func isStdout(a *cli.App, path string) bool {
	out, ok := a.Stdout.(*os.File)
	if !ok {
		return false
	}
	there, err := os.Stat(path)
	if err != nil {
		return false
	}
	own, err := out.Stat()
	return err == nil && os.SameFile(own, there)
}

// checkReport refuses to overwrite a file with content, unless force is set, and refuses to overwrite a session in any case. Pipes and
// devices have nothing to lose.
func checkReport(ctx context.Context, a *cli.App, path string, force bool) error {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return nil // opening it reports the error
	}
	if !force {
		return fmt.Errorf("--report: %s: %w", path, export.ErrExists)
	}
	s, err := a.Store()
	if err != nil {
		return err
	}
	old, err := s.Open(ctx, path, store.OpenOptions{})
	if err != nil {
		return nil
	}
	return errors.Join(fmt.Errorf("--report: %s is a session, which is never replaced", path), old.Close())
}
