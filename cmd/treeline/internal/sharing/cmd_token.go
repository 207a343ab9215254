package sharing

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/access"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/console"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/wire"
)

// Token groups the commands for the tokens of a server. They need access to the database itself: no token allows a client to create others.
func Token(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:        "token",
		SuggestFor: []string{"user", "users", "grant", "access"},
		Short:      "Manage access to the server of an archive",
		Long: "The tokens of 'treeline serve --store postgres://…' are kept in the database, as hashes. Each belongs to a user, can\n" +
			"read or also write, and may be limited to projects and in time. These commands need the URL of the database: a token\n" +
			"cannot create others.",
		Example: "  treeline token add ann-laptop --user ann --write --project '/home/ann/work/**' --store postgres://host/db\n" +
			"  treeline token ls --store postgres://host/db",
	}
	cli.GroupOnly(cmd)
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(tokenAddCommand(a), tokenLsCommand(a), tokenRevokeCommand(a), tokenAuditCommand(a))
	return cmd
}

// bookFlag adds --store to these commands.
func bookFlag(a *cli.App, cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.Archive, "store", "", "the `URL` of the archive's database, such as postgres://host/db")
	a.AddJSON(cmd)
}

func tokenAddCommand(a *cli.App) *cobra.Command {
	var g access.Grant
	var expires string
	cmd := &cobra.Command{
		Use:        "add <name>",
		SuggestFor: []string{"new", "create", "make"},
		Short:      "Create a token",
		Long: "Create a token and print it. It is shown only once: the database keeps its hash. Browsers log in with it; programs\n" +
			"send it as 'Authorization: Bearer TOKEN', and treeline reads it from the variable " + cli.TokenVariable + ".\n\n" +
			"--project limits it to the sessions of some working directories; in a pattern, * matches any name and ** any number of\n" +
			"names. A token without --project is valid for all sessions.",
		Example: "  treeline token add ann-laptop --user ann --machine laptop --write --store postgres://host/db\n" +
			"  treeline token add viewer --project '/home/*/work/**' --project 'C:\\work\\**' --expires 90d --store postgres://host/db",
		Args: cli.Args("<name>"),
		RunE: func(cmd *cobra.Command, given []string) error {
			g.Name, g.Created = given[0], a.Now().UTC()
			if expires != "" {
				until, err := expiry(expires, a.Now())
				if err != nil {
					return err
				}
				g.Expires = until.UTC()
			}
			if err := g.Validate(); err != nil {
				return cli.Misused("%w", err)
			}
			b, err := a.Book()
			if err != nil {
				return err
			}
			return addToken(cmd.Context(), a, b, g)
		},
	}
	cmd.Flags().StringVar(&g.User, "user", "", "the `NAME` of its user")
	cmd.Flags().StringVar(&g.Machine, "machine", "", "the `NAME` of the machine where it is used")
	cmd.Flags().BoolVar(&g.Write, "write", false, "allow writing, not only reading")
	cmd.Flags().StringArrayVar(&g.Projects, "project", nil, "only sessions whose directory matches `PATTERN`; can be repeated")
	cmd.Flags().StringVar(&expires, "expires", "", "valid until `WHEN`: a date (2026-11-01), a time (RFC 3339) or from now (90d, 12h)")
	bookFlag(a, cmd)
	return cmd
}

// expiry parses when a token expires: a time, or a duration from now. A date includes the whole day.
func expiry(text string, now time.Time) (time.Time, error) {
	until, err := wire.ParseWhen(text, now, true)
	if age, e := wire.ParseAge(text); e == nil {
		until = now.Add(age)
	}
	switch {
	case err != nil:
		return until, cli.Invalid("expires", text, "a date like 2026-11-01, a time like 2026-11-01T12:00:00Z or how long it is good, like 90d or 12h")
	case !until.After(now):
		return until, cli.Misused("--expires %s: the token would already be expired", text)
	}
	return until, nil
}

func addToken(ctx context.Context, a *cli.App, b access.Book, g access.Grant) error {
	token, err := access.NewToken(rand.Reader)
	if err != nil {
		return err
	}
	if err := b.Add(ctx, g, access.KeysOf(token)); err != nil {
		return err
	}
	j := wire.NewToken(g)
	j.Token = token
	if err := a.Say(j, token); err != nil {
		return err
	}
	if !a.JSON {
		fmt.Fprintf(a.Stderr, "%s\n", screen.Clean(fmt.Sprintf("%s: %s; it is shown only now", g.Name, allows(&g))))
	}
	return nil
}

