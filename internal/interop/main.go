// Command interop checks that this library and the real agents understand each other's files. It installs the agents' packages
// from npm in a temporary folder and makes seven comparisons:
//
//   - trees: random trees to which pi 0.73 and this library append by turns; leaf, entries, labels, name and context.
//   - lists: random folders of sessions, whole and damaged; the lists, recent sessions and continued session of pi 1.5 and
//     oh-my-pi 13, compared with the same methods of `treeline rpc` and with `treeline ls`.
//   - conversions: sessions of Wave, codelia and Operator, converted for pi 1.5 and oh-my-pi 13; what these would send, compared
//     with what this library says, message by message.
//   - contexts: random sessions of all versions, also after this library rewrote them; the name, models, service tier and all
//     else of the context, as pi 1.5, oh-my-pi 13 and oh-my-pi 18 read them.
//   - history: one history.db that oh-my-pi 13 and this library search and write to, by turns and concurrently.
//   - resume: Claude Code, Codex, Gemini CLI, Qwen Code, OpenCode, Copilot CLI and Goose resume sessions, and a stand-in for their providers on the loopback interface shows what they
//     send, compared with the messages of "treeline context --parts". There are random sessions, whole and damaged; sessions,
//     forks and branches that this library wrote; sessions that the agent began and this library went on with; abandoned
//     branches; and random sessions and fixtures of all other agents. What this library wrote is resumed with the command
//     that "treeline resume" prints, in its form without a terminal (claude -p, codex exec). Differences that are known are
//     named with their reason (agent.known) and do not make it fail. It fails if no session was resumed.
//     Where it may, it runs in a network namespace from which no other host can be reached. Keys are dummies.
//   - tools: Claude Code and Codex get "treeline mcp" with the command of the README. The stand-in calls each of its tools, and what
//     these agents send back has the result. pi lists the tools.
//
// oh-my-pi runs on bun, which comes from npm too.
//
//	make interop
//	go run ./internal/interop -trees 1000 -folders 500 -seed 7
//	go run ./internal/interop -only lists
//	go run ./internal/interop -only resume -resumes 500 -seed 7 -keep DIR
//	go run ./internal/interop -only resume -scene abandoned -agent codex
//	go run ./internal/interop -only resume -fixtures 1000   # all of them
//	go run ./internal/interop -only resume FILE…   # these sessions instead of random ones
//	go run ./internal/interop -only resume -recorded DIR/*.jsonl   # a -keep folder, without the agents
//	go run ./internal/interop -installed DIR   # a folder for the packages, installed there once
//
// It fails if npm or node is missing: nothing was compared then.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

// options are the flags.
type options struct {
	trees, folders, contexts, queries, conversions int
	seed                                           uint64
	resumes, fixtures, parallel, shown             int
	installed, only, keep, agent, scene            string
	boxed, recorded                                bool
	files                                          []string
	work                                           string // a temporary folder
}

// plays reports whether a scene is one of -scene.
func (o options) plays(name string) bool {
	for begin := range strings.SplitSeq(o.scene, ",") {
		if strings.HasPrefix(name, begin) {
			return true
		}
	}
	return false
}

// errNothing says that nothing would be compared, or was.
var errNothing = errors.New("nothing is compared")

// check refuses flags that choose nothing. It is an errNothing if there is what they name, but not with the other flags.
func (o options) check() error {
	if o.only != "" && !slices.ContainsFunc(comparisons, func(c comparison) bool { return c.name == o.only }) {
		return fmt.Errorf("invalid -only %q: use trees, lists, contexts, conversions, history, resume or tools", o.only)
	}
	chosen := slices.DeleteFunc(slices.Clone(agents), func(a agent) bool { return !strings.HasPrefix(a.program.name, o.agent) })
	if len(chosen) == 0 {
		return fmt.Errorf("invalid -agent %q: no agent's name begins so", o.agent)
	}
	if o.only == "tools" && !slices.ContainsFunc(chosen, agent.callsTools) {
		return fmt.Errorf("%w: %s are not asked to call tools", errNothing, names(chosen))
	}
	if o.only != "" && o.only != "resume" {
		return nil
	}
	for name := range strings.SplitSeq(o.scene, ",") {
		one := o
		one.scene = name
		if found, err := anyScene(chosen, one); err != nil || found {
			if err != nil {
				return err
			}
			continue
		}
		if len(o.files) > 0 {
			return fmt.Errorf("%w: no file is a session of %s with a name that begins with %q", errNothing, names(chosen), name)
		}
		known, err := isScene(name)
		if err != nil {
			return err
		}
		if !known {
			return fmt.Errorf("invalid -scene %q: no session's name begins so", name)
		}
		return fmt.Errorf("%w: %s have no session whose name begins with %q, with these flags", errNothing, names(chosen), name)
	}
	return nil
}

