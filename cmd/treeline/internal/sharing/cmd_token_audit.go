package sharing

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/access"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/console"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/wire"
)

// tokenAuditCommand lists the audit log, the newest first.
func tokenAuditCommand(a *cli.App) *cobra.Command {
	var (
		q       access.Query
		refused bool
		span    cli.SpanFlags
		limit   cli.LimitFlag
	)
	cmd := &cobra.Command{
		Use:        "audit",
		SuggestFor: []string{"log"},
		Short:      "List what was written with tokens, and what was refused",
		Long: "List the audit log of the archive, newest first: every write that went through a server, with its token, user, machine\n" +
			"and session, and every request that was refused. Identical ones of the same second are one line with a count.",
		Example: "  treeline token audit --since 7d --store postgres://host/db\n  treeline token audit --refused --store postgres://host/db",
		Args:    cli.Args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if q.Since, q.Until, err = span.Parse(a.Now()); err != nil {
				return err
			}
			if refused {
				q.Outcome = access.Refused
			}
			most, err := limit.Most(a, cmd)
			if err != nil {
				return err
			}
			b, err := a.Book()
			if err != nil {
				return err
			}
			if most > 0 {
				q.Limit = most + 1 // to learn whether there are more
			}
			list, err := b.Records(cmd.Context(), q)
			if err != nil {
				return err
			}
			return printAudit(cmd.Context(), a, list, most, limit.Given)
		},
	}
	cmd.Flags().StringVar(&q.Token, "token", "", "only what was done with the token `NAME`")
	cmd.Flags().StringVar(&q.User, "user", "", "only what the user `NAME` did")
	cmd.Flags().BoolVar(&refused, "refused", false, "only what was refused")
	span.Add(cmd, "only what happened", "only what happened")
	limit.Add(cmd, "records")
	bookFlag(a, cmd)
	return cmd
}

func printAudit(ctx context.Context, a *cli.App, list []access.Record, most int, page bool) error {
	err := a.PageLong(ctx, page, func(out *console.Output) error {
		shown := cli.First(list, most)
		if a.JSON {
			return wire.WriteList(out, len(shown), func(i int) (wire.AuditRecord, error) { return wire.NewAuditRecord(shown[i]), nil })
		}
		if len(shown) == 0 {
			return nil
		}
		st := out.Style
		t := console.Table{
			{Name: "WHEN", Mark: st.Cyan}, {Name: "TOKEN", Mark: st.Yellow}, {Name: "WHO", Drop: 4}, {Name: "FROM", Drop: 1},
			{Name: "WHAT", Least: 8}, {Name: "OUTCOME", Least: 10}, {Name: "PROJECT", Path: true, Least: console.LeastProject, Drop: 2},
			{Name: "TARGET", Path: true, Least: 16, Drop: 3},
		}
		for i := range shown {
			r := &shown[i]
			what := r.Action
			if r.Count > 1 {
				what = fmt.Sprintf("%s ×%d", what, r.Count)
			}
			outcome := string(r.Outcome)
			if r.Reason != "" {
				outcome += ": " + r.Reason
			}
			t.Add(out.When(r.Time), console.Dash(screen.OneLine(r.Token, 0)), console.Dash(strings.TrimSpace(screen.OneLine(r.User+at(r.Machine), 0))), console.Dash(screen.OneLine(r.Address, 0)),
				screen.OneLine(what, 0), screen.OneLine(outcome, 80), console.Dash(screen.OneLine(r.Project, 0)), console.Dash(screen.OneLine(r.Target, 0)))
		}
		t.Write(out)
		out.Summary(len(shown), len(shown), len(list) > len(shown), "record", "records")
		return nil
	})
	if err == nil && len(list) == 0 {
		a.Notice("the audit log has no such records")
	}
	return err
}
