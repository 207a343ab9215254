// Package watch follows what other programs write to sessions.
//
// Watch yields a Change for each session that appears and each entry that is written, until its context ends. It only reads. A watcher
// checks the places of a machine (watcher.go), gets hints from their backends about which logs changed (hints.go), and follows each log
// (follow.go): a logtree.Tail finds out how the log changed and yields its new records, which are decoded and reported (read.go). start.go
// reads what exists before the first change is reported.
package watch

import (
	"context"
	"iter"
	"time"

	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
)

// Kind is the kind of a Change.
type Kind string

// The kinds of changes.
const (
	KindStart     Kind = "start"     // everything written from now on will be reported
	KindSession   Kind = "session"   // a session appeared, or its header changed
	KindEntry     Kind = "entry"     // an entry was written
	KindReplaced  Kind = "replaced"  // another log took the name: entries may be gone or different
	KindTruncated Kind = "truncated" // the end of the log was cut off
	KindRemoved   Kind = "removed"   // the log is gone
	KindProblem   Kind = "problem"   // something is wrong with a log, a folder or the watch itself
)

// Change is what happened to a session.
type Change struct {
	Kind Kind
	// Path is the log's path. Dialect reads the log; it is nil until it is known.
	Path    string
	Dialect dialect.Dialect
	// Header is the log's header. Title is the session's name: that of the last entry that has one, else that of the header. Prompt is the
	// first text of the user.
	Header        session.Header
	Title, Prompt string
	// Entry is the entry of a KindEntry, and Raw its record.
	Entry session.Entry
	Raw   session.Raw
	// Sessions is how many sessions are watched, in a KindStart.
	Sessions int
	// Err is the problem of a KindProblem: a *session.Problem if it has a place in a log.
	Err error

	blobs blob.Reader
}

// Body decodes the entry of a KindEntry. Like Parts and Time it works on Raw, whatever becomes of the log.
func (c Change) Body() (session.Body, error) { return c.Dialect.Codec().Body(c.Entry, c.Raw) }

// Parts returns the content of the entry in neutral form.
func (c Change) Parts() ([]session.Part, error) { return c.Dialect.Codec().Parts(c.Entry, c.Raw) }

// Time returns when the entry was made, if it has a time.
func (c Change) Time() session.Time { return c.Dialect.Codec().Time(c.Raw) }

// Blob reads the blob that a reference in the entry names, or returns why it cannot.
func (c Change) Blob(ctx context.Context, ref string) ([]byte, *session.Problem) {
	return logtree.Blobs{Path: c.Path, Dialect: c.Dialect, Reader: c.blobs}.Get(ctx, ref)
}

// Options say what is watched, and how.
type Options struct {
	// Path is the one session to watch; "" watches those of all sources.
	Path string
	// CWD, if set, keeps the sessions of that working directory, as place.ListOptions does.
	CWD string
	// Here, if set, returns the paths of the sessions of CWD at the time of the call. Without it, or if it returns nil, the ends of all
	// logs are read at the start.
	Here func(ctx context.Context) (map[string]bool, error)
	// Dialect, if set, reads every log.
	Dialect dialect.Dialect
	// Last is how many of the existing entries are reported first: the last ones of all sessions together, ordered by time. AllEntries
	// reports all of them, session by session.
	Last int
	// Interval is how often logs are checked without a hint from their backend. 0 means once a minute if the backend reports changes, and
	// every 2 seconds if it does not; set it for files that another machine changes. It is stretched until checking takes at most a
	// hundredth of the time: ten thousand logs, which take about 50 ms, are checked every five seconds at most.
	Interval time.Duration
	// Read, if set, receives paths of logs to read before they change. An append to a log that was read costs only as much as the append,
	// however large the log is.
	Read <-chan string
	// NoHints does not ask the backends for changes.
	NoHints bool
	// Clock returns the time; nil means time.Now. After is time.After unless set.
	Clock func() time.Time
	After func(time.Duration) <-chan time.Time
}

// AllEntries is the Options.Last that reports all existing entries.
const AllEntries = -1

// Watch reports what programs write to sessions, until ctx is cancelled or the loop over it ends. It changes nothing. It ends with an error
// only if it cannot begin, because the one session to watch does not exist, or if the machine is closed.
//
// The first change is a KindStart. Every entry that is written after it is reported once, in the order of its log. A record without newline
// waits until it is whole; one of more than a megabyte waits for its newline. A session that appears is reported with a KindSession, and
// then from its first entry.
//
// A log that was replaced, truncated or removed is reported as such and is still followed. Entries are identified by their ids, or by their
// bytes if they have none, so one that comes back after a rewrite is not reported again, changed or not. Of removed logs the last 4,096 are
// remembered, with up to a million entries. At the start the newest 64 logs are read, up to 32 MB. If another one is replaced before it was
// read, the entries are reported whose time is not before the start, and those without a time.
//
// Hints from the backends (see backend.Watcher) make it fast, but it does not depend on them: all logs are checked again and again, see
// Options.Interval. Rewrites in place that keep the size and time of a file are not noticed.
//
// The sessions are those that place.Machine.List shows. Run logs are not among them, but a run log that Path names is reported like any
// other log.
func Watch(ctx context.Context, m *place.Machine, opt Options) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		w := newWatcher(m, opt, yield)
		defer w.close()
		err := w.begin(ctx)
		if err == nil {
			err = w.loop(ctx)
		}
		if err != nil && !w.left && ctx.Err() == nil {
			yield(Change{}, err)
		}
	}
}
