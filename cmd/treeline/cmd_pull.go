package main

import (
	"context"
	"path"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/push"
)

// pullCommand copies sessions from an archive.
func (a *app) pullCommand() *cobra.Command {
	var f copyFlags
	var opt push.PullOptions
	cmd := &cobra.Command{
		Use:        "pull <url>",
		SuggestFor: []string{"fetch", "download", "clone"},
		Short:      "Copy what is new in an archive to this machine",
		Long: "Copy sessions from an archive, a server (https://…) or a database (postgres://…), and the images that they refer to. Only what is\n" +
			"new travels.\n\n" +
			"Without --origin it is the sessions of this machine: they go back to where they were, with what was written to them elsewhere. Those\n" +
			"of other machines go into a folder of treeline's own, where 'treeline ls' finds them, or with --into into another one. A machine is\n" +
			"named as in 'laptop-3f9a2c1b', by its host alone, or by a pattern; '*' is all.\n\n" +
			"A session that was written here, too, gets branches, or where its format has none what was written elsewhere becomes a session of\n" +
			"its own. Nothing is overwritten. A copy without secrets is not pulled back to the machine that it comes from.\n\n" +
			"A session that was removed here stays removed. With --deletions sessions that were removed in the archive go to the trash, unless\n" +
			"they were changed here.",
		Example: "  treeline pull https://sessions.example\n  treeline pull --origin laptop https://sessions.example\n  treeline pull --origin '*' --into /backup https://sessions.example",
		Args:    args("<url>"),
		RunE: func(cmd *cobra.Command, given []string) (err error) {
			if opt.Filter, err = f.filter(a, cmd); err != nil {
				return err
			}
			for _, name := range opt.Origins {
				if _, err := path.Match(name, ""); err != nil {
					return misused("--origin %q: %w", name, err)
				}
			}
			if opt.Into != "" {
				if opt.Into, err = filepath.Abs(opt.Into); err != nil {
					return err
				}
			}
			opt.Deletions, opt.DryRun, opt.Workers = f.deletions, f.dry, f.jobs
			return a.pull(cmd.Context(), &f, given[0], opt)
		},
	}
	f.add(a, cmd, "pull")
	cmd.Flags().StringArrayVar(&opt.Origins, "origin", nil, "pull the sessions of the machine `NAME` instead of this one's; may be repeated")
	cmd.Flags().StringVar(&opt.Into, "into", "", "put all sessions into the folder `DIR`")
	cmd.Flags().BoolVar(&f.deletions, "deletions", false, "move sessions to the trash that were removed in the archive")
	return cmd
}

func (a *app) pull(ctx context.Context, f *copyFlags, url string, opt push.PullOptions) error {
	s, err := a.writeStore()
	if err == nil {
		err = f.checkSources(s)
	}
	if err != nil {
		return err
	}
	c := a.newCopying(f, "pulling", "pulled", url)
	opt.Event, opt.Progress = c.event, c.progress
	r, err := s.Pull(ctx, url, opt)
	return c.end(r, false, err)
}
