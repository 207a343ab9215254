package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/internal/demo"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/wire"
)

// demoDir is the working directory of commands on the demo's sessions. It is a project of the stories.
const demoDir = "/home/you/shop"

// demoCommand shows what the commands do, by running them. If something does not work, the demo fails.
func (a *app) demoCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo [<command>…]",
		Short: "Take a tour in four steps",
		Long: "Create made-up sessions of several agents in a temporary folder, and show how treeline searches, draws and continues\n" +
			"them, and what survives kill -9. The folder is removed at the end. Your own sessions are only counted.\n\n" +
			"With a command, run it on the made-up sessions instead. 'treeline serve --demo' shows them in a browser.",
		Example: "  treeline demo\n  treeline demo ls --all\n  treeline demo search 'exchange rate'",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, words []string) error {
			return a.withDemo(cmd.Context(), func(dir string) error {
				if len(words) > 0 {
					return a.onDemo(cmd.Context(), dir, words)
				}
				return a.print(func(out *output) error { return a.demo(cmd.Context(), out, dir) })
			})
		},
		ValidArgsFunction: completeCommand,
	}
	cmd.Flags().SetInterspersed(false) // flags after the command are the command's
	return cmd
}

// writeDemo makes the sessions of the demo in a folder of their own, which clean removes. Until then a pipe that closes is an error of
// the output: the signal would end the program before the folder is removed.
func (a *app) writeDemo(ctx context.Context) (dir string, clean func() error, err error) {
	if dir, err = os.MkdirTemp("", "treeline-demo-"); err != nil {
		return "", func() error { return nil }, err
	}
	a.patience.Store(int64(2 * time.Second)) // to remove it after an interruption
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	clean = func() error {
		signal.Stop(pipe)
		return os.RemoveAll(dir)
	}
	return dir, clean, demo.Write(ctx, dir, a.now, a.drivers()...)
}

// withDemo lends the sessions of the demo to use.
func (a *app) withDemo(ctx context.Context, use func(dir string) error) error {
	dir, clean, err := a.writeDemo(ctx)
	if err == nil {
		err = use(dir)
	}
	return errors.Join(err, clean())
}

// demoApp is an app for commands on the demo's sessions. Of the environment it sees what concerns the terminal.
func (a *app) demoApp(dir string, stdout, stderr io.Writer) *app {
	b := newApp()
	b.stdin, b.stdout, b.stderr, b.clock, b.self = a.stdin, stdout, stderr, a.clock, a.self
	b.workDir = demoDir
	b.getenv = func(name string) string {
		switch name {
		case "HOME":
			return dir
		case "TERM", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "LESS":
			return a.getenv(name)
		}
		return ""
	}
	return b
}

// onDemo runs a command line on the demo's sessions. The command prints its own errors.
func (a *app) onDemo(ctx context.Context, dir string, words []string) error {
	b := a.demoApp(dir, a.stdout, a.stderr)
	words = append([]string{"--color=" + a.color, fmt.Sprintf("--no-pager=%t", a.noPager)}, words...)
	if code := run(ctx, b, words); code != exitFine {
		return exitError(code)
	}
	return nil
}

// demoPlay is the demo while it runs.
type demoPlay struct {
	a   *app
	ctx context.Context
	out *output
	dir string // the home of the made-up sessions
	// id is the short id of the session that the demo is about, path its file.
	id, path string
	step     int
}

// demoColumns is the width of the demo where the terminal is not narrower.
const demoColumns = 80

// demoTitle is the session that the demo is about, and demoEntry the entry on its abandoned branch.
const (
	demoTitle = "Prices are off by a cent"
	demoEntry = "446c3b98"
)

// demo plays the demo.
func (a *app) demo(ctx context.Context, out *output, dir string) error {
	out.width = min(cmp.Or(out.width, demoColumns), demoColumns)
	d := &demoPlay{a: a, ctx: ctx, out: out, dir: dir}
	s, err := a.demoApp(dir, io.Discard, io.Discard).store()
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
	d.text(out.style.bold, "", fmt.Sprintf("treeline finds, shows and continues the sessions of all your coding agents. These %d sessions are made up; the output is real.", len(rows)))
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

// tree is the second step: the branches, and what the model sees on the one that was given up.
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

// next ends the demo with what is on this machine, and commands that work there.
func (d *demoPlay) next() error {
	sessions, agents, err := d.a.counted(d.ctx)
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
	d.text(d.out.style.bold, "", found+" Try:")
	program, st := d.a.program(os.Args[0]), d.out.style
	for _, n := range next {
		command := screen.Pad("$ "+strings.TrimSpace(program+" "+n[0]), len(program)+len("$  serve --demo --open"), false)
		fmt.Fprintf(d.out, "   %s  %s\n", st.cyan(command), st.dim(n[1]))
	}
	return nil
}

// counted counts the sessions on this machine, and their agents.
func (a *app) counted(ctx context.Context) (sessions, agents int, err error) {
	s, err := a.store()
	if err != nil {
		return 0, 0, err
	}
	sources, err := s.LookAtSources(ctx)
	sessions, names := tally(sources)
	return sessions, len(names), err
}

// program is how people start this program, for commands that they are told to try. typed is the first word of its command line.
func (a *app) program(typed string) string {
	const installed = "treeline"
	if !builtByGoRun(a.self) {
		if a.self != "" && !filepath.IsAbs(typed) && strings.ContainsAny(typed, `/\`) {
			return typed // such as ./treeline
		}
		return installed
	}
	for _, dir := range []string{"./cmd/treeline", "."} {
		if _, err := os.Stat(filepath.Join(filepath.FromSlash(dir), "cmd_demo.go")); err == nil {
			return "go run " + dir
		}
	}
	return installed
}

// builtByGoRun reports whether a program is one that "go run" has built: in a temporary folder, or in the cache of builds.
func builtByGoRun(file string) bool {
	dir := filepath.Dir(file)
	_, err := hex.DecodeString(strings.TrimSuffix(filepath.Base(dir), "-d"))
	return strings.Contains(filepath.ToSlash(dir), "/go-build") || err == nil && len(filepath.Base(dir)) == 2*sha256.Size+len("-d")
}
