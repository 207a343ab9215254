package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/console"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/wire"
)

// demoDir is the working directory of commands on the demo's sessions, a project of the stories. It does not exist.
const (
	demoHome = "/home/you"
	demoDir  = demoHome + "/shop"
)

// demoCommand shows what the commands do, by running them. If something does not work, the demo fails.
func demoCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo [<command>…]",
		Short: "Take a tour in four steps",
		Long: "Create made-up sessions of several agents in a temporary folder, and show how treeline searches, draws and continues\n" +
			"them, and what survives kill -9. The folder is removed at the end. Your own sessions are only counted.\n\n" +
			"With a command, run it on the made-up sessions instead. 'treeline serve --demo' shows them in a browser.",
		Example: "  treeline demo\n  treeline demo ls --all\n  treeline demo search 'exchange rate'",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, words []string) error {
			return withDemo(cmd.Context(), a, func(dir string) error {
				if len(words) > 0 {
					return onDemo(cmd.Context(), a, dir, words)
				}
				return a.Print(func(out *console.Output) error { return playDemo(cmd.Context(), a, out, dir) })
			})
		},
		ValidArgsFunction: completeCommand,
	}
	cmd.Flags().SetInterspersed(false) // flags after the command are the command's
	return cmd
}

// withDemo calls use with the folder of the demo's sessions.
func withDemo(ctx context.Context, a *cli.App, use func(dir string) error) error {
	dir, clean, err := a.WriteDemo(ctx)
	if err == nil {
		err = use(dir)
	}
	return errors.Join(err, clean())
}

// demoApp returns an App for commands on the demo's sessions. It passes on only the environment variables that concern the terminal.
func demoApp(a *cli.App, dir string, stdout, stderr io.Writer) *cli.App {
	b := cli.New()
	b.Stdin, b.Stdout, b.Stderr, b.Clock, b.Self = a.Stdin, stdout, stderr, a.Clock, a.Self
	b.WorkDir, b.MadeUp = demoDir, demoHome
	b.Getenv = func(name string) string {
		switch name {
		case "HOME":
			return dir
		case "TERM", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "LESS":
			return a.Getenv(name)
		}
		return ""
	}
	return b
}

// onDemo runs a command line on the demo's sessions. The command prints its own errors.
func onDemo(ctx context.Context, a *cli.App, dir string, words []string) error {
	b := demoApp(a, dir, a.Stdout, a.Stderr)
	words = append([]string{"--color=" + a.Color, fmt.Sprintf("--no-pager=%t", a.NoPager)}, words...)
	if code := run(ctx, b, words); code != exitFine {
		return exitError(code)
	}
	return nil
}

// demoWords takes the word demo, and flags that all commands have, out of a request of the shell that is about a command on the demo's
// sessions.
func demoWords(request []string) (words []string, ok bool) {
	demo := false
	for at := 1; at < len(request)-1; at++ { // the last word is the one that is completed
		switch word := request[at]; {
		case word == "--color":
			at++ // its value
		case strings.HasPrefix(word, "--color="), word == "--no-pager", strings.HasPrefix(word, "--no-pager="):
		case demo && !strings.HasPrefix(word, "-"):
			return append(request[:1:1], request[at:]...), true
		case demo || word != "demo":
			return nil, false
		default:
			demo = true
		}
	}
	return nil, false
}

// completeDemo completes a command line with ids and entries of the demo's sessions.
func completeDemo(ctx context.Context, a *cli.App, words []string) int {
	code := exitProblem
	err := withDemo(ctx, a, func(dir string) error {
		code = run(ctx, demoApp(a, dir, a.Stdout, a.Stderr), words)
		return nil
	})
	if err != nil {
		return exitProblem // a shell does not show errors
	}
	return code
}

// demoPlay is the demo while it runs.
type demoPlay struct {
	a   *cli.App
	ctx context.Context
	out *console.Output
	dir string // home directory of the made-up sessions
	// id is the short id of the session that the demo shows, and path its file.
	id, path string
	step     int
}

// demoColumns is the width of the demo, unless the terminal is narrower.
const demoColumns = 80

