package sharing

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/console"
	"github.com/treeline-dev/treeline/export"
	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/wire"
)

// exportFlags are the flags of export.
type exportFlags struct {
	cli.LeafFlags
	format, out      string
	all, branches    bool
	redact, noRedact bool
	hide             []string
	preview, force   bool
}

// Export writes sessions for other people. It is the only command that conceals something, so it reports what.
func Export(a *cli.App) *cobra.Command {
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
			"existing file is not replaced without --force." + cli.SessionHelp + cli.EntryHelp,
		Example: "  treeline export @last -o session.html\n  treeline export @last --preview\n  treeline export 01a1df83 --format md --hide acme-corp | gh issue create -F -\n  treeline export --all -o site",
		Args: func(_ *cobra.Command, given []string) error {
			switch {
			case f.all && len(given) > 0:
				return cli.Misused("--all cannot be combined with a session")
			case f.all:
				return nil
			}
			return cli.Args("<session>")(nil, given)
		},
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := f.check(a); err != nil {
				return err
			}
			if f.all {
				return exportAll(cmd.Context(), a, &f)
			}
			return a.Viewing(cmd.Context(), given[0], &f.LeafFlags, func(s *store.Session, at session.EntryID) error {
				o := f.options(a)
				_, entry := cli.SplitEntry(given[0])
				if f.Leaf != "" || entry != "" {
					o.Leaf = &at
				} else if o.Format == export.HTML {
					o.AllBranches = true
				}
				return exportOne(cmd.Context(), a, s, o, &f)
			})
		},
		ValidArgsFunction: a.CompleteSession,
	}
	f.Add(a, cmd)
	formats := cli.Words(export.Formats)
	cmd.Flags().StringVarP(&f.format, "format", "f", "", "write `FORMAT`: "+cli.AnyOf(formats))
	cmd.Flags().StringVarP(&f.out, "output", "o", "", "write to `FILE`, or with --all to a folder; - is standard output")
	cmd.Flags().BoolVar(&f.branches, "all-branches", false, "write all branches, not only the path to the leaf")
	cmd.Flags().BoolVarP(&f.all, "all", "a", false, "write the sessions of all agents as a site")
	cmd.Flags().BoolVar(&f.redact, "redact", false, "redact JSON and text too")
	cmd.Flags().BoolVar(&f.noRedact, "no-redact", false, "do not redact secrets")
	cmd.Flags().StringArrayVar(&f.hide, "hide", nil, "also redact `TEXT`, ignoring case; can be repeated")
	cmd.Flags().BoolVar(&f.preview, "preview", false, "list what would be redacted, and write nothing")
	cmd.Flags().BoolVar(&f.force, "force", false, "replace existing files")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// check checks the flags and sets their defaults.
func (f *exportFlags) check(a *cli.App) error {
	if f.out == "-" {
		f.out = ""
	}
	if f.format == "" {
		f.format = strings.TrimPrefix(filepath.Ext(f.out), ".")
		switch {
		case f.format == "htm", f.all, f.out == "" && f.preview:
			f.format = string(export.HTML)
		case f.out == "":
			return cli.Misused("the format is missing: use --format, or -o FILE")
		case cli.OneOf("format", f.format, cli.Words(export.Formats)) != nil:
			return cli.Misused("cannot tell the format from %s; add --format", f.out)
		}
	}
	switch {
	case f.redact && f.noRedact:
		return cli.Misused("--redact and --no-redact cannot be combined")
	case f.preview && f.noRedact && len(f.hide) == 0:
		return cli.Misused("--preview and --no-redact cannot be combined")
	case f.all && f.out == "":
		return cli.Misused("--all needs -o DIR")
	case f.all && (f.Leaf != "" || f.preview || f.Dialect != "" || f.format != string(export.HTML)):
		return cli.Misused("--all writes HTML, and takes no --leaf, --preview, --format or --dialect")
	case a.JSON && f.out == "" && !f.preview:
		return cli.Misused("--json prints a report: it needs -o FILE; --format json writes a session as JSON")
	}
	if _, terminal := console.Width(a.Stdout); terminal && f.out == "" && !f.preview && f.format == string(export.HTML) {
		return cli.Misused("HTML is not for a terminal: use -o FILE")
	}
	return cli.OneOf("format", f.format, cli.Words(export.Formats))
}

func (f *exportFlags) options(a *cli.App) export.Options {
	format := export.Format(f.format)
	safe := format.Shared() || f.redact || f.preview
	return export.Options{Format: format, AllBranches: f.branches, Redact: safe && !f.noRedact, Hide: f.hide, Home: a.Home()}
}

