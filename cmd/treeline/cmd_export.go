package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/export"
	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/wire"
)

// exportFlags are the flags of export.
type exportFlags struct {
	leafFlags
	format, out      string
	all, branches    bool
	redact, noRedact bool
	hide             []string
	preview, force   bool
}

// exportCommand writes sessions for other people. It is the only command that hides something, so it says what.
func (a *app) exportCommand() *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:        "export <session>",
		SuggestFor: []string{"share", "publish", "save", "dump", "html", "markdown"},
		Short:      "Write a session to a file to share",
		Long: "Write a session as one HTML file that needs no server, as Markdown for an issue, as JSON, or as text. Without -o it is\n" +
			"printed. The format follows from the file name, or --format.\n\n" +
			"HTML has all branches and a tree to switch between them, unless --leaf selects one. The other formats have the path to\n" +
			"the leaf, unless --all-branches is given. --all writes the sessions of all agents to a folder, as a site with a list\n" +
			"and a search that works without a server.\n\n" +
			"In HTML and Markdown, keys, tokens and passwords are replaced by their kind, as in [redacted: aws access key].\n" +
			"--preview lists each of them and writes nothing. Nothing finds every secret: look at the file before you share it. An\n" +
			"existing file is not replaced without --force." + sessionHelp + entryHelp,
		Example: "  treeline export @last -o session.html\n  treeline export @last --preview\n  treeline export 01a1dcc8 --format md --hide acme-corp | gh issue create -F -\n  treeline export --all -o site",
		Args: func(_ *cobra.Command, given []string) error {
			switch {
			case f.all && len(given) > 0:
				return misused("--all cannot be combined with a session")
			case f.all:
				return nil
			}
			return args("<session>")(nil, given)
		},
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := f.check(a, cmd); err != nil {
				return err
			}
			if f.all {
				return a.exportAll(cmd.Context(), &f)
			}
			return a.viewing(cmd.Context(), given[0], &f.leafFlags, func(s *store.Session, at session.EntryID) error {
				o := f.options(a)
				_, entry := splitEntry(given[0])
				if f.leaf != "" || entry != "" {
					o.Leaf = &at
				} else if o.Format == export.HTML {
					o.AllBranches = true
				}
				return a.export(cmd.Context(), s, o, &f)
			})
		},
		ValidArgsFunction: a.completeSession,
	}
	f.add(a, cmd)
	words := formatWords()
	cmd.Flags().StringVarP(&f.format, "format", "f", "", "write `FORMAT`: "+anyOf(words))
	cmd.Flags().StringVarP(&f.out, "output", "o", "", "write to `FILE`, or with --all to a folder")
	cmd.Flags().BoolVar(&f.branches, "all-branches", false, "write all branches, not only the path to the leaf")
	cmd.Flags().BoolVarP(&f.all, "all", "a", false, "write the sessions of all agents as a site")
	cmd.Flags().BoolVar(&f.redact, "redact", false, "redact JSON and text too")
	cmd.Flags().BoolVar(&f.noRedact, "no-redact", false, "do not redact secrets")
	cmd.Flags().StringArrayVar(&f.hide, "hide", nil, "also redact `TEXT`, ignoring case; can be repeated")
	cmd.Flags().BoolVar(&f.preview, "preview", false, "list what would be redacted, and write nothing")
	cmd.Flags().BoolVar(&f.force, "force", false, "replace existing files")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func formatWords() (words []string) {
	for _, f := range export.Formats {
		words = append(words, string(f))
	}
	return words
}

// check completes the flags.
func (f *exportFlags) check(a *app, cmd *cobra.Command) error {
	if f.format == "" {
		f.format = strings.TrimPrefix(filepath.Ext(f.out), ".")
		switch {
		case f.format == "htm", f.all, f.out == "" && f.preview:
			f.format = string(export.HTML)
		case f.out == "":
			return misused("--format or -o is missing")
		case oneOf("format", f.format, formatWords()) != nil:
			return misused("cannot tell the format from %s; add --format", f.out)
		}
	}
	switch {
	case f.redact && f.noRedact:
		return misused("--redact and --no-redact cannot be combined")
	case f.preview && f.noRedact && len(f.hide) == 0:
		return misused("--preview and --no-redact cannot be combined")
	case f.all && f.out == "":
		return misused("--all needs -o DIR")
	case f.all && (f.leaf != "" || f.preview || f.dialect != "" || f.format != string(export.HTML)):
		return misused("--all writes HTML, and takes no --leaf, --preview, --format or --dialect")
	case a.json && f.out == "" && !f.preview:
		return misused("--json prints a report: it needs -o FILE; --format json writes a session as JSON")
	}
	if _, terminal := terminalWidth(a.stdout); terminal && f.out == "" && !f.preview && f.format == string(export.HTML) {
		return misused("HTML is not for a terminal: use -o FILE")
	}
	return oneOf("format", f.format, formatWords())
}

