package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/store"
)

// gcCommand finds first and removes only with --apply: what it takes for garbage is gone for good, and a reference
// that it does not see would be a picture lost. So anything that it cannot read stops it, and the exit code is
// then 1 even if nothing was to be removed.
func (a *app) gcCommand() *cobra.Command {
	var (
		asJSON bool
		opt    store.GCOptions
	)
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Remove pictures and texts that no session refers to",
		Long: "Find blobs (pictures, and texts that were too long for a session) that nothing refers to, and files that a crash left\n" +
			"half-made. Nothing is removed without --apply, and nothing that is younger than an hour.\n\n" +
			"A reference counts wherever it stands: in sessions of all agents, in their backups and in what was torn off them, in the trash,\n" +
			"and in every folder that treeline ever wrote a session to. Where anything of that cannot be read nothing is removed.",
		Example: "  treeline gc\n  treeline gc --apply",
		Args:    args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.writeStore()
			if err != nil {
				return err
			}
			report, err := s.GC(cmd.Context(), opt)
			if err != nil {
				return err
			}
			return a.printGC(cmd.Context(), report, opt, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&opt.Apply, "apply", false, "remove what is found")
	cmd.Flags().BoolVar(&opt.ForgetMissing, "forget-missing", false, "folders with sessions that are not there any more are gone for good")
	return cmd
}

// gcJSON is what gc found, for programs.
// It is a stable format: lists are never null, times are UTC, sizes bytes. Missing are folders that held sessions
// once and are not there; obstacles are texts for people.
type gcJSON struct {
	Applied   bool         `json:"applied"`
	Unused    []gcBlobJSON `json:"unused"`
	Bytes     int64        `json:"bytes"`
	Young     int          `json:"young"`
	Used      int          `json:"used"`
	Leftovers int          `json:"leftovers"`
	Files     int          `json:"files"`
	Folders   []string     `json:"folders"`
	Missing   []string     `json:"missing"`
	Obstacles []string     `json:"obstacles"`
}

type gcBlobJSON struct {
	Ref  string `json:"ref"`
	File string `json:"file"`
	Size int64  `json:"size"`
	Time string `json:"time"`
}

// Bytes is the sum over what is unused, in both modes: what would be or was freed.
func newGCJSON(r store.GCReport) gcJSON {
	j := gcJSON{
		Applied: r.Applied, Unused: []gcBlobJSON{}, Young: r.Young, Used: r.Used, Leftovers: r.Leftovers, Files: r.Files,
		Folders: append([]string{}, r.Folders...), Missing: append([]string{}, r.Missing...), Obstacles: []string{},
	}
	for _, b := range r.Unused {
		j.Bytes += b.Size
		j.Unused = append(j.Unused, gcBlobJSON{b.Ref.String(), b.Path, b.Size, b.Time.UTC().Format("2006-01-02T15:04:05.000Z")})
	}
	for _, err := range r.Obstacles {
		j.Obstacles = append(j.Obstacles, err.Error())
	}
	return j
}

func (a *app) printGC(ctx context.Context, r store.GCReport, opt store.GCOptions, asJSON bool) error {
	j := newGCJSON(r)
	err := a.print(ctx, a.stdout, 0, func(_ context.Context, out *output) error {
		if asJSON {
			return writeJSON(out, j)
		}
		for _, b := range r.Unused {
			fmt.Fprintf(out, "%s  %s\n", screen.Pad(byteSize(b.Size), 8, true), screen.Clean(b.Path))
		}
		done := "would be removed"
		if r.Applied {
			done = "removed"
		}
		fmt.Fprintf(out, "%s (%s) and %s %s; %s in use, %s too young to tell; references counted in %s of %s\n",
			counted(len(r.Unused), "blob", "blobs"), byteSize(j.Bytes), counted(r.Leftovers, "half-made file", "half-made files"), done,
			counted(r.Used, "blob", "blobs"), counted(r.Young, "blob", "blobs"),
			counted(r.Files, "file", "files"), counted(len(r.Folders), "folder", "folders"))
		return nil
	})
	if err != nil {
		return err
	}
	// Behind the list: first what was found, then why nothing is done about it.
	for _, o := range r.Obstacles {
		fmt.Fprintf(a.stderr, "treeline: %s\n", screen.Clean(o.Error()))
	}
	switch {
	case len(r.Missing) > 0 && !opt.ForgetMissing:
		return errors.New("nothing can be removed while a folder is missing that may refer to anything; if it is gone for good, say --forget-missing")
	case len(r.Obstacles) > 0:
		return errors.New("nothing can be removed while something cannot be read: it may refer to anything")
	case !r.Applied && len(r.Unused)+r.Leftovers > 0:
		fmt.Fprintln(a.stderr, "treeline: nothing was removed yet; --apply does it")
	}
	return nil
}
