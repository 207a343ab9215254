// Package push copies sessions between the sources of a machine and an archive: Push to it, Pull from it.
//
// # What is copied
//
// Every log that a source owns and every file in the folder of a session, byte for byte, including an unterminated last line; and the blobs
// that the logs refer to. A log is named ORIGIN/SOURCE/NAME in the archive (see package backend). A log that the agent keeps compressed is
// copied uncompressed, under its plain name. Only what is new is transferred: the bytes after those that the copy holds, and blobs that the
// archive does not have for the log. Blobs are sent first, so no record ever names a missing blob.
//
// # Watermarks
//
// A watermark says how many bytes of the original the copy holds, and the state of both at that time. It belongs to the identity of the
// archive, not to its address. It is kept in a file of treeline's state folder, one line per change, and in the mark of the copy (see
// backend.Mirror), which is written together with the copy. So a push that is killed at any point continues where it was, and a lost state
// folder is rebuilt from the marks. Bytes that were pulled but are in no watermark are recognized by comparing them. A log whose stamp is
// that of its watermark is not opened.
//
// A log has grown if logtree.Tail says so or if the bytes that the copy holds still have the hash of the watermark. Any other changed log
// was rewritten: it replaces its copy. An archive keeps the replaced copy for some time.
//
// # Divergence
//
// A copy can be written in the archive, too. If only one side has grown, the other is behind: Push or Pull brings it up to date.
// If both have grown since the last common byte, they have diverged. Nothing is overwritten:
//
//   - If entries name their parents and no id occurs in both new parts, the other side's new part is added after the own one. The
//     log then has both, as branches. The watermark remembers which bytes of the copy came from elsewhere, so that they are
//     pulled once and never pushed back.
//   - Otherwise the other side's log becomes a fork: a session of its own with another id, which is derived from its name and its
//     first new record, so that both directions make the same fork.
//
// Both are reported.
//
// # Redaction
//
// A redacted copy has one record for each record of the original, without the secrets that package internal/redact finds in that record.
// The same record always gives the same bytes. Watermarks count bytes of the original. An unterminated last line waits until it is
// complete, or until the log has not changed for a minute. Files that are not made of lines are redacted as one text. Images are copied
// unchanged. A blob that is not an image and has a secret is not copied. The mark of the copy has the version of the rules, and
// whether they found anything. If they did not, the copy is as good as an exact one, and is pulled into its origin. Older marks do not say so;
// then the copy is clean if it has the hash of the original. Any other redacted copy is pulled into its origin only if that is
// asked for, and only if the original is not there: a redacted text never replaces an original, and is never added to one. From then on, what
// was pulled is the original.
//
// # Deletions
//
// A log that is removed at its origin stays in the archive unless deletions are asked for, and a pull brings it back only if that is asked
// for: the watermark says that it was here. A session that is here in another folder is not pulled. A log that may be on a disk that is not
// mounted (see backend.Scattered) is not removed, and one that is back is copied again. A pulled tombstone moves the local
// log to the trash, and only if it is still what was pulled or pushed.
package push

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/place"
)

// Errors that callers can distinguish with errors.Is.
var (
	// ErrNoMirror means that the place cannot keep copies of logs.
	ErrNoMirror = errors.New("it cannot keep copies of logs")
	// ErrNoOrigin means that the machine has no identity, so its logs have no names in an archive.
	ErrNoOrigin = errors.New("this machine has no identity for archives")
)

// Options are the options of a Copier.
type Options struct {
	Machine *place.Machine
	// Origin is the identity of this machine in archives.
	Origin string
	// State is treeline's own folder, for watermarks; "" means that none are kept, so all are rebuilt from marks.
	State string
	// Pulled is the folder for logs of other origins: ORIGIN/SOURCE/NAME below it.
	Pulled string
	// Trash moves the log at a path to the trash.
	Trash func(ctx context.Context, path string) error
	// Step is the least number of bytes of a log that are copied in one step. A step ends with a line, and is kept even if the next one
	// fails. 0 means 8 MB.
	Step int
	// Clock returns the time; nil means the machine's clock.
	Clock func() time.Time
}

// Copier copies between a machine and archives. Only one Push or Pull may run at a time.
type Copier struct {
	opt Options
	m   *place.Machine
}

// New returns a Copier.
func New(opt Options) *Copier {
	if opt.Clock == nil {
		opt.Clock = time.Now
	}
	if opt.Step <= 0 {
		opt.Step = 8 << 20
	}
	return &Copier{opt: opt, m: opt.Machine}
}

// Target is an archive. Names in its Backend begin with the origin.
type Target struct {
	Backend backend.Backend
	// Shown is its address as it is shown to people.
	Shown string
}

// mirror returns the archive as a backend.Mirror.
func (t Target) mirror() (backend.Mirror, error) {
	m, ok := t.Backend.(backend.Mirror)
	if !ok {
		return nil, fmt.Errorf("%s: %w", t.Shown, ErrNoMirror)
	}
	return m, nil
}

