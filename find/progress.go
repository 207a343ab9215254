package find

import (
	"math"
	"sync"
)

// Progress is how far the reading of logs is.
type Progress struct {
	// Logs of OfLogs logs were read, and Bytes of OfBytes bytes, including those of logs that are being read. A log that
	// was continued counts as a whole. Neither decreases, unless another process removed the catalogue meanwhile; then the
	// reading begins again.
	Logs, OfLogs   int
	Bytes, OfBytes int64
}

// tellEvery is how many bytes of a log are read between two reports: a fraction of a second, and rare enough to cost
// nothing.
const tellEvery = 1 << 20

// meter counts for all workers and reports.
type meter struct {
	mu   *sync.Mutex // shared with commits, which may report to the caller as well
	p    Progress
	tell func(Progress) // may be nil
}

// reached reports that a log is read up to a byte. It does not wait for a worker that is committing: the next report
// follows soon.
func (g *meter) reached(j *job, at int64) {
	if !g.mu.TryLock() {
		return
	}
	defer g.mu.Unlock()
	// The log may have grown since it was listed, or be read a second time.
	if at = min(at, j.log.Size); at > j.told {
		g.p.Bytes += at - j.told
		j.told = at
		g.tell(g.p)
	}
}

// done reports that a log is read. The caller holds the lock.
func (g *meter) done(j *job) {
	g.p.Logs++
	g.p.Bytes += j.log.Size - j.told
	if g.tell != nil {
		g.tell(g.p)
	}
}

// next is the byte at which a reader that is at another one reports again.
func (g *meter) next(at int64) int64 {
	if g.tell == nil {
		return math.MaxInt64
	}
	return at + tellEvery
}
