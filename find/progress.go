package find

import (
	"math"
	"sync"
)

// Progress is how far the reading of logs is.
type Progress struct {
	// Logs were read, of so many that are to be read; Bytes also of those that are being read. A log that went on from
	// where it was known counts as a whole. Neither ever becomes less, unless others took the catalogue away meanwhile: then
	// reading begins anew.
	Logs, OfLogs   int
	Bytes, OfBytes int64
}

// tellEvery is how far one goes in a log before that is told: a fraction of a second at most, and so rarely that it costs
// nothing.
const tellEvery = 1 << 20

// gauge counts for all who read logs, and tells.
type gauge struct {
	// It is the lock that keeping takes as well: whoever is told must be able to print, and so does whoever keeps.
	mu   *sync.Mutex
	p    Progress
	tell func(Progress) // may be nil
}

// headway says that a log is read up to a byte. Somebody who keeps what he read is not waited for: there is more to tell
// soon.
func (g *gauge) headway(r *errand, at int64) {
	if !g.mu.TryLock() {
		return
	}
	defer g.mu.Unlock()
	// It may have grown since the list, or be read a second time.
	if at = min(at, r.log.Size); at > r.told {
		g.p.Bytes += at - r.told
		r.told = at
		g.tell(g.p)
	}
}

// done says that a log is read. The caller has the lock.
func (g *gauge) done(r *errand) {
	g.p.Logs++
	g.p.Bytes += r.log.Size - r.told
	if g.tell != nil {
		g.tell(g.p)
	}
}

// next gives the byte from which on a reader who is at another one tells again.
func (g *gauge) next(at int64) int64 {
	if g.tell == nil {
		return math.MaxInt64
	}
	return at + tellEvery
}
