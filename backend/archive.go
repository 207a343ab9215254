package backend

import (
	"context"
	"io"
	"iter"
	"slices"
	"strings"
	"time"
)

// An archive keeps the logs of many machines: a database, or a server in front of one. The name of a log in it is ORIGIN/SOURCE/NAME: the
// origin is the identity of the machine that the log comes from, the source is a place on that machine, and NAME is the log's name in the
// source. So two machines never write to the same log, whatever they call their sessions. Driver.Archive tells archives from other places.

// SplitArchived splits the name of a log in an archive; ok is false for a name without an origin and a source.
func SplitArchived(name string) (origin, source, rest string, ok bool) {
	origin, rest, _ = strings.Cut(name, "/")
	source, rest, ok = strings.Cut(rest, "/")
	return origin, source, rest, ok && origin != "" && source != "" && rest != ""
}

// Foldered is a Backend that lists folders without listing the logs in them.
type Foldered interface {
	// Folders returns the names of the folders directly below a folder, in byte order. "" is the root. A folder exists if a log is below
	// it.
	Folders(ctx context.Context, folder string) ([]string, error)
}

// Folders returns the folders directly below a folder of any Backend; see Foldered.
func Folders(ctx context.Context, b Backend, folder string) ([]string, error) {
	if f, ok := b.(Foldered); ok {
		return f.Folders(ctx, folder)
	}
	if folder != "" {
		folder += "/"
	}
	var list []string
	for l, err := range b.List(ctx, folder) {
		if err != nil {
			return list, err
		}
		name, _, ok := strings.Cut(strings.TrimPrefix(l.Name, folder), "/")
		if ok && (len(list) == 0 || list[len(list)-1] != name) {
			list = append(list, name)
		}
	}
	slices.Sort(list) // "a.b/" comes before "a/", but "a" before "a.b"
	return list, nil
}

// Sourced is a Foldered Backend that lists all sources of an archive at once. With many machines that is much faster than listing those of
// each machine.
type Sourced interface {
	// Sources returns the folders ORIGIN/SOURCE below the root of an archive, in any order. A folder exists if a log is below it.
	Sources(ctx context.Context) ([]string, error)
}

// Mirror is a Backend that can keep exact copies of the logs of other backends. A copy may end in an unterminated line.
type Mirror interface {
	// Extend adds bytes to a log of lines, exactly after the last one: they may continue an unterminated line and end in one. It mends
	// nothing. Without bytes it only compares and stores the mark; the log stays the same. ErrConflict if the log is no longer at, or is
	// gone; ErrRecord for a whole log; an error of content is returned as it is. All or nothing: after an error the log is as it was,
	// unless the outcome is unknown, as it can be for Append. The Backend may keep content in memory, so extend a log by much in several
	// steps.
	Extend(ctx context.Context, at Log, mark string, content io.Reader) (Log, error)
	// Overwrite replaces the content of a log by these bytes, whatever they are, as Replace does: atomically, and with a new generation. If
	// at has only a name, it creates the log: ErrExist if there is one. An error of content is returned as it is, and nothing is changed.
	// Content is not kept in memory if the Backend is a Streamer.
	Overwrite(ctx context.Context, at Log, mark string, content io.Reader) (Log, error)
	// Marks yields the logs whose name begins with prefix as List does, with the mark that Extend or Overwrite last stored for each. It
	// also yields logs that were removed, as far as the Backend remembers them. A log that was removed and made again is yielded once, as
	// an existing one. A Log from Marks is good for Extend, Overwrite and Remove if the Backend keeps marks; otherwise call Stat first, as
	// for List.
	Marks(ctx context.Context, prefix string) iter.Seq2[Marked, error]
}

// Marked is a log and its mark.
type Marked struct {
	Log
	// Mark is a short text that means nothing to the Backend; the program that copied the log chose it. Other mutations leave it as it is.
	// A Backend that keeps no marks returns "".
	Mark string
	// Removed is when the log was removed; zero if it was not.
	Removed time.Time
}

// Identified is an archive that can be told from other archives, whatever its address is.
type Identified interface {
	// Identity returns a text that no other archive has. It is "" as long as nothing has been written there.
	Identity(ctx context.Context) (string, error)
}
