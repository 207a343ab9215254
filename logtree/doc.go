// Package logtree reads one log with its dialect into a tree, and follows the log as it grows.
//
// Everything above it works on its results: Open reads a log, Records yields the raw records, Source reads single
// entries later, and only Tail decides whether a log has grown, was cut, or was replaced.
//
// The package knows backends and dialects by their interfaces. It knows no store, no folder of an agent and no index.
package logtree

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/session"
)

// ErrNotSession is wrapped by the error for a log that no dialect can read.
var ErrNotSession = errors.New("not a session")

// ErrClosed: the log was closed, and what is asked for is not in memory.
var ErrClosed = errors.New("session is closed")

// Retries limits how often a log is read again because another process rewrote it meanwhile.
const Retries = 100

// Named puts the path of a log before an error. An empty path leaves the error as it is. Damage that a backend found in a
// file of its own becomes a Problem, which names that file.
func Named(path string, err error) error {
	if err == nil || path == "" {
		return err
	}
	var damage *backend.DamageError
	var long *backend.LongLineError
	switch {
	case errors.As(err, &long):
		return &session.Problem{
			File: path, Line: long.Line, Offset: long.Offset, Kind: session.ProblemUnreadable, Message: long.Message(), Advice: long.Advice(),
		}
	case errors.As(err, &damage):
		return &session.Problem{
			File: damage.File, Line: damage.Line, Offset: damage.Offset, Kind: session.ProblemMalformed,
			Message: damage.Message, Advice: damage.Advice,
		}
	}
	return &pathError{path, err}
}

// pathError is an error of the log at a path. Backends name the log in their errors, too; their name is a part of the path
// and is not repeated.
type pathError struct {
	path string
	err  error
}

func (e *pathError) Error() string {
	text := e.err.Error()
	if strings.HasPrefix(text, e.path+":") { // a Problem
		return text
	}
	for {
		name, rest, ok := strings.Cut(text, ": ")
		if !ok || name != e.path && !strings.HasSuffix(filepath.ToSlash(e.path), "/"+name) {
			return e.path + ": " + text
		}
		text = rest
	}
}

func (e *pathError) Unwrap() error { return e.err }