// demoTitle is the title of the session that the demo shows, and demoEntry the entry on its abandoned branch.
const (
	demoTitle = "Prices are off by a cent"
	demoEntry = "446c3b98"
)

// playDemo plays the demo.
func playDemo(ctx context.Context, a *cli.App, out *console.Output, dir string) error {
	out.Width = min(cmp.Or(out.Width, demoColumns), demoColumns)
	d := &demoPlay{a: a, ctx: ctx, out: out, dir: dir}
	s, err := demoApp(a, dir, io.Discard, io.Discard).Store()
	if err != nil {
		return err
	}
	defer s.Close()
	rows, err := s.List(ctx, place.ListOptions{})
	if err == nil {
		err = d.choose(rows)
	}
	if err != nil {
		return err
	}
	d.text(out.Style.Bold, "", fmt.Sprintf("treeline finds, shows and continues the sessions of all your coding agents. These %d sessions are made up; the output is real.", len(rows)))
	for _, scene := range []func() error{d.search, d.tree, d.resume, d.kill} {
		if err := scene(); err != nil {
			return err
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
	return d.next()
}

// search is the first step.
func (d *demoPlay) search() error {
	d.say("Search all sessions of all agents, abandoned branches too.")
	return d.run("search", "twice", "--in", "assistant", "-n", "4")
}

// tree is the second step: the branches, and what the model sees on the abandoned one.
func (d *demoPlay) tree() error {
	d.say("A session is a tree. See each branch, and what the model sees at any entry.")
	if err := d.run("tree", d.id+"#"+demoEntry, "-n", "6"); err != nil {
		return err
	}
	d.note("The model sees the summary of a compaction, and what came after it:")
	return d.runHead(12, "context", d.id)
}

// resume is the third step.
func (d *demoPlay) resume() error {
	d.say("Continue in another agent. It gets a copy; the old session stays.")
	before, err := os.ReadFile(d.path)
	if err != nil {
		return err
	}
	if err := d.run("resume", d.id, "--in", "claude"); err != nil {
		return err
	}
	after, err := os.ReadFile(d.path)
	if err == nil && string(before) != string(after) {
		err = errors.New("resuming in another agent changed the session")
	}
	d.note("The copy is a session of Claude Code with both branches. What that program cannot express is carried along for the way back.")
	return err
}

// next ends the demo with a summary of this machine's sessions, and commands to try on them.
func (d *demoPlay) next() error {
	sessions, agents, err := counted(d.ctx, d.a)
	found := fmt.Sprintf("%s of %s", wire.Count(sessions, "session", "sessions"), wire.Count(agents, "agent", "agents"))
	next := [][2]string{{"", "all of them on the terminal"}, {"search WORDS", "find what was said in any of them"}, {"serve --open", "see them in a browser"}}
	if sessions == 0 {
		next = [][2]string{{"serve --demo --open", "the made-up sessions in a browser"}, {"demo pick", "and on the terminal"}}
	}
	switch {
	case err != nil:
		found = "The sessions on this machine were not counted: " + err.Error()
	case sessions == 0:
		found = "No sessions were found on this machine."
	case sessions == 1:
		found += " was found on this machine."
	default:
		found += " were found on this machine."
	}
	fmt.Fprintln(d.out)
	d.text(d.out.Style.Bold, "", found+" Try:")
	program, st := d.a.Program(os.Args[0]), d.out.Style
	for _, n := range next {
		command := screen.Pad("$ "+strings.TrimSpace(program+" "+n[0]), len(program)+len("$  serve --demo --open"), false)
		between := "  "
		if len("   "+command+"  "+n[1]) > d.out.Width {
			command, between = strings.TrimRight(command, " "), "\n     "
		}
		fmt.Fprintf(d.out, "   %s%s%s\n", st.Cyan(command), between, st.Dim(n[1]))
	}
	return nil
}

// counted returns the number of sessions on this machine, and of their agents.
func counted(ctx context.Context, a *cli.App) (sessions, agents int, err error) {
	s, err := a.Store()
	if err != nil {
		return 0, 0, err
	}
	sources, err := s.LookAtSources(ctx)
	sessions, names := cli.Tally(sources)
	return sessions, len(names), err
}
