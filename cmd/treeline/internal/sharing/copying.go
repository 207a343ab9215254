package sharing

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/access"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/console"
	"github.com/treeline-dev/treeline/internal/sorting"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/push"
	"github.com/treeline-dev/treeline/wire"
)

// copyFlags are the flags of push and pull.
type copyFlags struct {
	sources, projects []string
	since             string
	deletions, dry    bool
	verbose           bool
	jobs              int
}

func (f *copyFlags) add(a *cli.App, cmd *cobra.Command, verb string) {
	a.AddJSON(cmd)
	cmd.Flags().StringArrayVar(&f.sources, "source", nil, verb+" only the logs of the agent or source `NAME`; can be repeated")
	cmd.Flags().StringVar(&f.since, "since", "", verb+" only logs that changed since `WHEN`: a date (2026-11-01), a time (RFC 3339) or how long ago (7d, 12h)")
	cmd.Flags().StringArrayVar(&f.projects, "project", nil, verb+" only sessions of the directory `GLOB` and those below it, as in '/work/*/api'; can be repeated")
	cmd.Flags().BoolVar(&f.dry, "dry-run", false, "say what would be done, and do none of it")
	cmd.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "list every log that is copied")
	cmd.Flags().IntVar(&f.jobs, "jobs", 0, "copy `N` logs at once")
}

