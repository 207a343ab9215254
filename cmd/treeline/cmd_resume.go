package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/wire"
)

// resumeCommand hands a session over to an agent: its own, or another one after a conversion.
func (a *app) resumeCommand() *cobra.Command {
	var (
		f      durableFlags
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
			"A session of an archive (--store) is copied to this machine first, and the agent continues the copy." + sessionHelp + lastHelp + entryHelp,
		Example: "  treeline resume @last\n  treeline resume 01a1dcc8 --exec\n  treeline resume claude:@last --in codex --exec\n  treeline resume @last --leaf 5a60be28",
		Args:    args("[<session>]"),
		RunE: func(cmd *cobra.Command, given []string) error {
			ref, at, err := oneLeaf(sessionArg(given), "leaf", leaf)
			if err != nil {
				return err
			}
			opt := treeline.ResumeOptions{}
			if opt.Write, err = f.options(); err != nil {
				return err
			}
			opt.Write.Observer = func(e treeline.Event) { a.tell(e, "") }
			if start {
				opt.Ready = installed
			}
			c, err := a.resume(cmd.Context(), ref, source, in, at, opt)
			if err != nil {
				return err
			}
			return a.resumed(cmd.Context(), c, start)
		},
		ValidArgsFunction: a.completeSession,
	}
	f.add(cmd)
	a.addDialect(cmd, &source)
	cmd.Flags().StringVar(&in, "in", "", "continue in `AGENT`: "+strings.Join(launchable(), ", "))
	cmd.Flags().StringVar(&leaf, "leaf", "", "continue from the entry `ID`")
	cmd.Flags().BoolVar(&start, "exec", false, "start the agent instead of printing the command")
	_ = cmd.RegisterFlagCompletionFunc("in", cobra.FixedCompletions(launchable(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// launchable names the agents that can continue a session, each once: the first value of a family is that of today's program.
func launchable() (names []string) {
	for _, d := range treeline.Dialects() {
		if l, ok := d.(dialect.Launcher); ok && !slices.Contains(names, l.Program()) {
			names = append(names, l.Program())
		}
	}
	return names
}

// installed says whether a program can be started.
func installed(program string) error {
	if _, err := exec.LookPath(program); err != nil {
		return fmt.Errorf("%s is not installed: it is not in PATH; nothing was written", program)
	}
	return nil
}

// resume finds the session and the entry, and asks the library.
func (a *app) resume(ctx context.Context, ref, source, in, leaf string, opt treeline.ResumeOptions) (none treeline.ResumeCommand, err error) {
	if a.archive != "" {
		if ref, err = a.fetch(ctx, ref, source, opt.Write); err != nil {
			return none, err
		}
	}
	open := a.store // without a leaf or another agent nothing is written
	if in != "" || leaf != "" {
		open = func(...string) (*treeline.Store, error) { return a.writeStore() }
	}
	s, err := open()
	if err != nil {
		return none, err
	}
	if opt.In, err = namedDialect(s, in); err != nil {
		return none, misused("unknown agent %q: use one of %s", in, strings.Join(launchable(), ", "))
	}
	src, err := a.openIn(ctx, s, ref, source)
	if err != nil {
		return none, err
	}
	defer src.Close()
	a.problems(src.Tree().Problems())
	if leaf != "" {
		id, err := entryOf(src, leaf)
		if err != nil {
			return none, err
		}
		opt.Leaf = &id
	}
	c, err := s.ResumeCommand(ctx, src, opt)
	a.problems(c.Problems)
	return c, sameFamily(err)
}

// resumed tells what was done, and prints or starts the command.
func (a *app) resumed(ctx context.Context, c treeline.ResumeCommand, start bool) error {
	switch {
	case c.Report != nil:
		a.notice(fmt.Sprintf("converted to a session of %s: %s", c.Dialect.Name(), c.Path))
		if why := outcome(*c.Report); why != "" && !a.json {
			a.notice(why + "; --json lists them")
		}
	case c.From != "":
		a.notice(fmt.Sprintf("%s cannot continue from that entry in the same session, so the path to it was copied to a new one: %s", agentOf(c.Dialect), c.Path))
	}
	if c.Gone != "" {
		a.notice(fmt.Sprintf("the session's directory %s does not exist; the agent continues in the directory where it is started", c.Gone))
	}
	if len(c.Holders) > 0 {
		a.notice(fmt.Sprintf("the session is open in another program: %s; two programs that continue it at once write two branches", strings.Join(c.Holders, ", ")))
	}
	if !start {
		return a.say(a.resumeJSON(c), wire.ShellLine(c.Dir, c.Env, c.Args))
	}
	if a.json {
		if err := wire.Write(a.stdout, a.resumeJSON(c)); err != nil {
			return err
		}
	}
	path, err := exec.LookPath(c.Args[0])
	if err != nil {
		return fmt.Errorf("%s: %w", screen.Clean(c.Args[0]), err)
	}
	var closed error
	for _, f := range a.close { // the program takes the place of this one
		closed = errors.Join(closed, f())
	}
	a.close = nil
	return errors.Join(closed, a.become(ctx, path, c))
}

func (a *app) resumeJSON(c treeline.ResumeCommand) wire.Resume {
	return wire.NewResume(c.Launch, c.Dir, wire.Resumed{
		ID: c.ID, Path: c.Path, Dialect: c.Dialect, Leaf: c.Leaf, From: c.From, Holders: c.Holders, Report: c.Report, Problems: c.Problems,
	})
}
