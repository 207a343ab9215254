package watch

import (
	"context"
	"iter"
	"time"

	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// ChangeKind says what a Change tells.
type ChangeKind string

// The kinds of changes.
const (
	ChangeStart     ChangeKind = "start"     // all that is written from now on will be told
	ChangeSession   ChangeKind = "session"   // a session appeared, or its header says something else than before
	ChangeEntry     ChangeKind = "entry"     // an entry was written
	ChangeReplaced  ChangeKind = "replaced"  // the log was put in the place of another: entries may have gone or changed
	ChangeTruncated ChangeKind = "truncated" // the end of the log was cut off
	ChangeRemoved   ChangeKind = "removed"   // the log is gone
	ChangeProblem   ChangeKind = "problem"   // something is wrong: with a log, a folder, or the watching itself
)

// Change is what happened to a session.
type Change struct {
	Kind ChangeKind
	// Path is the file, Dialect how it is read; nil where that is not known.
	Path    string
	Dialect dialect.Dialect
	// Header is what the log's first record says, Title what the session is called now: what an entry said last, what the
	// header says, or else "". Prompt is what the user said first.
	Header        session.Header
	Title, Prompt string
	// Entry is the entry of a ChangeEntry, and Raw its record.
	Entry session.Entry
	Raw   session.Raw
	// Sessions is, for a ChangeStart, how many are watched.
	Sessions int
	// Err is what a ChangeProblem is about. It is a *session.Problem where a place in a log can be named.
	Err error

	blobs blob.Reader
}

// Body, Parts and Time look into the entry of a ChangeEntry. They work on Raw, whatever becomes of the log.
func (c Change) Body() (session.Body, error) { return c.Dialect.Codec().Body(c.Entry, c.Raw) }

// Parts gives what is inside the entry in neutral form.
func (c Change) Parts() ([]session.Part, error) { return c.Dialect.Codec().Parts(c.Entry, c.Raw) }

// Time is when the entry was made, as far as it says so.
func (c Change) Time() session.Time { return c.Dialect.Codec().Time(c.Raw) }

// Blob reads the blob that a reference in the entry names, or says why it cannot.
func (c Change) Blob(ctx context.Context, ref string) ([]byte, *session.Problem) {
	return blobShelf{c.Path, c.Dialect, c.blobs}.get(ctx, ref)
}

// WatchOptions say what is watched, and how.
type WatchOptions struct {
	// Path is the file of the one session to watch; "" watches those of all sources.
	Path string
	// CWD, if set, keeps the sessions of that working directory, as ListOptions does.
	CWD string
	// Dialect, if set, reads every log.
	Dialect dialect.Dialect
	// Last is how many entries that are there already are told first: the last ones of all sessions together, in the order
	// of their times. AllEntries tells all of them, session by session.
	Last int
	// Interval is how often the logs are looked at when nobody says that they changed; 0 means 2 seconds. It is stretched
	// until looking takes no more than a hundredth of the time: ten thousand logs, which take some 50 ms, are looked at
	// every five seconds.
	Interval time.Duration
	// NoHints looks at the logs at each interval only, and does not ask the backends what changed.
	NoHints bool
	// Clock is the time; nil means time.Now. After gives a channel on which something comes after that time; nil means
	// time.After.
	Clock func() time.Time
	After func(time.Duration) <-chan time.Time
}

// AllEntries is the WatchOptions.Last that tells all entries there are.
const AllEntries = -1

func (o *WatchOptions) fill() {
	if o.Interval == 0 {
		o.Interval = 2 * time.Second
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.After == nil {
		o.After = time.After
	}
}

// Watch tells what is written to sessions, by whatever program, until ctx is cancelled or the loop over it is left. It
// changes nothing. It ends with an error only where it cannot begin: the one session to watch is not there.
//
// The first change is a ChangeStart. Every entry that is written after it is told once, in the order of its log: what was
// there before is found out before anything is told. A record without newline waits until it is whole, one of more than
// a megabyte until it has its newline. A session that appears is told with a ChangeSession, and then from its first entry.
//
// A log that was replaced, cut or removed says so, and goes on: what was told stays told. Entries are known by their ids,
// or by their bytes where they have none, so one that comes back after a rewrite is not told again, changed or not. A log
// that was not read yet (of those that are there at the start, the newest 64 are, up to 32 MB) and is replaced all at once
// shows the entries whose time is not before the start, and those without a time.
//
// What the backends say of changes (see backend.Watcher) makes it fast and is not relied on: all logs are looked at
// again and again, see WatchOptions.Interval. Rewrites in place that keep size and time of a file are not noticed.
//
// Sessions are those that List shows. Run logs are not among them, but one that Path names is told like any other. States of
// a driver change as a whole and send no notifications: a save is found at the next look.
func (s *Store) Watch(ctx context.Context, opt WatchOptions) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		opt.fill()
		w := newWatcher(s, opt, yield)
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
