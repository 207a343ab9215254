package sharing

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/push"
)

// pushFlags are the flags of push.
type pushFlags struct {
	copyFlags
	redact, noRedact bool
	watch, install   bool
}

// Push copies sessions to an archive.
func Push(a *cli.App) *cobra.Command {
	var f pushFlags
	cmd := &cobra.Command{
		Use:        "push <url>",
		SuggestFor: []string{"sync", "upload", "backup", "mirror"},
		Short:      "Copy new sessions and entries of this machine to an archive",
		Long: "Copy the sessions of all agents, and the images they refer to, to an archive: a server (https://…) or a database\n" +
			"(postgres://…). Only what is new is transferred, and an interrupted push continues where it stopped. Logs are stored\n" +
			"under the name of this machine.\n\n" +
			"Unless the archive is on this machine, keys, tokens and passwords are redacted first, by the rules of 'treeline\n" +
			"export'. Each record is redacted on its own; images are copied as they are. --no-redact copies logs byte for byte,\n" +
			"--redact always redacts. If secrets were redacted in a session, only 'pull --redacted' brings it back to this machine.\n" +
			"Nothing finds every secret.\n\n" +
			"All sessions are shared, or with --project those of some projects. The server's tokens decide what others can see.\n\n" +
			"If a session was also written in the archive, it gets branches; in a format without branches, what was written there\n" +
			"becomes a separate session. Nothing is overwritten. Sessions that were removed here stay in the archive unless\n" +
			"--deletions is given.\n\n" +
			"--watch keeps pushing what is written, until Ctrl-C. --install writes a service for that (systemd, launchd), and says\n" +
			"how to start and remove it.",
		Example: "  treeline push https://sessions.example\n  treeline push --dry-run -v https://sessions.example\n" +
			"  treeline push --project ~/work --since 7d https://sessions.example\n  treeline push --watch --install https://sessions.example",
		Args:              cli.Args("<url>"),
		ValidArgsFunction: a.CompleteURL,
		RunE: func(cmd *cobra.Command, given []string) error {
			filter, err := f.filter(a)
			if err == nil {
				err = f.check()
			}
			if err != nil {
				return err
			}
			if f.install {
				return installPush(a, &f, given[0])
			}
			redact := f.redact || !f.noRedact && !push.Local(given[0], a.Getenv)
			return pushOnce(cmd.Context(), a, &f, given[0], push.PushOptions{
				Filter: filter, Redact: redact, Deletions: f.deletions, DryRun: f.dry, Workers: f.jobs,
			})
		},
	}
	f.add(a, cmd, "push")
	cmd.Flags().BoolVar(&f.deletions, "deletions", false, "remove sessions that were removed here from the archive")
	cmd.Flags().BoolVar(&f.redact, "redact", false, "redact secrets even if the archive is on this machine")
	cmd.Flags().BoolVar(&f.noRedact, "no-redact", false, "do not redact secrets")
	cmd.Flags().BoolVar(&f.watch, "watch", false, "keep pushing what is written")
	cmd.Flags().BoolVar(&f.install, "install", false, "only write a service that runs push --watch")
	return cmd
}

func (f *pushFlags) check() error {
	switch {
	case f.redact && f.noRedact:
		return cli.Misused("--redact and --no-redact cannot be combined")
	case f.install && !f.watch:
		return cli.Misused("--install needs --watch")
	case f.watch && f.dry:
		return cli.Misused("--watch and --dry-run cannot be combined")
	case f.watch && f.since != "":
		return cli.Misused("--watch and --since cannot be combined")
	}
	return nil
}

// pushOnce pushes once, or with --watch until it is interrupted.
func pushOnce(ctx context.Context, a *cli.App, f *pushFlags, url string, opt push.PushOptions) error {
	s, err := a.WriteStore()
	if err == nil {
		err = f.checkSources(s)
	}
	if err != nil {
		return err
	}
	c := newCopying(a, &f.copyFlags, "pushing", "pushed", url)
	if opt.Redact {
		c.begin = "secrets are replaced before sessions leave this machine; --no-redact copies them exactly"
	}
	opt.Event, opt.Progress = c.event, c.progress
	if !f.watch {
		r, err := s.Push(ctx, url, opt)
		return c.end(r, opt.Redact, err)
	}
	if !a.JSON {
		a.Notice(fmt.Sprintf("watching; what is written goes to %s", c.archive))
	}
	a.Endless.Store(true)
	err = s.PushWatching(ctx, url, opt, func(r push.Report, err error) {
		if err != nil {
			a.Notice(fmt.Sprintf("%v; trying again", err))
			return
		}
		_ = c.end(r, opt.Redact, nil) // it has reported the problems, and goes on
		*c = *newCopying(a, &f.copyFlags, "pushing", "pushed", url)
	})
	c.show.Clear()
	return err
}
