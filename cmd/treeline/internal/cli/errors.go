package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/backend"
	drivers "github.com/treeline-dev/treeline/backend/all"
	"github.com/treeline-dev/treeline/export"
	"github.com/treeline-dev/treeline/place"
	runlog "github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/runs"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/trash"
	"github.com/treeline-dev/treeline/wire"
)

// UsageError is a mistake in the command line: exit code 2.
type UsageError struct{ error }

// Unwrap returns the mistake.
func (e UsageError) Unwrap() error { return e.error }

// Misused makes a UsageError. Its arguments are those of fmt.Errorf.
func Misused(format string, a ...any) error { return UsageError{fmt.Errorf(format, a...)} }

// QuietError ends a command with exit code 1 and prints nothing, because the output says everything.
type QuietError struct{ error }

// Quiet returns a QuietError. why is not shown; it is for readers of the code.
func Quiet(why string) error { return QuietError{errors.New(why)} }

// Hint adds a command that helps to an error of the library, which knows no commands.
func (a *App) Hint(err error) error {
	more := ""
	var readOnly *store.ReadOnlyError
	var refused *store.RefusedError
	var needed *trash.NeededError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, trash.ErrNotInTrash):
		more = "'treeline rm --list' lists those that are"
	case errors.Is(err, place.ErrNoSession) && strings.HasPrefix(err.Error(), "@last"):
		more = "'treeline ls --all' lists those of other directories"
	case errors.Is(err, place.ErrNoSession):
		more = "'treeline ls --all' lists them"
	case errors.Is(err, runs.ErrNoRun):
		more = "'treeline run ls --all' lists them"
	case errors.Is(err, place.ErrUnknownSource):
		more = "'treeline sources' lists them"
	case errors.As(err, &refused):
		more = "--force writes it anyway"
	case errors.As(err, &readOnly) && readOnly.Run:
		more = "'treeline run record' records one, 'treeline convert' makes a session of one"
	case errors.As(err, &readOnly):
		more = "'treeline convert' makes a session of it that can be written"
	case errors.As(err, &needed):
		more = "remove those first, or use --force"
	case errors.Is(err, export.ErrExists):
		more = "--force replaces it"
	case errors.Is(err, backend.ErrHeld):
		more = "close it, or use --force where the command has it"
	case errors.Is(err, drivers.ErrToken):
		more = "set " + TokenVariable + ", or add a line \"HOST\" = \"TOKEN\" to " + a.TokensFile()
	default:
		return OncePath(err)
	}
	if a.Archive != "" {
		more = strings.Replace(more, " ls --all'", " ls --all --store URL'", 1)
	}
	return fmt.Errorf("%w; %s", err, more)
}

// MostProblems is the number of problems that a reading command prints before it refers to check.
const MostProblems = 10

// Problems prints the problems of a session that a command reads on stderr. They do not change the exit code, because stdout has what could
// be read.
func (a *App) Problems(list []session.Problem) {
	for i, p := range list {
		if i == MostProblems {
			of := p.File
			if slices.ContainsFunc(list, func(other session.Problem) bool { return other.File != of }) {
				of = "--all"
			}
			a.Notice(fmt.Sprintf("and %d more problems; 'treeline check %s' lists them", len(list)-i, of))
			return
		}
		a.Report(wire.Message{Problem: &p}, p.String())
	}
}

// Unread reports that a place or a log could not be read.
func (a *App) Unread(err error) { a.Notice(unread(err).Error()) }

// unread removes the name of the system call from an error.
func unread(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return AtPath(p.Path, p)
	}
	return err
}

// OncePath leaves the name of the system call and the second path out of an error such as "a: open a: permission denied". The first path
// may be only the end of the second, as in the errors of backends.
func OncePath(err error) error {
	var p *fs.PathError
	if !errors.As(err, &p) {
		return err
	}
	before, ok := strings.CutSuffix(err.Error(), ": "+p.Error())
	name := before
	if i := strings.LastIndex(before, ": "); i >= 0 {
		name = before[i+len(": "):]
	}
	if !ok || name != p.Path && !strings.HasSuffix(filepath.ToSlash(p.Path), "/"+name) {
		return err
	}
	return fmt.Errorf("%s%s: %w", strings.TrimSuffix(before, name), p.Path, p.Err)
}

// AtPath removes the name of the system call from an error.
func AtPath(path string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// OpenError rewords the error for a session or a run that could not be opened.
func OpenError(path string, err error) error {
	var p *session.Problem
	var ofRun *runlog.Problem
	switch {
	case errors.Is(err, backend.ErrNotExist) && backend.Scheme(path) != "":
		return fmt.Errorf("%s: there is no such session", path)
	case errors.Is(err, backend.ErrNotExist):
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
			return fmt.Errorf("%s: it is not a regular file", path)
		}
		return fmt.Errorf("%s: no such file", path)
	case errors.As(err, &p):
		return p // it names the file
	case errors.As(err, &ofRun):
		return fmt.Errorf("%s: %w; the file was not changed", path, ofRun)
	}
	return OncePath(err)
}
