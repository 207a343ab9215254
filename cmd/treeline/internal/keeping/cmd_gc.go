package keeping

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/console"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/trash"
	"github.com/treeline-dev/treeline/wire"
)

// GC removes blobs only with --apply. An unseen reference would mean a lost image, so anything that cannot be read, or is no longer where
// it was, stops it. The exit code is then 1, even if there is nothing to remove.
func GC(a *cli.App) *cobra.Command {
	var opt trash.GCOptions
	cmd := &cobra.Command{
		Use:        "gc",
		SuggestFor: []string{"prune", "clean"},
		Short:      "Remove images and long texts that no session refers to",
		Long: "Find unreferenced blobs (images, and texts that are too long for a session) and temporary files left by a crash.\n" +
			"Nothing is removed without --apply, and nothing younger than an hour. Blobs stay in the trash for 30 days; if a\n" +
			"session refers to one again, the next gc --apply restores it.\n\n" +
			"References count wherever they are: in the sessions of all agents, their backups and torn records, run logs, the\n" +
			"trash, the places in the settings, and every folder to which treeline ever wrote a session. If one of these cannot be\n" +
			"read, or has none of the sessions it had (a disk may not be mounted), nothing is removed. --forget gives up such a\n" +
			"place.",
		Example: "  treeline gc\n  treeline gc --apply\n  treeline gc --forget /media/old/sessions",
		Args:    cli.Args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.WriteStore()
			if err != nil {
				return err
			}
			report, err := s.GC(cmd.Context(), opt)
			if err != nil {
				return err
			}
			return printGC(a, report)
		},
	}
	a.AddJSON(cmd)
	cmd.Flags().BoolVar(&opt.Apply, "apply", false, "remove them")
	cmd.Flags().StringArrayVar(&opt.Forget, "forget", nil, "the `PLACE` with sessions is gone for good; can be repeated")
	return cmd
}

func printGC(a *cli.App, r trash.GCReport) error {
	j := wire.NewGC(r)
	err := a.Print(func(out *console.Output) error {
		if a.JSON {
			return wire.Write(out, j)
		}
		for _, b := range r.Unused {
			fmt.Fprintf(out, "%s  %s\n", screen.Pad(wire.Size(b.Size), 8, true), screen.Clean(b.Path))
		}
		done, back := "would be moved to the trash", "would be put back from the trash"
		if r.Applied {
			done, back = "moved to the trash for 30 days", "put back from the trash"
		}
		if r.Restored > 0 {
			fmt.Fprintf(out, "%s %s, since a session refers to them again\n", wire.Count(r.Restored, "blob", "blobs"), back)
		}
		fmt.Fprintf(out, "%s (%s) and %s %s; %s in use, %s too young; references counted in %s of %s\n",
			wire.Count(len(r.Unused), "blob", "blobs"), wire.Size(j.Size), wire.Count(r.Leftovers, "temporary file", "temporary files"), done,
			wire.Count(r.Used, "blob", "blobs"), wire.Count(r.Young, "blob", "blobs"),
			wire.Count(r.Files, "file", "files"), wire.Count(len(r.Folders), "folder", "folders"))
		return nil
	})
	if err != nil {
		return err
	}
	for _, o := range r.Obstacles {
		a.Notice(cli.OncePath(o).Error())
	}
	switch {
	case len(r.Missing) > 0:
		return fmt.Errorf("nothing was removed: a place that is missing may hold references; use --forget %s if it is gone for good", screen.Clean(r.Missing[0]))
	case len(r.Unread) > 0:
		return fmt.Errorf("nothing was removed: what cannot be read may hold references; use --forget %s if its sessions are not needed", screen.Clean(r.Unread[0]))
	case len(r.Obstacles) > 0:
		return errors.New("nothing was removed: what cannot be read may hold references")
	case !r.Applied && len(r.Unused)+r.Leftovers > 0:
		a.Notice("nothing was removed; use --apply to remove them")
	}
	return nil
}
