package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/wire"
)

// invalid is the error for a flag with a value that it does not take.
func invalid(flag, value, use string) error {
	return misused("invalid --%s %q: use %s", flag, value, use)
}

// oneOf refuses a value that is not one of the words of a flag.
func oneOf(flag, value string, words []string) error {
	if slices.Contains(words, value) {
		return nil
	}
	return invalid(flag, value, anyOf(words))
}

func anyOf(words []string) string {
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// noneEmpty refuses flags with an empty value, for all commands. Such a value is mostly that of an unset shell variable, and
// without the flag the command would do something else.
func noneEmpty(cmd *cobra.Command) error {
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		list, isList := f.Value.(pflag.SliceValue)
		if err == nil && (f.Value.String() == "" || isList && strings.Join(list.GetSlice(), "") == "") {
			err = misused("--%s is empty", f.Name)
		}
	})
	return err
}

// flagError rewords pflag's error for a value of the wrong type.
func flagError(err error) error {
	var wrong *pflag.InvalidValueError
	if !errors.As(err, &wrong) {
		return err
	}
	use := map[string]string{"int": "a whole number", "bool": "true or false", "duration": "a time like 90s or 1h30m"}[wrong.GetFlag().Value.Type()]
	if use == "" {
		return err
	}
	return invalid(wrong.GetFlag().Name, wrong.GetValue(), use)
}

// addGlobal adds the flags of all commands.
func (a *app) addGlobal(root *cobra.Command) {
	root.PersistentFlags().StringVar(&a.color, "color", "auto", "use colours `WHEN`: "+anyOf(colorWords))
	root.PersistentFlags().BoolVar(&a.noPager, "no-pager", false, "do not start a pager")
	root.PersistentPreRunE = func(cmd *cobra.Command, given []string) error {
		err := noneEmpty(cmd)
		if err == nil {
			err = oneOf("color", a.color, colorWords)
		}
		if err != nil {
			return err
		}
		return a.useStore(cmd, given)
	}
	_ = root.RegisterFlagCompletionFunc("color", cobra.FixedCompletions(colorWords, cobra.ShellCompDirectiveNoFileComp)) // fails only for an unknown flag
}

func (a *app) addJSON(cmd *cobra.Command) { cmd.Flags().BoolVar(&a.json, "json", false, "print JSON") }

// addDialect adds the flags of commands that read a session.
func (a *app) addDialect(cmd *cobra.Command, name *string) {
	cmd.Flags().StringVar(name, "dialect", "", "read the session in the format `NAME`: omp, pi, operator, wave, codelia-state, "+screen.Ellipsis)
	a.addJSON(cmd)
}

// leafFlags are the flags of commands that look at a session from an entry.
type leafFlags struct{ dialect, leaf string }

func (f *leafFlags) add(a *app, cmd *cobra.Command) {
	a.addDialect(cmd, &f.dialect)
	cmd.Flags().StringVar(&f.leaf, "leaf", "", "look from the entry `ID`; the beginning or end of an id is enough, none is before the first entry")
}

// scopeFlags choose sessions by directory, and where to look for them.
type scopeFlags struct {
	cwd, root string
	all       bool
}

func (f *scopeFlags) add(cmd *cobra.Command, verb string) {
	cmd.Flags().StringVar(&f.cwd, "cwd", "", verb+" the sessions of the directory `DIR` instead of this one")
	cmd.Flags().StringVar(&f.root, "root", "", "look in the folder `DIR` instead of the agents' folders")
	cmd.Flags().BoolVarP(&f.all, "all", "a", false, verb+" the sessions of all directories")
}

// dir is the directory whose sessions are wanted, "" for all. project: it is the project of the working directory, which
// depends on where there are sessions.
func (f *scopeFlags) dir(a *app) (dir string, project bool, err error) {
	switch {
	case f.all && f.cwd != "":
		return "", false, misused("--all and --cwd cannot be combined")
	case f.all:
		return "", false, nil
	}
	dir, err = a.listDir(f.cwd)
	return dir, f.cwd == "", err
}

// store gives the store of --root, or of this machine. A misspelled folder is an error and not an empty list.
func (f *scopeFlags) store(a *app) (*treeline.Store, error) {
	if f.root == "" {
		return a.store()
	}
	if err := isFolder(f.root); err != nil {
		return nil, err
	}
	return a.store(f.root)
}

// isFolder returns an error for anything but a folder.
func isFolder(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return atPath(path, err)
	case !info.IsDir():
		return fmt.Errorf("%s: not a folder", path)
	}
	return nil
}

// listDir makes --cwd absolute; the default is the working directory. The directory need not exist any more. Symbolic
// links stay: agents write the name under which they were started, and the store compares both.
func (a *app) listDir(cwd string) (string, error) {
	switch {
	case cwd == "" && a.workDir != "":
		return a.workDir, nil
	case cwd == "":
		dir, err := os.Getwd()
		if err != nil {
			err = fmt.Errorf("working directory: %w", err)
		}
		return dir, err
	}
	return filepath.Abs(cwd)
}

// spanFlags are --since and --until.
type spanFlags struct{ since, until string }

// whenHelp says how times are spelled.
const whenHelp = "2026-11-01, RFC 3339, or 7d/12h"

// add describes the flags with what they choose, for example "entries".
func (f *spanFlags) add(cmd *cobra.Command, since, until string) {
	cmd.Flags().StringVar(&f.since, "since", "", since+" since `WHEN`: a date (2026-11-01), a time (RFC 3339) or how long ago (7d, 12h)")
	cmd.Flags().StringVar(&f.until, "until", "", until+" up to `WHEN`; a date is included")
}

// parse reads both flags; a zero time is no limit. An empty span is refused: it would never match.
func (f *spanFlags) parse(now time.Time) (since, until time.Time, err error) {
	if f.since != "" {
		if since, err = wire.ParseWhen(f.since, now, false); err != nil {
			return since, until, invalid("since", f.since, whenHelp)
		}
	}
	if f.until != "" {
		if until, err = wire.ParseWhen(f.until, now, true); err != nil {
			return since, until, invalid("until", f.until, whenHelp)
		}
	}
	if f.since != "" && f.until != "" && !since.Before(until) {
		return since, until, misused("--until %s is not after --since %s", f.until, f.since)
	}
	return since, until, nil
}
