package cli

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/console"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/wire"
)

// Invalid returns the error for a flag with an invalid value.
func Invalid(flag, value, use string) error {
	return Misused("invalid --%s %q: use %s", flag, value, use)
}

// OneOf refuses a value that is not one of the words of a flag.
func OneOf(flag, value string, words []string) error {
	if slices.Contains(words, value) {
		return nil
	}
	return Invalid(flag, value, AnyOf(words))
}

// Words converts named values to strings.
func Words[T ~string](list []T) []string {
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = string(v)
	}
	return texts
}

// AnyOf lists the words of a flag for a sentence.
func AnyOf(words []string) string {
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// noneEmpty refuses flags with an empty value, for all commands. Such a value usually comes from an unset shell variable, and without the
// flag the command would do something else.
func noneEmpty(cmd *cobra.Command) error {
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		list, isList := f.Value.(pflag.SliceValue)
		if err == nil && (f.Value.String() == "" || isList && strings.Join(list.GetSlice(), "") == "") {
			err = Misused("--%s is empty", f.Name)
		}
	})
	return err
}

// CheckText refuses a text that is not UTF-8, because it could not be stored unchanged. what names the text, for example --text.
func CheckText(what, text string) error {
	if utf8.ValidString(text) {
		return nil
	}
	return Misused("%s is not UTF-8", what)
}

// FlagError rewords pflag's error for a value of the wrong type. To that for an unknown flag it adds the flag that was probably meant.
func FlagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		return fmt.Errorf("%w%s", err, meantFlag(cmd, unknown.GetSpecifiedName()))
	}
	var wrong *pflag.InvalidValueError
	if !errors.As(err, &wrong) {
		return err
	}
	use := map[string]string{"int": "a whole number", "bool": "true or false", "duration": "a time like 90s or 1h30m"}[wrong.GetFlag().Value.Type()]
	switch {
	case use == "":
		return err
	case errors.Is(err, strconv.ErrRange) && strings.HasPrefix(wrong.GetValue(), "-"):
		use += " of at least 0" // no flag takes negative numbers
	case errors.Is(err, strconv.ErrRange):
		use += fmt.Sprintf(" of at most %d", math.MaxInt)
	}
	return Invalid(wrong.GetFlag().Name, wrong.GetValue(), use)
}

// otherNames are the names that other programs use for flags.
var otherNames = map[string][]string{
	"source": {"agent"}, "addr": {"port", "host", "listen", "bind"}, "cwd": {"dir", "project", "directory"}, "leaf": {"at", "entry"},
	"limit": {"max", "count", "lines"}, "since": {"after"}, "until": {"before"}, "output": {"dest"}, "yes": {"force"},
}

// meantFlag returns the flag of a command that a name may mean.
func meantFlag(cmd *cobra.Command, name string) string {
	flags := &cobra.Command{SuggestionsMinimumDistance: 2}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			flags.AddCommand(&cobra.Command{Use: f.Name, SuggestFor: otherNames[f.Name], Run: func(*cobra.Command, []string) {}})
		}
	})
	list := flags.SuggestionsFor(name)
	switch {
	case len(list) > 0:
	case name == "store" && strings.Contains(cmd.Use, "<url>"):
		return "; the URL is an argument"
	case name == "store":
		return fmt.Sprintf("; '%s' works on this machine only", cmd.CommandPath())
	default:
		return ""
	}
	return "; did you mean --" + list[0] + "?"
}

// AddGlobal adds the flags of all commands.
func (a *App) AddGlobal(root *cobra.Command) {
	root.PersistentFlags().StringVar(&a.Color, "color", "auto", "use colours `WHEN`: "+AnyOf(console.ColorWords))
	root.PersistentFlags().BoolVar(&a.NoPager, "no-pager", false, "do not start a pager")
	root.PersistentPreRunE = func(cmd *cobra.Command, given []string) error {
		err := noneEmpty(cmd)
		if err == nil {
			err = OneOf("color", a.Color, console.ColorWords)
		}
		if err != nil {
			return err
		}
		return a.useStore(cmd, given)
	}
	_ = root.RegisterFlagCompletionFunc("color", cobra.FixedCompletions(console.ColorWords, cobra.ShellCompDirectiveNoFileComp)) // fails only for an unknown flag
}

// AddJSON adds --json.
func (a *App) AddJSON(cmd *cobra.Command) { cmd.Flags().BoolVar(&a.JSON, "json", false, "print JSON") }

// AddDialect adds the flags of commands that read a session.
func (a *App) AddDialect(cmd *cobra.Command, name *string) {
	cmd.Flags().StringVar(name, "dialect", "", "read the session in the format `NAME`: omp, pi, operator, wave, codelia-state, "+screen.Ellipsis)
	a.AddJSON(cmd)
}