// exportOne writes one session, and says on standard error what was replaced.
func exportOne(ctx context.Context, a *cli.App, s *store.Session, o export.Options, f *exportFlags) error {
	if f.preview {
		return exportPreview(ctx, a, s, o)
	}
	if f.out == "" {
		var r *export.Report
		err := a.Print(func(out *console.Output) (err error) {
			r, err = export.Write(ctx, out, s, o)
			return err
		})
		if err == nil {
			pageReport(a, r, o.Format)
		}
		return err
	}
	r, err := export.File(ctx, f.out, s, o, f.force)
	if err != nil {
		return err
	}
	pageReport(a, r, o.Format)
	j := exported(r, f.out, o.Format)
	j.Session = string(s.ID())
	return a.Say(j, f.out)
}

func exported(r *export.Report, path string, format export.Format) wire.Exported {
	j := wire.Exported{Path: &path, Format: string(format), Entries: r.Entries, Size: r.Size, Redactions: []wire.Redaction{}, Problems: len(r.Problems)}
	for _, k := range r.Kinds() {
		j.Redactions = append(j.Redactions, wire.Redaction(k))
	}
	return j
}

// exportReport says what was replaced, and what is wrong with the log.
func exportReport(a *cli.App, r *export.Report, format export.Format) {
	if n := len(r.Redactions); n > 0 && !a.JSON {
		var words []string
		for _, k := range r.Kinds() {
			words = append(words, fmt.Sprintf("%d × %s", k.Count, k.Kind))
		}
		a.Notice(fmt.Sprintf("%s replaced: %s; look at the file before you share it", wire.Count(n, "secret", "secrets"), strings.Join(words, ", ")))
	}
	if format == export.Markdown && r.Size > export.GitHubMost && !a.JSON {
		a.Notice(fmt.Sprintf("%s: a GitHub issue takes at most %s characters", wire.Size(r.Size), wire.Number(export.GitHubMost)))
	}
	a.Problems(r.Problems)
}

// largePage is the size from which an HTML file is unwieldy: a browser builds all of it before it can be used.
const largePage = 50 << 20

// pageReport is exportReport for one session. It says what helps if the page is large.
func pageReport(a *cli.App, r *export.Report, format export.Format) {
	if format == export.HTML && r.Size > largePage && !a.JSON {
		a.Notice(wire.Size(r.Size) + ": a browser takes long to open a file of that size; 'treeline serve' shows the session in parts, --leaf writes one branch, --format md is smaller")
	}
	exportReport(a, r, format)
}

// exportPreview lists what an export would replace.
func exportPreview(ctx context.Context, a *cli.App, s *store.Session, o export.Options) error {
	r, err := export.Write(ctx, io.Discard, s, o)
	if err != nil {
		return err
	}
	err = a.Print(func(out *console.Output) error {
		list, page := wire.Array{W: out}, out.Page()
		for _, x := range r.Redactions {
			secret := wire.Secret{Path: s.Path(), Session: s.ID(), Entry: x.Entry, Line: x.Line, Offset: x.Offset, Kind: x.Kind, Hint: x.Hint}
			if !a.JSON {
				page.Secret(secret)
			} else if err := list.Add(secret); err != nil {
				return err
			}
		}
		if a.JSON {
			return list.End()
		}
		_, err := fmt.Fprintf(out, "%s, %s\n", wire.Count(r.Entries, "entry", "entries"), wire.Count(len(r.Redactions), "secret", "secrets"))
		return err
	})
	a.Problems(r.Problems)
	return err
}

// exportAll writes a site.
func exportAll(ctx context.Context, a *cli.App, f *exportFlags) error {
	s, err := a.Store()
	if err != nil {
		return err
	}
	if err := s.CheckSource(a.Source); err != nil {
		return err
	}
	show := a.Progress("reading sessions")
	rows, err := s.Catalogue(ctx, find.RefreshOptions{Problem: a.Unread, Progress: cli.LogsRead(show)})
	show.Clear()
	if err != nil {
		return err
	}
	rows = place.Drop(rows, func(r *place.Row) bool { return r.Err != nil })
	progress := a.Progress("writing")
	r, err := export.Site(ctx, f.out, rows, export.SiteOptions{
		Options: f.options(a), Force: f.force, Progress: progress.At,
		Open: func(ctx context.Context, path string) (*store.Session, error) {
			return s.Open(ctx, path, store.OpenOptions{})
		},
	})
	progress.Clear()
	if err != nil {
		return err
	}
	for _, failed := range r.Failed {
		a.Notice(failed.Error())
	}
	exportReport(a, &r.Report, export.HTML)
	j := exported(&r.Report, f.out, export.HTML)
	j.Sessions = &r.Sessions
	if err := a.Say(j, filepath.Join(f.out, "index.html")); err != nil || len(r.Failed) == 0 {
		return err
	}
	return cli.Quiet(fmt.Sprintf("%d sessions are missing", len(r.Failed)))
}
