package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/internal/screen"
	runlog "github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/session"
)

func sessionID(s string) session.ID { return session.ID(s) }

// runAuditCommand judges, while 'run show' only shows: its exit code is for CI jobs. Several runs are printed one
// after the other; with --json each report is a line of its own, as soon as it is made.
func (a *app) runAuditCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "audit <run>…",
		Short: "Tell whether a run makes sense, and what it took",
		Long: "Look whether requests and responses, tool calls and outputs come in pairs and in order, whether the events do, and whether\n" +
			"the run has an end; and count tokens. The exit code is 1 where there is any fault. What is only worth knowing, such as a\n" +
			"request without a response in a run that failed, is a note." + runHelp,
		Example: "  treeline run audit @last\n  treeline run audit ~/.codelia/sessions/2026/02/03/*.jsonl --json | jq .tokens.total",
		Args: func(cmd *cobra.Command, given []string) error {
			if len(given) == 0 {
				return usageError{errors.New("<run> is missing"), cmd}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, given []string) error {
			faults := 0
			err := a.print(cmd.Context(), a.stdout, 0, func(ctx context.Context, out *output) error {
				for i, ref := range given {
					report, err := a.auditOne(ctx, ref)
					if err != nil {
						return err
					}
					faults += report.Faults()
					if asJSON {
						err = writeJSON(out, report)
					} else {
						if i > 0 {
							fmt.Fprintln(out)
						}
						err = printReport(out, report)
					}
					if err != nil {
						return err
					}
				}
				return nil
			})
			// All was printed already: the report is the message.
			if err == nil && faults > 0 {
				err = quietError{errors.New("there are faults")}
			}
			return err
		},
		ValidArgsFunction: a.completeRun,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) auditOne(ctx context.Context, ref string) (*runlog.Report, error) {
	r, err := a.openRun(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return runlog.Audit(r.Log)
}

// printReport prints for people: what it was, what it took, what is wrong with it. Damage of the file counts as a
// fault, since a run that cannot be read in full cannot be trusted in part.
func printReport(out *output, r *runlog.Report) error {
	st := out.style
	words := []string{"run " + r.RunID, r.Outcome}
	if r.SessionID != "" {
		words = append(words, "session "+r.SessionID)
	}
	words = append(words, strconv.FormatFloat(r.Seconds, 'f', 1, 64)+" s")
	fmt.Fprintln(out, st.bold(screen.OneLine(strings.Join(words, " · "), 0)))
	fmt.Fprintf(out, "%s, %s, %s, %s (%d failed), %s\n", counted(r.Requests, "request", "requests"), counted(r.Responses, "response", "responses"),
		counted(r.ToolCalls, "tool call", "tool calls"), counted(r.ToolOutputs, "output", "outputs"), r.ToolErrors, counted(r.Events, "event", "events"))
	// The sum over all models stands last, and is left out where there is one model only.
	for _, t := range append(r.Models, r.Tokens) {
		if t.Model == "" && (len(r.Models) == 1 || t.Responses == 0) {
			continue
		}
		cached := ""
		if t.Cached > 0 {
			cached = " (" + grouped(t.Cached) + " cached)"
		}
		fmt.Fprintf(out, "tokens of %s: %s in%s, %s out, %s in all\n", orElse(screen.OneLine(t.Model, 60), "all models"),
			grouped(t.Input), cached, grouped(t.Output), grouped(t.Total))
	}
	for _, p := range r.Problems {
		fmt.Fprintf(out, "%s %s: %s\n", st.red("fault"), p.Kind, screen.OneLine(p.String(), 0))
	}
	notes := 0
	for _, f := range r.Findings {
		what := st.red("fault")
		if f.Note {
			what = st.dim("note")
			notes++
		}
		where := ""
		if f.Line > 0 {
			where = fmt.Sprintf("line %d: ", f.Line)
		}
		fmt.Fprintf(out, "%s %s: %s%s\n", what, f.Kind, where, screen.OneLine(f.Message, 0))
	}
	_, err := fmt.Fprintf(out, "%s, %s\n", counted(r.Faults(), "fault", "faults"), counted(notes, "note", "notes"))
	return err
}

// runDiffCommand compares by what was done, not by bytes: its use is to see where an agent took another way. Like
// diff(1) it exits with 1 where there is a difference, and with 1 where it could not compare; stderr tells the two
// apart.
func (a *app) runDiffCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "diff <run> <run>",
		Short: "Compare two runs step by step",
		Long: "Compare what two runs were asked, each request, response, tool call and output, and how they ended. Times, and ids that are\n" +
			"made anew in each run, do not count. The exit code is 1 where they differ." + runHelp,
		Example: "  treeline run diff 8f1d7b7a @last",
		Args:    args("<run>", "<run>"),
		RunE: func(cmd *cobra.Command, given []string) error {
			x, err := a.openRun(cmd.Context(), given[0])
			if err != nil {
				return err
			}
			defer x.Close()
			y, err := a.openRun(cmd.Context(), given[1])
			if err != nil {
				return err
			}
			defer y.Close()
			steps, err := runlog.Diff(x.Log, y.Log)
			if err != nil {
				return err
			}
			first, differ := runlog.FirstDifference(steps)
			err = a.print(cmd.Context(), a.stdout, 0, func(_ context.Context, out *output) error {
				if asJSON {
					j := diffJSON{A: x.Header.RunID, B: y.Header.RunID, Equal: !differ, Steps: steps}
					if differ {
						j.First = &first
					}
					return writeJSON(out, j)
				}
				printSteps(out, steps, first, differ)
				return nil
			})
			if err == nil && differ {
				err = quietError{errors.New("the runs differ")}
			}
			return err
		},
		ValidArgsFunction: a.completeRun,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// diffJSON is a stable format: firstDifference is null where the runs are equal, and steps has the equal ones,
// too.
type diffJSON struct {
	A     string        `json:"a"`
	B     string        `json:"b"`
	Equal bool          `json:"equal"`
	First *runlog.Step  `json:"firstDifference"`
	Steps []runlog.Step `json:"steps"`
}

// printSteps repeats the first difference at the end: what follows from it may be pages long.
func printSteps(out *output, steps []runlog.Step, first runlog.Step, differ bool) {
	st := out.style
	for _, s := range steps {
		if s.Difference == nil {
			fmt.Fprintln(out, st.dim("= "+s.Name))
			continue
		}
		fmt.Fprintln(out, st.red("≠ "+s.Name)+"  "+screen.OneLine(stepText(s), 0))
	}
	if !differ {
		fmt.Fprintln(out, "the runs are equal")
		return
	}
	fmt.Fprintln(out, screen.OneLine(fmt.Sprintf("first difference: %s, %s", first.Name, stepText(first)), 0))
}

// stepText does not show what only one run has: it may be a whole request. The line says where it is.
func stepText(s runlog.Step) string {
	switch {
	case s.LineB == 0 && s.LineA > 0 && s.Difference.Pointer == "":
		return fmt.Sprintf("only the first run has it (line %d)", s.LineA)
	case s.LineA == 0 && s.LineB > 0 && s.Difference.Pointer == "":
		return fmt.Sprintf("only the second run has it (line %d)", s.LineB)
	}
	return s.Difference.Describe("first", "second")
}