// identity returns the identity that watermarks belong to, or "" if nothing was ever written there.
func (t Target) identity(ctx context.Context) (string, error) {
	if i, ok := t.Backend.(backend.Identified); ok {
		if id, err := i.Identity(ctx); !errors.Is(err, errors.ErrUnsupported) {
			return id, err
		}
	}
	return t.Shown, nil
}

// Filter chooses what is copied. The zero value chooses everything.
type Filter struct {
	// Sources are names of agents, as place.Machine.CheckSource accepts them, or of sources in the archive.
	Sources []string
	// Since excludes logs that were last changed before it.
	Since time.Time
	// Project, if set, reports whether the sessions of a working directory are shared. Files that belong to no session are then not copied.
	Project func(cwd string) bool
}

// Fate is the outcome for a log.
type Fate string

// The fates of logs.
const (
	Unchanged Fate = "unchanged" // both sides are equal
	Created   Fate = "created"   // the other side did not have it
	Extended  Fate = "extended"  // the new part was added
	Replaced  Fate = "replaced"  // it was rewritten, or is redacted in another way now
	Removed   Fate = "removed"   // its tombstone was passed on
	Branched  Fate = "branched"  // it had diverged; it has both parts now
	Forked    Fate = "forked"    // it had diverged; the other side's log is a session of its own now
	Ahead     Fate = "ahead"     // the other side has more; the other direction copies it
	Absent    Fate = "absent"    // it was removed here, and stays removed unless PullOptions.Removed is set
	Withheld  Fate = "withheld"  // it is not copied; Event.Why says why
	Failed    Fate = "failed"    // Event.Err says why
)

// Changes reports whether a log of that fate was written or removed.
func (f Fate) Changes() bool {
	switch f {
	case Created, Extended, Replaced, Removed, Branched, Forked:
		return true
	}
	return false
}

// Fates lists the fates in the order in which they are shown.
var Fates = []Fate{Created, Extended, Replaced, Removed, Branched, Forked, Ahead, Absent, Withheld, Failed, Unchanged}

// Event reports the outcome for one log.
type Event struct {
	// Name is the name in the archive, and Path the path of the log on this machine.
	Name, Path string
	Fate       Fate
	// Bytes is the number of bytes that were copied, or would be.
	Bytes int64
	// Fork is the name in the archive, or the path, of the session that the other side's log became.
	Fork string
	// Redacted means that the log here is a redacted copy of an original that this machine has lost.
	Redacted bool
	// Why says why the log was withheld.
	Why string
	Err error
}

// Progress says how far a Push or Pull is.
type Progress struct {
	// Logs of Total logs and Bytes of OfBytes bytes are done.
	Logs, Total    int
	Bytes, OfBytes int64
}

// Report says what was done.
type Report struct {
	// Logs counts logs by their fate.
	Logs map[Fate]int
	// Bytes of logs were copied, and Blobs blobs with BlobBytes bytes.
	Bytes     int64
	Blobs     int
	BlobBytes int64
	// Secrets is the number of secrets that were replaced.
	Secrets int
	// Problems are those of sources and blobs. Those of logs are reported as events.
	Problems []error
}

// meter collects the report while workers copy.
type meter struct {
	mu       sync.Mutex
	report   Report
	at       Progress
	event    func(Event)
	progress func(Progress)
}

func newMeter(event func(Event), progress func(Progress)) *meter {
	m := &meter{event: event, progress: progress}
	m.report.Logs = map[Fate]int{}
	return m
}

// done reports the outcome for a log.
func (m *meter) done(e Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.report.Logs[e.Fate]++
	m.at.Logs++
	if m.event != nil && e.Fate != Unchanged {
		m.event(e)
	}
	m.tell()
}

// sent counts bytes of logs that were copied, and secrets that were replaced.
func (m *meter) sent(n int64, secrets int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.report.Bytes += n
	m.report.Secrets += secrets
	m.at.Bytes += n
	m.tell()
}

// blob counts a blob that was copied.
func (m *meter) blob(size int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.report.Blobs++
	m.report.BlobBytes += int64(size)
}

// problem adds a problem that does not belong to a log.
func (m *meter) problem(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.report.Problems = append(m.report.Problems, err)
}

func (m *meter) tell() {
	if m.progress != nil {
		m.progress(m.at)
	}
}

// workers returns the number of logs that are copied at once. It may exceed the number of processors, since most of the time is spent
// waiting for the archive.
func workers(given int) int {
	if given > 0 {
		return given
	}
	return min(16, 4+2*runtime.GOMAXPROCS(0))
}

// each calls do for the numbers from 0 to n-1, from several goroutines, until ctx ends.
func each(ctx context.Context, n, workers int, do func(i int)) {
	var group sync.WaitGroup
	next := make(chan int)
	for range min(n, workers) {
		group.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		select {
		case next <- i:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(next)
	group.Wait()
}
