package logs

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/remote/protocol"
	"github.com/treeline-dev/treeline/server/guard"
)

type contentParams struct {
	atParams
	From int64  `query:"from" doc:"where the bytes begin"`
	To   *int64 `query:"to" doc:"where they end; the default is the end of the log"`
	Tail int64  `query:"tail" doc:"how many bytes of the end of the log follow, unless the part before has them"`
	Hold bool   `query:"hold" doc:"keep the log open for a while, so that later requests with hold read it also after it was replaced"`
}

// content sends bytes of a log, in the state that the caller saw or as it is now.
func (l *Logs) content(c *Call, p contentParams) error {
	if err := p.check(); err != nil {
		return err
	}
	at, r, err := l.open(c, p)
	if err != nil {
		return err
	}
	defer r.Close()
	to := at.Size
	if p.To != nil {
		to = min(*p.To, at.Size)
	}
	if p.From < 0 || p.From > to || p.Tail < 0 {
		return guard.Refuse(http.StatusBadRequest, "%.80s: bytes %d to %d are outside of the log's %d", p.Name, p.From, to, at.Size)
	}
	tail := min(p.Tail, at.Size-to)
	protocol.Describe(c.W.Header(), at)
	s := l.begin(c, protocol.Bytes, to-p.From+tail)
	err = s.stream(r, p.From, to-p.From)
	if err == nil {
		err = s.stream(r, at.Size-tail, tail)
	}
	if err != nil && s.begun {
		abort(err)
	}
	if err == nil && !s.begun {
		s.header() // no bytes follow
	}
	return err
}

// open opens the log of a request.
func (l *Logs) open(c *Call, p contentParams) (at backend.Log, r backend.Reader, err error) {
	at = p.log()
	ctx, by := c.ctx(), ""
	seen, err := l.seen(c, p.Name, false)
	if err != nil {
		return at, nil, err
	}
	if c.May != nil {
		// An earlier state of the log may belong to another project. Only the caller that was allowed to open it may go on reading it.
		by = c.Writer.Name
	}
	if p.Hold && at.Generation != "" {
		if r := l.held.find(by, at); r != nil {
			return at, r, nil
		}
	}
	switch {
	case c.May != nil && at.Generation == "":
		at = seen
	case c.May != nil && at.Generation != seen.Generation:
		return at, nil, fmt.Errorf("%s: %w", p.Name, backend.ErrChanged)
	}
	if at.Generation == "" {
		at, r, err = backend.OpenNow(ctx, l.b, p.Name)
	} else {
		r, err = backend.OpenLog(ctx, l.b, at)
	}
	if err != nil {
		return at, nil, err
	}
	if p.Hold {
		r = l.held.keep(by, at, r)
	}
	return at, r, nil
}

// Bounds of the logs that are held open.
const (
	holdMost = 256
	holdTime = 10 * time.Minute
)

// holding has open logs that callers read part by part. Such a log can be read in the state that the caller saw, even after it was replaced
// or removed, until too many other logs are held.
type holding struct {
	mu   sync.Mutex
	list []*heldLog // the most recently used one is last
}

// heldLog is an open log. users counts the requests that read it, plus one while it is in holding.list.
type heldLog struct {
	backend.Reader
	h     *holding
	at    backend.Log
	by    string // the limited caller that opened it; "" for callers that may read everything
	used  time.Time
	users int
}

// find returns the log in the state that a caller saw, if it is held.
func (h *holding) find(by string, at backend.Log) *heldLog {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.IndexFunc(h.list, func(l *heldLog) bool {
		return l.by == by && l.at.Name == at.Name && l.at.Generation == at.Generation && l.at.Size >= at.Size
	})
	if i < 0 {
		return nil
	}
	l := h.list[i]
	h.list = append(slices.Delete(h.list, i, i+1), l)
	l.used = time.Now()
	l.users++
	return l
}

// keep holds an open log.
func (h *holding) keep(by string, at backend.Log, r backend.Reader) *heldLog {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	for len(h.list) > 0 && (len(h.list) >= holdMost || now.Sub(h.list[0].used) > holdTime) {
		h.list[0].release()
		h.list = slices.Delete(h.list, 0, 1)
	}
	l := &heldLog{Reader: r, h: h, at: at, by: by, used: now, users: 2}
	h.list = append(h.list, l)
	return l
}

// release ends one use. The caller holds the lock of holding.
func (l *heldLog) release() {
	if l.users--; l.users == 0 {
		_ = l.Reader.Close() // it was only read
	}
}

// Close ends the use by one request.
func (l *heldLog) Close() error {
	l.h.mu.Lock()
	defer l.h.mu.Unlock()
	l.release()
	return nil
}

// drop releases all logs.
func (h *holding) drop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.list {
		l.release()
	}
	h.list = nil
}