// LeafFlags are the flags of commands that show a session as seen from an entry.
type LeafFlags struct{ Dialect, Leaf string }

// Add adds the flags.
func (f *LeafFlags) Add(a *App, cmd *cobra.Command) {
	a.AddDialect(cmd, &f.Dialect)
	cmd.Flags().StringVar(&f.Leaf, "leaf", "", "look from the entry `ID`; the beginning or end of an id is enough, none is before the first entry")
}

// ScopeFlags select sessions by directory, and where to search for them.
type ScopeFlags struct {
	Cwd, Root string
	All       bool
	unread    error // the last error of reading Root
}

// Add adds the flags. verb says what is done with the sessions.
func (f *ScopeFlags) Add(cmd *cobra.Command, verb string) {
	cmd.Flags().StringVar(&f.Cwd, "cwd", "", verb+" the sessions of the directory `DIR` instead of this one")
	cmd.Flags().StringVar(&f.Root, "root", "", "look in the folder `DIR` instead of the agents' folders")
	cmd.Flags().BoolVarP(&f.All, "all", "a", false, verb+" the sessions of all directories")
}

// Dir returns the directory whose sessions are selected, or "" for all. project means that it is the project of the working directory,
// which depends on where there are sessions.
func (f *ScopeFlags) Dir(a *App) (dir string, project bool, err error) {
	switch {
	case f.All && f.Cwd != "":
		return "", false, Misused("--all and --cwd cannot be combined")
	case f.All:
		return "", false, nil
	}
	dir, err = a.ListDir(f.Cwd)
	return dir, f.Cwd == "", err
}

// Store returns the store of --root, or of this machine. A misspelled folder is an error and not an empty list.
func (f *ScopeFlags) Store(a *App) (*treeline.Store, error) {
	if f.Root == "" {
		return a.Store()
	}
	if err := IsFolder(f.Root); err != nil {
		return nil, err
	}
	return a.Store(f.Root)
}

// Unread returns a function for the errors of what cannot be read. One in the folder of --root is an error of the command, because the answer
// is incomplete; Whole returns it at the end. One in the agents' own folders, which the caller did not name, is only reported.
func (f *ScopeFlags) Unread(a *App) func(error) {
	if f.Root == "" {
		return a.Unread
	}
	return func(err error) {
		if f.unread != nil {
			a.Unread(f.unread)
		}
		f.unread = err
	}
}

// Whole returns the error that makes the answer incomplete, or nil.
func (f *ScopeFlags) Whole() error { return unread(f.unread) }

// IsFolder returns an error for anything but a folder.
func IsFolder(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return AtPath(path, err)
	case !info.IsDir():
		return fmt.Errorf("%s: not a folder", path)
	}
	return nil
}

// ListDir makes --cwd absolute; the default is the working directory. The directory need not exist any more. Symbolic links are not
// resolved: agents record the name under which they were started, and the store compares both.
func (a *App) ListDir(cwd string) (string, error) {
	switch {
	case cwd == "" && a.WorkDir != "":
		return a.WorkDir, nil
	case cwd == "":
		dir, err := os.Getwd()
		if err != nil {
			err = fmt.Errorf("working directory: %w", err)
		}
		return dir, err
	}
	return filepath.Abs(cwd)
}

// SpanFlags are --since and --until.
type SpanFlags struct{ since, until string }

// WhenHelp shows how times are written.
const WhenHelp = "2026-11-01, RFC 3339, or 7d/12h"

// Add adds the flags. since and until describe what they select, for example "entries".
func (f *SpanFlags) Add(cmd *cobra.Command, since, until string) {
	cmd.Flags().StringVar(&f.since, "since", "", since+" since `WHEN`: a date (2026-11-01), a time (RFC 3339) or how long ago (7d, 12h)")
	cmd.Flags().StringVar(&f.until, "until", "", until+" up to `WHEN`; a date is included")
}

// Parse parses both flags; a zero time means no limit. It refuses an empty span, which would never match.
func (f *SpanFlags) Parse(now time.Time) (since, until time.Time, err error) {
	if f.since != "" {
		if since, err = wire.ParseWhen(f.since, now, false); err != nil {
			return since, until, Invalid("since", f.since, WhenHelp)
		}
	}
	if f.until != "" {
		if until, err = wire.ParseWhen(f.until, now, true); err != nil {
			return since, until, Invalid("until", f.until, WhenHelp)
		}
	}
	if f.since != "" && f.until != "" && !since.Before(until) {
		return since, until, Misused("--until %s is not after --since %s", f.until, f.since)
	}
	return since, until, nil
}