// allows describes what a token allows.
func allows(g *access.Grant) string {
	words := []string{"reads"}
	if g.Write {
		words[0] = "reads and writes"
	}
	if len(g.Projects) > 0 {
		words[0] += " " + strings.Join(g.Projects, " and ")
	} else {
		words[0] += " everything"
	}
	if g.User != "" || g.Machine != "" {
		words = append(words, "for "+g.User+at(g.Machine))
	}
	if !g.Expires.IsZero() {
		words = append(words, "until "+g.Expires.Local().Format("2006-01-02 15:04"))
	}
	return strings.Join(words, ", ")
}

// at returns the machine as it is shown after a user.
func at(machine string) string {
	if machine == "" {
		return ""
	}
	return "@" + machine
}

func tokenLsCommand(a *cli.App) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		Short:   "List tokens",
		Long: "List the tokens and what they allow. The tokens themselves are not stored, so they cannot be shown. --all also lists\n" +
			"revoked ones. The time of the last use is exact to a minute.",
		Example: "  treeline token ls --store postgres://host/db\n  treeline token ls --json --store postgres://host/db | jq -r '.[].name'",
		Args:    cli.Args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := a.Book()
			if err != nil {
				return err
			}
			list, err := b.List(cmd.Context())
			if err != nil {
				return err
			}
			if !all {
				list = slices.DeleteFunc(list, func(g access.Grant) bool { return !g.Revoked.IsZero() })
			}
			return printTokens(cmd.Context(), a, list)
		},
	}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "also list revoked tokens")
	bookFlag(a, cmd)
	return cmd
}

func printTokens(ctx context.Context, a *cli.App, list []access.Grant) error {
	err := a.PageLong(ctx, false, func(out *console.Output) error {
		if a.JSON {
			return wire.WriteList(out, len(list), func(i int) (wire.Token, error) { return wire.NewToken(list[i]), nil })
		}
		if len(list) == 0 {
			return nil
		}
		st := out.Style
		t := console.Table{
			{Name: "NAME", Mark: st.Yellow}, {Name: "USER", Drop: 5}, {Name: "MACHINE", Drop: 2}, {Name: "MAY"},
			{Name: "PROJECTS", Least: 12, Drop: 4}, {Name: "GOOD"}, {Name: "USED", Mark: st.Cyan, Drop: 3},
		}
		for i := range list {
			g := &list[i]
			may := "read"
			if g.Write {
				may = "write"
			}
			t.Add(screen.OneLine(g.Name, 0), console.Dash(screen.OneLine(g.User, 0)), console.Dash(screen.OneLine(g.Machine, 0)), may,
				cmp.Or(screen.OneLine(strings.Join(g.Projects, " "), 0), "all"), good(g, a.Now()), moment(out, g.Used))
		}
		t.Write(out)
		out.Summary(len(list), len(list), false, "token", "tokens")
		return nil
	})
	if err == nil && len(list) == 0 {
		a.Notice("there are no tokens; 'treeline token add' creates one")
	}
	return err
}

// moment formats a time for a table.
func moment(out *console.Output, t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return out.When(t)
}

// good describes how long a token is valid.
func good(g *access.Grant, now time.Time) string {
	switch {
	case !g.Revoked.IsZero():
		return "revoked " + g.Revoked.Local().Format("2006-01-02")
	case g.Expires.IsZero():
		return "always"
	case g.Check(now) != nil:
		return "expired " + g.Expires.Local().Format("2006-01-02")
	}
	return "until " + g.Expires.Local().Format("2006-01-02")
}

func tokenRevokeCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:        "revoke <name>…",
		SuggestFor: []string{"rm", "remove", "delete", "disable"},
		Short:      "Revoke tokens",
		Long: "Revoke tokens. A running server notices within five seconds. What was written with them stays, and so do their names\n" +
			"in the audit log. A new token may have the name of a revoked one.",
		Example: "  treeline token revoke ann-laptop --store postgres://host/db",
		Args:    cli.Args("<name>…"),
		RunE: func(cmd *cobra.Command, names []string) error {
			b, err := a.Book()
			if err != nil {
				return err
			}
			for _, name := range names {
				g, err := b.Revoke(cmd.Context(), name, a.Now().UTC())
				if err != nil {
					return err
				}
				if err := a.Say(wire.NewToken(g), g.Name+" is revoked"); err != nil {
					return err
				}
			}
			return nil
		},
	}
	bookFlag(a, cmd)
	return cmd
}
