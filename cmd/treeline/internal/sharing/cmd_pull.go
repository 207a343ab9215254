package sharing

import (
	"context"
	"fmt"
	"path"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/push"
	"github.com/treeline-dev/treeline/wire"
)

// Pull copies sessions from an archive.
func Pull(a *cli.App) *cobra.Command {
	var f copyFlags
	var opt push.PullOptions
	cmd := &cobra.Command{
		Use:        "pull <url>",
		SuggestFor: []string{"fetch", "download", "clone"},
		Short:      "Copy new sessions and entries from an archive to this machine",
		Long: "Copy sessions, and the images they refer to, from an archive: a server (https://…) or a database (postgres://…). Only\n" +
			"what is new is transferred.\n\n" +
			"Without --origin, the sessions of this machine go back to where they were, with what was written to them elsewhere.\n" +
			"Sessions of other machines go into treeline's own folder, where 'treeline ls' finds them, or with --into into another\n" +
			"one. Name a machine in full ('laptop-3f9a2c1b'), by its host alone, or by a pattern; '*' means all.\n\n" +
			"If a session was written here as well, it gets branches; in a format without branches, what was written elsewhere\n" +
			"becomes a separate session. Nothing is overwritten.\n\n" +
			"If push redacted secrets in a session of this machine, the copy is not pulled back to it. If the original is lost,\n" +
			"--redacted pulls the redacted copy in its place. Sessions without secrets are pulled back as they were.\n\n" +
			"A session that was removed here stays removed, unless --removed is given. With --deletions, sessions that were removed\n" +
			"in the archive go to the trash, unless they were changed here.",
		Example: "  treeline pull https://sessions.example\n  treeline pull --origin laptop https://sessions.example\n  treeline pull --origin '*' --into /backup https://sessions.example",
		Args:    cli.Args("<url>"),
		RunE: func(cmd *cobra.Command, given []string) (err error) {
			if opt.Filter, err = f.filter(a); err != nil {
				return err
			}
			for _, name := range opt.Origins {
				if _, err := path.Match(name, ""); err != nil {
					return cli.Misused("--origin %q: %w", name, err)
				}
			}
			if opt.Into != "" {
				if opt.Into, err = filepath.Abs(opt.Into); err != nil {
					return err
				}
			}
			opt.Deletions, opt.DryRun, opt.Workers = f.deletions, f.dry, f.jobs
			return pull(cmd.Context(), a, &f, given[0], opt)
		},
	}
	f.add(a, cmd, "pull")
	cmd.Flags().StringArrayVar(&opt.Origins, "origin", nil, "pull the sessions of the machine `NAME` instead of this one; can be repeated")
	cmd.Flags().StringVar(&opt.Into, "into", "", "put all sessions into the folder `DIR`")
	cmd.Flags().BoolVar(&opt.Removed, "removed", false, "pull sessions that were removed here, too")
	cmd.Flags().BoolVar(&opt.Redacted, "redacted", false, "pull the redacted copies of sessions that are lost on this machine")
	cmd.Flags().BoolVar(&f.deletions, "deletions", false, "move sessions that were removed in the archive to the trash")
	return cmd
}

func pull(ctx context.Context, a *cli.App, f *copyFlags, url string, opt push.PullOptions) error {
	s, err := a.WriteStore()
	if err == nil {
		err = f.checkSources(s)
	}
	if err != nil {
		return err
	}
	c := newCopying(a, f, "pulling", "pulled", url)
	opt.Event, opt.Progress = c.event, c.progress
	r, err := s.Pull(ctx, url, opt)
	err = c.end(r, false, err)
	if n := r.Logs[push.Absent]; n > 0 && err == nil && !a.JSON {
		a.Notice(wire.Count(n, "log was removed here, and stays removed", "logs were removed here, and stay removed") + "; --removed pulls what was removed")
	}
	if err == nil && len(r.Logs) == 0 && len(opt.Origins) == 0 {
		data := treeline.DataDir(a.Home(), a.Getenv)
		origin, err := treeline.Origin(data)
		if err != nil {
			return err
		}
		a.Notice(fmt.Sprintf("it has nothing of this machine, %s; --origin NAME pulls the sessions of another one, --origin '*' those of all. If this machine lost its name "+
			"with its disk, write the name into %s, and its sessions go back to where they were; 'treeline sources --store URL' lists the names",
			origin, filepath.Join(data, "origin")))
	}
	return err
}