func (f *exportFlags) options(a *app) export.Options {
	format := export.Format(f.format)
	safe := format.Shared() || f.redact || f.preview
	return export.Options{Format: format, AllBranches: f.branches, Redact: safe && !f.noRedact, Hide: f.hide, Home: a.home()}
}

// export writes one session, and says on standard error what was replaced.
func (a *app) export(ctx context.Context, s *store.Session, o export.Options, f *exportFlags) error {
	if f.preview {
		return a.exportPreview(ctx, s, o)
	}
	if f.out == "" {
		var r *export.Report
		err := a.print(func(out *output) (err error) {
			r, err = export.Write(ctx, out, s, o)
			return err
		})
		if err == nil {
			a.exportReport(r, o.Format)
		}
		return err
	}
	r, err := export.File(ctx, f.out, s, o, f.force)
	if err != nil {
		return err
	}
	a.exportReport(r, o.Format)
	j := exported(r, f.out, o.Format)
	j.Session = string(s.ID())
	return a.say(j, f.out)
}

func exported(r *export.Report, path string, format export.Format) wire.Exported {
	j := wire.Exported{Path: &path, Format: string(format), Entries: r.Entries, Size: r.Size, Redactions: []wire.Redaction{}, Problems: len(r.Problems)}
	for _, k := range r.Kinds() {
		j.Redactions = append(j.Redactions, wire.Redaction(k))
	}
	return j
}

// exportReport says what was replaced, and what is wrong with the log.
func (a *app) exportReport(r *export.Report, format export.Format) {
	if n := len(r.Redactions); n > 0 && !a.json {
		var words []string
		for _, k := range r.Kinds() {
			words = append(words, fmt.Sprintf("%d × %s", k.Count, k.Kind))
		}
		a.notice(fmt.Sprintf("%s replaced: %s; look at the file before you share it", wire.Count(n, "secret", "secrets"), strings.Join(words, ", ")))
	}
	if format == export.Markdown && r.Size > export.GitHubMost && !a.json {
		a.notice(fmt.Sprintf("%s: a GitHub issue takes at most %s characters", wire.Size(r.Size), wire.Number(export.GitHubMost)))
	}
	a.problems(r.Problems)
}

// exportPreview lists what an export would replace.
func (a *app) exportPreview(ctx context.Context, s *store.Session, o export.Options) error {
	r, err := export.Write(ctx, io.Discard, s, o)
	if err != nil {
		return err
	}
	err = a.print(func(out *output) error {
		list, page := wire.Array{W: out}, out.page()
		for _, x := range r.Redactions {
			secret := wire.Secret{Path: s.Path(), Session: s.ID(), Entry: x.Entry, Line: x.Line, Offset: x.Offset, Kind: x.Kind, Hint: x.Hint}
			if !a.json {
				page.Secret(secret)
			} else if err := list.Add(secret); err != nil {
				return err
			}
		}
		if a.json {
			return list.End()
		}
		_, err := fmt.Fprintf(out, "%s, %s\n", wire.Count(r.Entries, "entry", "entries"), wire.Count(len(r.Redactions), "secret", "secrets"))
		return err
	})
	a.problems(r.Problems)
	return err
}

// exportAll writes a site.
func (a *app) exportAll(ctx context.Context, f *exportFlags) error {
	s, err := a.store()
	if err != nil {
		return err
	}
	if err := s.CheckSource(a.source); err != nil {
		return err
	}
	show := a.newProgress("reading sessions")
	rows, err := s.Catalogue(ctx, find.RefreshOptions{Problem: a.unread, Progress: show.read})
	show.clear()
	if err != nil {
		return err
	}
	rows = place.Drop(rows, func(r *place.Row) bool { return r.Err != nil })
	progress := a.newProgress("writing")
	r, err := export.Site(ctx, f.out, rows, export.SiteOptions{
		Options: f.options(a), Force: f.force, Progress: progress.at,
		Open: func(ctx context.Context, path string) (*store.Session, error) {
			return s.Open(ctx, path, store.OpenOptions{})
		},
	})
	progress.clear()
	if err != nil {
		return err
	}
	for _, failed := range r.Failed {
		a.notice(failed.Error())
	}
	a.exportReport(&r.Report, export.HTML)
	j := exported(&r.Report, f.out, export.HTML)
	j.Sessions = &r.Sessions
	if err := a.say(j, filepath.Join(f.out, "index.html")); err != nil || len(r.Failed) == 0 {
		return err
	}
	return quietError{fmt.Errorf("%d sessions are missing", len(r.Failed))}
}