// filter returns the filter of the flags.
func (f *copyFlags) filter(a *cli.App) (push.Filter, error) {
	filter := push.Filter{Sources: f.sources}
	if f.jobs < 0 {
		return filter, cli.Invalid("jobs", fmt.Sprint(f.jobs), "a number above 0")
	}
	if f.since != "" {
		since, err := wire.ParseWhen(f.since, a.Now(), false)
		if err != nil {
			return filter, cli.Invalid("since", f.since, cli.WhenHelp)
		}
		filter.Since = since
	}
	if len(f.projects) == 0 {
		return filter, nil
	}
	var patterns []string
	for _, p := range f.projects {
		glob, err := projectGlob(a, p)
		if err == nil {
			err = access.CheckPattern(glob)
		}
		if err != nil {
			return filter, cli.Misused("--project %q: %w", p, err)
		}
		patterns = append(patterns, glob, strings.TrimRight(glob, `/\`)+"/**")
	}
	filter.Project = func(cwd string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool { return access.Match(p, cwd) })
	}
	return filter, nil
}

// checkSources refuses a source that the machine does not have.
func (f *copyFlags) checkSources(s *treeline.Store) error {
	for _, name := range f.sources {
		if err := s.CheckSource(push.Agent(name)); err != nil {
			return err
		}
	}
	return nil
}

// projectGlob makes a pattern absolute.
func projectGlob(a *cli.App, glob string) (string, error) {
	if glob == "~" || strings.HasPrefix(glob, "~/") {
		return filepath.Join(a.Home(), glob[1:]), nil
	}
	if strings.HasPrefix(glob, "**") || filepath.IsAbs(glob) {
		return glob, nil
	}
	return filepath.Abs(glob)
}

// copying collects the events of a push or pull, and prints the important ones.
type copying struct {
	a       *cli.App
	f       *copyFlags
	show    *console.Progress
	began   time.Time
	verb    string // "pushing"
	done    string // "pushed"
	archive string
	result  wire.Copied
	// begin is printed once, as soon as the archive answers; "" prints nothing.
	begin string
	// withheld counts the logs that were not copied, and redacted those whose redacted copy replaces a lost original. Without --verbose, only
	// the first ones are listed.
	withheld, redacted int
}

// listedMost is the number of logs of a kind that are listed without --verbose.
const listedMost = 5

func newCopying(a *cli.App, f *copyFlags, verb, done, url string) *copying {
	c := &copying{a: a, f: f, show: a.Progress(verb), began: time.Now(), verb: verb, done: done, archive: place.Shown(a.Drivers(), url)}
	c.result.Fates, c.result.Logs, c.result.Problems = []wire.CopiedFate{}, []wire.CopiedLog{}, []string{}
	return c
}

// hasPassword reports whether a URL has a password, even if the URL is invalid.
func hasPassword(url string) bool {
	_, rest, _ := strings.Cut(url, "://")
	if i := strings.LastIndexByte(rest, '@'); i >= 0 && strings.Contains(rest[:i], ":") {
		return true
	}
	_, query, _ := strings.Cut(rest, "?")
	return strings.Contains(strings.ToLower(query), "password")
}

// started prints begin before anything is copied.
func (c *copying) started() {
	if c.begin != "" && !c.a.JSON {
		c.a.Notice(c.begin)
	}
	c.begin = ""
}

// progress shows the progress, with the rate and the remaining time.
func (c *copying) progress(p push.Progress) {
	c.started()
	c.show.Show(func() string {
		line := fmt.Sprintf("%s %s of %s", c.verb, wire.Number(int64(p.Logs)), wire.Count(p.Total, "log", "logs"))
		if p.OfBytes == 0 || p.Bytes == 0 {
			return line
		}
		elapsed := time.Since(c.began)
		rate := float64(p.Bytes) / max(elapsed.Seconds(), 0.001)
		line += fmt.Sprintf(", %d %%, %s/s", min(100, p.Bytes*100/p.OfBytes), wire.Size(int64(rate)))
		if left := time.Duration(float64(p.OfBytes-p.Bytes) / rate * float64(time.Second)); left > 0 {
			line += fmt.Sprintf(", %s left", left.Round(time.Second))
		}
		return line
	})
}

// event reports a log.
func (c *copying) event(e push.Event) {
	c.started()
	l := wire.CopiedLog{Name: e.Name, Path: e.Path, Fate: string(e.Fate), Size: e.Bytes, Fork: e.Fork, Redacted: e.Redacted, Reason: e.Why}
	if e.Err != nil {
		l.Error = e.Err.Error()
	}
	if c.a.JSON {
		c.result.Logs = append(c.result.Logs, l)
		return
	}
	text := fmt.Sprintf("%s: %s", e.Fate, e.Name)
	if c.f.dry {
		text = "would be " + text
	}
	switch e.Fate {
	case push.Failed:
		text = e.Err.Error()
	case push.Branched:
		text = fmt.Sprintf("%s was written here and elsewhere; both parts are in it now, as branches", e.Name)
	case push.Forked:
		text = fmt.Sprintf("%s was written here and elsewhere; what was written elsewhere is in %s now", e.Name, e.Fork)
	case push.Withheld:
		if c.withheld++; c.withheld > listedMost && !c.f.verbose {
			return
		}
		text = fmt.Sprintf("%s: not copied: %s", e.Name, e.Why)
	case push.Absent:
		if !c.f.verbose {
			return
		}
		text = fmt.Sprintf("%s: removed here", e.Name)
	case push.Ahead:
		if !c.f.verbose && !c.f.dry {
			return
		}
	default:
		if e.Bytes > 0 {
			text += ", " + wire.Size(e.Bytes)
		}
		if e.Redacted {
			c.redacted++
			text += "; it is redacted: its secrets were never in the archive"
		}
		if !c.f.verbose && !c.f.dry && (!e.Redacted || c.redacted > listedMost) {
			return
		}
	}
	c.a.Notice(text)
}

// end prints the result. If logs failed or there are problems, the exit code is 1.
func (c *copying) end(r push.Report, redacted bool, err error) error {
	c.show.Clear()
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	c.started()
	if more := c.withheld - listedMost; more > 0 && !c.f.verbose {
		c.a.Notice(fmt.Sprintf("%s not copied; --verbose lists them", wire.Count(more, "more log was", "more logs were")))
	}
	if more := c.redacted - listedMost; more > 0 && !c.f.verbose && !c.f.dry {
		c.a.Notice(fmt.Sprintf("%s pulled redacted; --verbose lists them", wire.Count(more, "more log was", "more logs were")))
	}
	j := &c.result
	j.Archive, j.DryRun, j.Redacted = c.archive, c.f.dry, redacted
	for _, fate := range push.Fates {
		if n := r.Logs[fate]; n > 0 {
			j.Fates = append(j.Fates, wire.CopiedFate{Fate: string(fate), Count: n})
		}
	}
	j.Size, j.Blobs, j.BlobSize, j.Secrets = r.Bytes, r.Blobs, r.BlobBytes, r.Secrets
	for _, p := range r.Problems {
		j.Problems = append(j.Problems, p.Error())
		if !c.a.JSON {
			c.a.Notice(p.Error())
		}
	}
	sorting.By(j.Logs, func(a, b wire.CopiedLog) int { return strings.Compare(a.Name, b.Name) })
	if said := c.a.Say(j, c.line(r)); said != nil || err != nil {
		return errors.Join(said, err)
	}
	if n := r.Logs[push.Failed] + len(r.Problems); n > 0 {
		return cli.Quiet(fmt.Sprintf("%d problems", n))
	}
	return nil
}

// line sums up the result.
func (c *copying) line(r push.Report) string {
	copied := 0
	var words []string
	for _, fate := range push.Fates {
		if n := r.Logs[fate]; n > 0 && fate.Changes() {
			copied += n
			words = append(words, fmt.Sprintf("%s %s", wire.Number(int64(n)), fate))
		}
	}
	line := c.done + " " + wire.Count(copied, "log", "logs")
	if c.f.dry {
		line = "would " + strings.Replace(line, "ed ", " ", 1)
	}
	if len(words) > 0 {
		line += " (" + strings.Join(words, ", ") + ")"
	}
	if r.Bytes > 0 && copied > 0 { // a log that failed may have sent some bytes
		line += ", " + wire.Size(r.Bytes)
	}
	if r.Blobs > 0 {
		line += fmt.Sprintf(", %s (%s)", wire.Count(r.Blobs, "blob", "blobs"), wire.Size(r.BlobBytes))
	}
	if r.Secrets > 0 {
		line += fmt.Sprintf(", %s replaced", wire.Count(r.Secrets, "secret", "secrets"))
	}
	for _, rest := range []struct {
		fate push.Fate
		word string
	}{{push.Ahead, "newer there"}, {push.Absent, "removed here"}, {push.Withheld, "not copied"}, {push.Failed, "failed"}, {push.Unchanged, "unchanged"}} {
		if n := r.Logs[rest.fate]; n > 0 {
			word := rest.word
			if rest.fate == push.Ahead && c.done == "pulled" {
				word = "newer here"
			}
			line += fmt.Sprintf("; %s %s", wire.Number(int64(n)), word)
		}
	}
	return line
}
