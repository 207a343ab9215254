// Package push copies sessions between the sources of a machine and an archive: Push to it, Pull from it.
//
// # What is copied
//
// Every log that a source owns, and every file in the folder of a session, byte for byte, an unterminated last line included;
// and the blobs that the logs refer to. A log is ORIGIN/SOURCE/NAME in the archive (see package backend). A log that the agent
// keeps compressed has its plain name and its content there. Only what is new travels: the bytes after those that the copy
// holds, and blobs that the archive does not have for the log. Blobs go first, so no record ever names a missing blob.
//
// # Watermarks
//
// A watermark says how many bytes of the original the copy holds, and what both were then. It belongs to the identity of the
// archive, not to its address. It is kept in a file of treeline's state folder, a line for each change, and in the mark of the
// copy (see backend.Mirror), with the copy in one step. So a push that is killed anywhere goes on where it was, and a state
// folder that is lost is rebuilt from the marks. What was pulled and is in no watermark is recognised by its bytes. A log whose
// stamp is that of its watermark is not opened.
//
// A log has grown if logtree.Tail says so, and otherwise if the bytes that the copy holds have the hash of the watermark. Any
// other log was rewritten: it replaces its copy. An archive keeps the replaced one for some time.
//
// # Divergence
//
// A copy can be written in the archive, too. If only one side has grown, the other is behind: Push or Pull brings it up to date.
// If both have grown since the last common byte, they have diverged. Nothing is overwritten:
//
//   - Where entries name their parents and no id occurs in both new parts, the new part of the other side is added after one's
//     own. The log then has both, as branches. The watermark remembers which bytes of the copy came from elsewhere, so that
//     they are pulled once and never pushed back.
//   - Otherwise the other side's log becomes a fork: a session of its own with another id, which is made of its name and its
//     first new record, so that both directions make the same one.
//
// Both are reported.
//
// # Redaction
//
// A redacted copy has one record for each record of the original, without the secrets that package internal/redact finds in
// that record alone. The same record always gives the same bytes. Watermarks count bytes of the original. An unterminated last
// line waits until it is complete, or until the log has been left alone for a minute. Files that are no logs of lines are
// redacted as one text. Images travel as they are. A blob that is no image and has a secret stays here. The mark of the copy
// has the version of the rules. A redacted copy is never pulled into its origin.
//
// # Deletions
//
// A log that is removed at its origin stays in the archive unless deletions are asked for. A log that may be on a disk that is not
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

// Errors that callers tell apart with errors.Is.
var (
	// ErrNoMirror: the place cannot keep copies of logs.
	ErrNoMirror = errors.New("it cannot keep copies of logs")
	// ErrNoOrigin: the machine has no identity, so its logs have no names in an archive.
	ErrNoOrigin = errors.New("this machine has no identity for archives")
)

// Options say what a Copier works with.
type Options struct {
	Machine *place.Machine
	// Origin is the identity of this machine in archives.
	Origin string
	// State is treeline's own folder, for watermarks; "" keeps none, so that all are rebuilt from marks.
	State string
	// Pulled is the folder for logs of other origins: ORIGIN/SOURCE/NAME below it.
	Pulled string
	// Trash moves the log at a path to the trash.
	Trash func(ctx context.Context, path string) error
	// Step is how many bytes of a log travel in one step, at least; a step ends with a line, and is kept even if the next one fails.
	// 0 is 8 MB.
	Step int
	// Clock is the time; nil is that of the machine.
	Clock func() time.Time
}

// Copier copies between a machine and archives. One Push or Pull at a time.
type Copier struct {
	opt Options
	m   *place.Machine
}

// New gives a Copier.
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
	// Shown is its address as people may see it.
	Shown string
}

// mirror gives the archive as a place for copies.
func (t Target) mirror() (backend.Mirror, error) {
	m, ok := t.Backend.(backend.Mirror)
	if !ok {
		return nil, fmt.Errorf("%s: %w", t.Shown, ErrNoMirror)
	}
	return m, nil
}

// identity is what watermarks belong to; "" if nothing was ever written there.
func (t Target) identity(ctx context.Context) (string, error) {
	if i, ok := t.Backend.(backend.Identified); ok {
		if id, err := i.Identity(ctx); !errors.Is(err, errors.ErrUnsupported) {
			return id, err
		}
	}
	return t.Shown, nil
}

// Filter chooses what is copied. The zero value is everything.
type Filter struct {
	// Sources are names of agents, as place.Machine.CheckSource takes them, or of sources in the archive.
	Sources []string
	// Since leaves out logs that were last changed before.
	Since time.Time
	// Project, if set, says by the working directory of a session whether it is shared. What belongs to no session is not.
	Project func(cwd string) bool
}

// Fate is what became of a log.
type Fate string

// The fates of logs.
const (
	Unchanged Fate = "unchanged" // both sides are equal
	Created   Fate = "created"   // the other side did not have it
	Extended  Fate = "extended"  // what was new was added
	Replaced  Fate = "replaced"  // it was rewritten, or is to be redacted in another way
	Removed   Fate = "removed"   // its tombstone was passed on
	Branched  Fate = "branched"  // it had diverged, and has both parts now
	Forked    Fate = "forked"    // it had diverged, and the other side's is a session of its own now
	Ahead     Fate = "ahead"     // the other side has more; the other direction copies it
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

// Fates lists them in the order in which they are told.
var Fates = []Fate{Created, Extended, Replaced, Removed, Branched, Forked, Ahead, Withheld, Failed, Unchanged}

// Event tells what became of one log.
type Event struct {
	// Name is that in the archive, Path that of the log here.
	Name, Path string
	Fate       Fate
	// Bytes is how many bytes travelled, or would.
	Bytes int64
	// Fork is the name in the archive, or the path, of the session that the other side's became.
	Fork string
	// Why says why it was withheld.
	Why string
	Err error
}

// Progress is how far a Push or Pull is.
type Progress struct {
	// Logs and Bytes are done, of Total logs and OfBytes bytes.
	Logs, Total    int
	Bytes, OfBytes int64
}

// Report says what was done.
type Report struct {
	// Logs counts logs by their fate.
	Logs map[Fate]int
	// Bytes of logs travelled, and Blobs with BlobBytes.
	Bytes     int64
	Blobs     int
	BlobBytes int64
	// Secrets were replaced.
	Secrets int
	// Problems are of sources and blobs; those of logs are events.
	Problems []error
}

// meter collects a report while workers copy.
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

// done tells of a log.
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

// sent counts bytes of logs that travelled.
func (m *meter) sent(n int64, secrets int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.report.Bytes += n
	m.report.Secrets += secrets
	m.at.Bytes += n
	m.tell()
}

// blob counts a blob that travelled.
func (m *meter) blob(size int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.report.Blobs++
	m.report.BlobBytes += int64(size)
}

// problem notes what is wrong beside a log.
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

// workers is how many logs are copied at once: an archive is mostly waited for.
func workers(given int) int {
	if given > 0 {
		return given
	}
	return min(16, 4+2*runtime.GOMAXPROCS(0))
}

// each calls do for the numbers below n, from several goroutines, until ctx ends.
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
