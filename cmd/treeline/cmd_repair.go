package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// repairCommand plans first and changes only with --apply. Only what is certain to be right is done: an orphan,
// for example, is not hung up anywhere unless --reattach is given, because nobody knows where it belongs. The exit
// code is 0 also where something was to be repaired: 'check' is the command to ask.
func (a *app) repairCommand() *cobra.Command {
	var (
		asJSON, apply bool
		opt           store.RepairOptions
	)
	cmd := &cobra.Command{
		Use:   "repair <session>",
		Short: "Mend a damaged session file",
		Long: "Say what is wrong with a session file and what would be done about it: records that share a line get lines of their own,\n" +
			"what was cut off or is no record moves to a file of its own (<name>.torn-<time>), entries that are their own ancestors\n" +
			"become roots, ids that stand twice are told apart where nothing names them. All else stays byte for byte.\n\n" +
			"--apply does it: the file is replaced at once, and stays as it was as <name>.repair-<time>.bak. Close the agent first." + sessionHelp,
		Example: "  treeline repair session.jsonl\n  treeline repair session.jsonl --apply",
		Args:    args("<session>"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			s, err := a.writeStore()
			if err != nil {
				return err
			}
			path, err := a.locate(ctx, s, args[0])
			if err != nil {
				return err
			}
			var plan *store.RepairPlan
			if apply {
				plan, err = s.Repair(ctx, path, opt, store.WriteOptions{})
			} else {
				plan, err = s.PlanRepair(ctx, path, opt)
			}
			// A file without a header is nothing to mend piece by piece; the way out is named, and it keeps the
			// old bytes.
			if errors.Is(err, store.ErrNotSession) {
				return fmt.Errorf("%w\nIt cannot be repaired; 'treeline append --replace-unreadable' begins a fresh session there and keeps it beside", openError(path, err))
			}
			if err != nil {
				return openError(path, err)
			}
			return a.printPlan(ctx, plan, asJSON)
		},
		ValidArgsFunction: a.completeSession,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&apply, "apply", false, "do it")
	cmd.Flags().BoolVar(&opt.Reattach, "reattach", false, "hang entries whose parent is missing onto the entry before them")
	return cmd
}

// planJSON is a repair, for programs.
// It is a stable format. Backup and Torn are null where nothing was written, which is always so without --apply.
type planJSON struct {
	File    string `json:"file"`
	Applied bool   `json:"applied"`
	// Backup is the file as it was, Torn what was taken out of it.
	Backup  *string      `json:"backup"`
	Torn    *string      `json:"torn"`
	Repairs []repairJSON `json:"repairs"`
}

// repairJSON is one repair. Change is false where nothing certain can be done and the line only tells.
type repairJSON struct {
	Line    int                 `json:"line"`
	Offset  int64               `json:"offset"`
	Kind    session.ProblemKind `json:"kind"`
	Entry   session.EntryID     `json:"entry,omitempty"`
	Problem string              `json:"problem"`
	Action  string              `json:"action"`
	Change  bool                `json:"change"`
}

// A repair is printed as the problem that it mends, with what is done about it in the place of the advice.
func (a *app) printPlan(ctx context.Context, p *store.RepairPlan, asJSON bool) error {
	width, _ := terminalWidth(a.stdout)
	return a.print(ctx, a.stdout, width, func(_ context.Context, out *output) error {
		if asJSON {
			j := planJSON{File: p.Path, Applied: p.Backup != "", Repairs: []repairJSON{}}
			if p.Backup != "" {
				j.Backup = &p.Backup
			}
			if p.Aside != "" {
				j.Torn = &p.Aside
			}
			for _, r := range p.Repairs {
				j.Repairs = append(j.Repairs, repairJSON(r))
			}
			return writeJSON(out, j)
		}
		for _, r := range p.Repairs {
			what := r.Problem
			if r.Entry != "" {
				what = "entry " + string(r.Entry) + ": " + what
			}
			problem := session.Problem{File: p.Path, Line: r.Line, Offset: r.Offset, Kind: r.Kind, Message: what, Advice: r.Action}
			if err := printProblem(out, nil, problem, false); err != nil {
				return err
			}
		}
		n := p.Changes()
		switch {
		case p.Backup != "":
			fmt.Fprintf(out, "%s done; the file as it was is %s\n", counted(n, "repair", "repairs"), screen.Clean(p.Backup))
			if p.Aside != "" {
				fmt.Fprintf(out, "what was taken out is in %s\n", screen.Clean(p.Aside))
			}
		case n > 0:
			fmt.Fprintf(out, "%s to do; nothing was changed yet: --apply does it\n", counted(n, "repair", "repairs"))
		case len(p.Repairs) > 0:
			fmt.Fprintln(out, "nothing can be done about it that is certain to be right")
		default:
			fmt.Fprintln(out, "nothing to repair")
		}
		return nil
	})
}
