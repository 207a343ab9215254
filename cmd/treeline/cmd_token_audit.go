package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/access"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/wire"
)

// tokenAuditCommand lists the audit log, the newest first.
func (a *app) tokenAuditCommand() *cobra.Command {
	var (
		q       access.Query
		refused bool
		span    spanFlags
		limit   limitFlag
	)
	cmd := &cobra.Command{
		Use:        "audit",
		SuggestFor: []string{"log"},
		Short:      "List what was written with tokens, and what was refused",
		Long: "List the audit log of the archive, newest first: every write that went through a server, with its token, user, machine\n" +
			"and session, and every request that was refused. Identical ones of the same second are one line with a count.",
		Example: "  treeline token audit --since 7d --store postgres://host/db\n  treeline token audit --refused --store postgres://host/db",
		Args:    args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if q.Since, q.Until, err = span.parse(a.now()); err != nil {
				return err
			}
			if refused {
				q.Outcome = access.Refused
			}
			most, err := limit.most(a, cmd)
			if err != nil {
				return err
			}
			b, err := a.book()
			if err != nil {
				return err
			}
			if most > 0 {
				q.Limit = most + 1 // to know whether there are more
			}
			list, err := b.Records(cmd.Context(), q)
			if err != nil {
				return err
			}
			return a.printAudit(cmd.Context(), list, most, limit.given)
		},
	}
	cmd.Flags().StringVar(&q.Token, "token", "", "only what was done with the token `NAME`")
	cmd.Flags().StringVar(&q.User, "user", "", "only what the user `NAME` did")
	cmd.Flags().BoolVar(&refused, "refused", false, "only what was refused")
	span.add(cmd, "only what happened", "only what happened")
	limit.add(cmd, "records")
	a.bookFlag(cmd)
	return cmd
}

func (a *app) printAudit(ctx context.Context, list []access.Record, most int, page bool) error {
	err := a.pageLong(ctx, page, func(out *output) error {
		shown := cut(list, most)
		if a.json {
			return wire.WriteList(out, len(shown), func(i int) (wire.AuditRecord, error) { return wire.NewAuditRecord(shown[i]), nil })
		}
		if len(shown) == 0 {
			return nil
		}
		st := out.style
		t := table{
			{name: "WHEN", mark: st.cyan}, {name: "TOKEN", mark: st.yellow}, {name: "WHO", mark: same, drop: 4}, {name: "FROM", mark: same, drop: 1},
			{name: "WHAT", mark: same, least: 8}, {name: "OUTCOME", mark: same, least: 10}, {name: "PROJECT", path: true, mark: same, least: leastProject, drop: 2},
			{name: "TARGET", path: true, mark: same, least: 16, drop: 3},
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
			t.add(out.when(r.Time), dash(screen.OneLine(r.Token, 0)), dash(strings.TrimSpace(screen.OneLine(r.User+at(r.Machine), 0))), dash(screen.OneLine(r.Address, 0)),
				screen.OneLine(what, 0), screen.OneLine(outcome, 80), dash(screen.OneLine(r.Project, 0)), dash(screen.OneLine(r.Target, 0)))
		}
		t.write(out)
		out.summary(len(shown), len(shown), len(list) > len(shown), "record", "records")
		return nil
	})
	if err == nil && len(list) == 0 {
		a.notice("the audit log has no such records")
	}
	return err
}
