package keeping

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/console"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/repair"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/wire"
)

// Repair plans a repair; with --apply, it changes the file. It makes only repairs that are certain to be right: an orphan remains one
// unless --reattach is given. The exit code is 0 even if there is something to repair.
func Repair(a *cli.App) *cobra.Command {
	var (
		apply bool
		opt   repair.Options
	)
	cmd := &cobra.Command{
		Use:        "repair <session>",
		SuggestFor: []string{"fix"},
		Short:      "Repair a damaged session file",
		Long: "Show what is wrong with a session file and how it would be repaired: records that share a line get lines of their own,\n" +
			"torn records and lines that are not records move to another file (<name>.torn-<time>), entries in a cycle become\n" +
			"roots, and duplicate ids that nothing refers to are made unique. Entries that the agent's program would not find are\n" +
			"linked again, and its leaf is set. Everything else stays byte for byte.\n\n" +
			"--apply replaces the file atomically and keeps the original as <name>.repair-<time>.bak. Entries that an agent appends\n" +
			"meanwhile are kept. Close an agent that has the file open first." + cli.SessionHelp,
		Example: "  treeline repair session.jsonl\n  treeline repair session.jsonl --apply",
		Args:    cli.Args("<session>"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			s, path, err := a.Target(ctx, args[0])
			if err != nil {
				return err
			}
			var plan *repair.Plan
			if apply {
				plan, err = s.Repair(ctx, path, opt)
			} else {
				plan, err = s.PlanRepair(ctx, path, opt)
			}
			if errors.Is(err, store.ErrNotSession) {
				return fmt.Errorf("%w\nIt cannot be repaired; 'treeline append --replace-unreadable' starts a new session there and keeps the old file next to it", cli.OpenError(path, err))
			}
			if err != nil {
				return cli.OpenError(path, err)
			}
			for _, e := range store.Late(path, plan.Late) {
				a.Tell(e, "they are kept")
			}
			return printPlan(a, plan, opt)
		},
		ValidArgsFunction: a.CompleteSession,
	}
	a.AddJSON(cmd)
	cmd.Flags().BoolVar(&apply, "apply", false, "repair the file")
	cli.AddForce(cmd, &opt.Force)
	cmd.Flags().BoolVar(&opt.Reattach, "reattach", false, "attach entries whose parent is missing to the entry before them")
	return cmd
}

// printPlan prints each repair as the problem that it solves, with the action instead of the advice.
func printPlan(a *cli.App, p *repair.Plan, opt repair.Options) error {
	return a.Print(func(out *console.Output) error {
		if a.JSON {
			return wire.Write(out, wire.NewPlan(p))
		}
		page := out.Page()
		for _, r := range p.Repairs {
			what := r.Problem
			if r.Entry != "" {
				what = "entry " + string(r.Entry) + ": " + what
			}
			if r.Kind == session.ProblemOrphan && !r.Change && !opt.Reattach {
				r.Action += "; --reattach makes the entry before it its parent"
			}
			page.Problem(session.Problem{File: p.Path, Line: r.Line, Offset: r.Offset, Kind: r.Kind, Message: what, Advice: r.Action})
		}
		n := p.Changes()
		switch {
		case p.Backup != "":
			fmt.Fprintf(out, "%s done; the original is %s\n", wire.Count(n, "repair", "repairs"), screen.Clean(p.Backup))
			if p.Aside != "" {
				fmt.Fprintf(out, "what was removed is in %s\n", screen.Clean(p.Aside))
			}
		case n > 0:
			fmt.Fprintf(out, "%s to do; nothing was changed. Use --apply to repair the file\n", wire.Count(n, "repair", "repairs"))
		case len(p.Repairs) > 0:
			fmt.Fprintln(out, "no repair is certain to be right; nothing to do")
		default:
			fmt.Fprintln(out, "nothing to repair")
		}
		return nil
	})
}
