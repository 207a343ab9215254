package backend

import (
	"context"
	"io"
	"iter"
	"slices"
	"strings"
	"time"
)

// An archive keeps the logs of many stores: a database, or a server in front of one. Names in it begin with the origin of a
// log and the source that it comes from there: ORIGIN/SOURCE/NAME, where NAME is that in the source. The origin is the identity
// of a store, mostly a machine. So two machines never write to the same log, whatever they call their sessions. Driver.Archive
// tells archives from other places.

// SplitArchived takes the name of a log in an archive apart; ok is false for a name without an origin and a source.
func SplitArchived(name string) (origin, source, rest string, ok bool) {
	origin, rest, _ = strings.Cut(name, "/")
	source, rest, ok = strings.Cut(rest, "/")
	return origin, source, rest, ok && origin != "" && source != "" && rest != ""
}

// Foldered is a Backend that lists folders without listing the logs in them.
type Foldered interface {
	// Folders gives the names of the folders directly below a folder, in byte order. "" is the root. A folder is there if a
	// log is below it.
	Folders(ctx context.Context, folder string) ([]string, error)
}

// Folders gives the folders directly below a folder of any Backend; see Foldered.
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

// Sourced is a Foldered Backend that lists all sources of an archive at once. With many machines that is much faster than
// asking for those of each.
type Sourced interface {
	// Sources gives the folders ORIGIN/SOURCE below the root of an archive, in no order. A folder is there if a log is below it.
	Sources(ctx context.Context) ([]string, error)
}

// Mirror is a Backend that can keep exact copies of the logs of other backends. A copy may end in an unterminated line.
type Mirror interface {
	// Extend adds bytes to a log of lines, exactly after the last one: they may continue an unterminated line and end in one.
	// It mends nothing. Without bytes it only compares and notes the mark; the log stays the same. ErrConflict if the log
	// is no longer at, or is gone; ErrRecord for a whole log; the error of content as it is. All or nothing: after an error
	// the log is as it was, unless the outcome is unknown as that of an Append can be. The Backend may keep content in
	// memory, so extend a log by much in several steps.
	Extend(ctx context.Context, at Log, mark string, content io.Reader) (Log, error)
	// Overwrite replaces the content of a log by these bytes, whatever they are, as Replace does: atomically, and with a new
	// generation. If at has only a name, it creates the log: ErrExist if there is one. The error of content is returned as it
	// is, and nothing is changed. Content is not kept in memory if the Backend is a Streamer.
	Overwrite(ctx context.Context, at Log, mark string, content io.Reader) (Log, error)
	// Marks yields the logs whose name begins with prefix as List does, with what Extend or Overwrite last noted about
	// each, and also those that were removed, as far as the Backend remembers them. A log that was removed and made again
	// is yielded once, as one that is there. A Log from Marks is good for Extend, Overwrite and Remove if the Backend keeps
	// marks; otherwise call Stat first, as for List.
	Marks(ctx context.Context, prefix string) iter.Seq2[Marked, error]
}

// Marked is a log and what the program that copied it noted.
type Marked struct {
	Log
	// Mark is a short text that means nothing to the Backend. Other mutations leave it as it is. A Backend that keeps no
	// marks gives "".
	Mark string
	// Removed is when the log was removed; zero if it was not.
	Removed time.Time
}

// Identified is an archive that can be told from others, whatever its address is.
type Identified interface {
	// Identity is a text that no other archive has. It is "" while nothing was ever written there.
	Identity(ctx context.Context) (string, error)
}
