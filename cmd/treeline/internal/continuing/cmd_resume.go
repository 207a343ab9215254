package continuing

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/wire"
)

// fetch copies a session of the archive to the place of its agent on this machine, and returns the path of the copy. From then on, the
// command works on this machine. If the working directory does not exist here, that of the command takes its place.
func fetch(ctx context.Context, a *cli.App, ref, dialectName string, w store.WriteOptions) (path string, err error) {
	far, err := a.WriteStore()
	if err != nil {
		return "", err
	}
	src, err := a.OpenIn(ctx, far, ref, dialectName)
	if err != nil {
		return "", err
	}
	defer src.Close()
	a.Archive = ""
	here, err := a.Store()
	if err != nil {
		return "", err
	}
	opt := store.CreateOptions{CWD: src.CWD(), Dialect: src.Dialect(), Write: w}
	if cli.IsFolder(opt.CWD) != nil {
		if opt.CWD, err = a.ListDir(""); err != nil {
			return "", err
		}
	}
	opt.Dir = here.Home(opt.Dialect, opt.CWD)
	sess, err := far.ForkFrom(ctx, src.Path(), opt)
	if err != nil {
		return "", err
	}
	a.Notice("copied to this machine: " + sess.Path())
	return sess.Path(), sess.Close()
}

// Resume hands a session over to an agent: its own, or another one after a conversion.
func Resume(a *cli.App) *cobra.Command {
	var (
		f      cli.DurableFlags
		in     string
		leaf   string
		start  bool
		source string
	)
	cmd := &cobra.Command{
		Use:        "resume [<session>]",
		SuggestFor: []string{"continue", "open", "restore"},
		Short:      "Continue a session in its agent or another one",
		Long: "Print the command that continues a session in its own agent, or run it with --exec.\n\n" +
			"With --in, the session is first converted for another agent. The copy has its own id, and the old session is not\n" +
			"changed. A line says what the other agent cannot express; --json lists it.\n\n" +
			"With --leaf, the agent continues from that entry, even on an abandoned branch. The entry becomes the session's leaf,\n" +
			"as with 'treeline branch'; if the agent's format has no leaf, the path to the entry becomes a separate session.\n\n" +
			"A session of an archive (--store) is copied to this machine first, and the agent continues the copy." + cli.SessionHelp + cli.LastHelp + cli.EntryHelp,
		Example: "  treeline resume @last\n  treeline resume 01a1df83 --exec\n  treeline resume claude:@last --in codex --exec\n  treeline resume @last --leaf 446c3b98",
		Args:    cli.Args("[<session>]"),
		RunE: func(cmd *cobra.Command, given []string) error {
			ref, at, err := cli.OneLeaf(cli.SessionArg(given), leaf)
			if err != nil {
				return err
			}
			opt := treeline.ResumeOptions{}
			if opt.Write, err = f.Options(); err != nil {
				return err
			}
			opt.Write.Observer = func(e treeline.Event) { a.Tell(e, "") }
			if start {
				opt.Ready = installed
			}
			c, err := resume(cmd.Context(), a, ref, source, in, at, opt)
			if err != nil {
				return err
			}
			return resumed(cmd.Context(), a, c, start)
		},
		ValidArgsFunction: a.CompleteSession,
	}
	f.Add(cmd)
	a.AddDialect(cmd, &source)
	cmd.Flags().StringVar(&in, "in", "", "continue in `AGENT`: "+strings.Join(cli.Launchable(), ", "))
	cmd.Flags().StringVar(&leaf, "leaf", "", "continue from the entry `ID`")
	cmd.Flags().BoolVar(&start, "exec", false, "start the agent instead of printing the command")
	_ = cmd.RegisterFlagCompletionFunc("in", cobra.FixedCompletions(cli.Launchable(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// installed returns an error if a program cannot be started.
func installed(program string) error {
	if _, err := exec.LookPath(program); err != nil {
		return fmt.Errorf("%s is not installed: it is not in PATH; nothing was written", program)
	}
	return nil
}

// resume finds the session and the entry, and calls the library.
func resume(ctx context.Context, a *cli.App, ref, source, in, leaf string, opt treeline.ResumeOptions) (none treeline.ResumeCommand, err error) {
	if a.Archive != "" {
		if ref, err = fetch(ctx, a, ref, source, opt.Write); err != nil {
			return none, err
		}
	}
	open := a.Store // without a leaf and another agent, nothing is written
	if in != "" || leaf != "" {
		open = func(...string) (*treeline.Store, error) { return a.WriteStore() }
	}
	s, err := open()
	if err != nil {
		return none, err
	}
	if opt.In, err = cli.NamedDialect(s, in); err != nil {
		return none, cli.Misused("unknown agent %q: use one of %s", in, strings.Join(cli.Launchable(), ", "))
	}
	src, err := a.OpenIn(ctx, s, ref, source)
	if err != nil {
		return none, err
	}
	defer src.Close()
	a.Problems(src.Tree().Problems())
	if leaf != "" {
		id, err := cli.EntryOf(src, leaf)
		if err != nil {
			return none, err
		}
		opt.Leaf = &id
	}
	c, err := s.ResumeCommand(ctx, src, opt)
	a.Problems(c.Problems)
	return c, sameFamily(err)
}

// Start continues a session in its agent, which replaces this program.
func Start(ctx context.Context, a *cli.App, ref string) error {
	c, err := resume(ctx, a, ref, "", "", "", treeline.ResumeOptions{Ready: installed})
	if err != nil {
		return err
	}
	return resumed(ctx, a, c, true)
}

// resumed reports what was done, and prints or runs the command.
func resumed(ctx context.Context, a *cli.App, c treeline.ResumeCommand, start bool) error {
	switch {
	case c.Report != nil:
		a.Notice(fmt.Sprintf("converted to a session of %s: %s", c.Dialect.Name(), c.Path))
		if why := outcome(*c.Report); why != "" && !a.JSON {
			a.Notice(why + "; --json lists them")
		}
	case c.From != "":
		a.Notice(fmt.Sprintf("%s cannot continue from that entry in the same session, so the path to it was copied to a new one: %s", cli.AgentOf(c.Dialect), c.Path))
	}
	if a.MadeUp != "" && place.Within(a.MadeUp, c.Gone) {
		c.Dir, c.Gone = c.Gone, "" // the demo's projects do not exist
	}
	if c.Gone != "" {
		a.Notice(fmt.Sprintf("the session's directory %s does not exist; the agent continues in the directory where it is started", c.Gone))
	}
	if len(c.Holders) > 0 {
		a.Notice(fmt.Sprintf("the session is open in another program: %s; two programs that continue it at once write two branches", strings.Join(c.Holders, ", ")))
	}
	if !start {
		return a.Say(resumeJSON(c), wire.ShellLine(c.Dir, c.Env, c.Args))
	}
	if a.JSON {
		if err := wire.Write(a.Stdout, resumeJSON(c)); err != nil {
			return err
		}
	}
	path, err := exec.LookPath(c.Args[0])
	if err != nil {
		return fmt.Errorf("%s: %w", screen.Clean(c.Args[0]), err)
	}
	return errors.Join(a.End(), become(ctx, path, c)) // the agent replaces this program
}

func resumeJSON(c treeline.ResumeCommand) wire.Resume {
	return wire.NewResume(c.Launch, c.Dir, wire.Resumed{
		ID: c.ID, Path: c.Path, Dialect: c.Dialect, Leaf: c.Leaf, From: c.From, Holders: c.Holders, Report: c.Report, Problems: c.Problems,
	})
}