// names are those of agents.
func names(list []agent) string {
	var all []string
	for _, a := range list {
		all = append(all, a.program.name)
	}
	return strings.Join(all, ", ")
}

// anyScene reports whether one of the agents has a session to resume.
func anyScene(list []agent, o options) (bool, error) {
	for _, a := range list {
		if scenes, err := a.scenes(o, io.Discard); err != nil || len(scenes) > 0 {
			return err == nil, err
		}
	}
	return false, nil
}

// isScene reports whether an agent has a session whose name begins so with other flags: with all fixtures, or with more random ones, which
// have numbers.
func isScene(begin string) (bool, error) {
	kind := strings.TrimRight(begin, "0123456789")
	for _, a := range agents {
		list, err := a.scenes(options{scene: kind, resumes: 4, conversions: 1, fixtures: math.MaxInt}, io.Discard)
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(list, func(s scene) bool {
			return strings.HasPrefix(s.name, begin) || strings.Trim(s.name[len(kind):], "0123456789") == ""
		}) {
			return true, nil
		}
	}
	return false, nil
}

// A comparison is one of those that the program makes.
type comparison struct {
	name string
	run  func(context.Context, options) error
}

// comparisons in the order in which they run.
var comparisons = []comparison{
	{"trees", compareTrees},
	{"lists", compareLists},
	{"contexts", compareContexts},
	{"conversions", compareConversions},
	{"history", compareHistory},
	{"resume", compareResume},
	{"tools", compareTools},
}

func main() {
	var opt options
	flag.IntVar(&opt.trees, "trees", 150, "how many random `trees` are written")
	flag.IntVar(&opt.folders, "folders", 20, "how many random `folders` are listed, for each agent")
	flag.IntVar(&opt.contexts, "contexts", 200, "how many random `sessions` are read, for each agent")
	flag.IntVar(&opt.queries, "queries", 300, "how many random `queries` are asked of a history")
	flag.IntVar(&opt.conversions, "conversions", 5, "how many random `conversations` are converted, for each agent")
	flag.Uint64Var(&opt.seed, "seed", 1, "the `seed` of the first tree and folder")
	flag.StringVar(&opt.installed, "installed", "", "a `folder` for the packages, which are installed if they are missing")
	flag.StringVar(&opt.only, "only", "", "make one `comparison` only: trees, lists, contexts, conversions, history, resume or tools")
	flag.IntVar(&opt.resumes, "resumes", 60, "how many random `sessions` are resumed, by each of Claude Code and Codex")
	flag.IntVar(&opt.fixtures, "fixtures", 40, "how many `sessions` of the dialects' tests are resumed, by each of Claude Code and Codex")
	flag.IntVar(&opt.parallel, "parallel", 2, "how many `programs` resume sessions at the same time")
	flag.StringVar(&opt.keep, "keep", "", "a `folder` for the sessions that were resumed, and what was sent")
	flag.StringVar(&opt.agent, "agent", "", "let only this `program` resume sessions: claude-code, codex, opencode, …")
	flag.StringVar(&opt.scene, "scene", "", "let them resume only the sessions whose `name` begins so, such as written or from-wave-3; commas separate several")
	flag.IntVar(&opt.shown, "shown", 20, "how many `differences` of each agent are printed")
	flag.BoolVar(&opt.recorded, "recorded", false, "compare the sessions of a -keep folder with what was sent then")
	flag.BoolVar(&opt.boxed, "boxed", false, "this process is in a network namespace already")
	flag.Parse()
	opt.files = flag.Args()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := opt.check(); err != nil {
		fmt.Fprintln(os.Stderr, "interop:", err)
		if errors.Is(err, errNothing) {
			os.Exit(1)
		}
		os.Exit(2) // as after a wrong flag
	}
	if err := run(ctx, opt); err != nil {
		fmt.Fprintln(os.Stderr, "interop:", err)
		os.Exit(1)
	}
}

// run keeps the packages in the temporary folder as well, unless -installed names another.
func run(ctx context.Context, opt options) (err error) {
	if opt.work, err = os.MkdirTemp("", "treeline-interop-"); err != nil {
		return err
	}
	defer os.RemoveAll(opt.work)
	for _, c := range comparisons {
		if opt.only != "" && opt.only != c.name {
			continue
		}
		if err := c.run(ctx, opt); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}
