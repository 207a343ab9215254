package server

import (
	"bytes"
	"sync/atomic"
	"time"

	"github.com/treeline-dev/treeline/server/metrics"
)

// counts count what the server does, for Prometheus.
type counts struct {
	began     time.Time
	busy      atomic.Int64
	changes   atomic.Int64 // that the watch reported
	refreshes atomic.Int64 // reads of the catalogue
	opened    atomic.Int64 // sessions
	grown     atomic.Int64 // times that an open session read what was appended
	answers   metrics.Answers
}

// writeMetrics writes all metrics in the text format of Prometheus.
func (s *Server) writeMetrics(b *bytes.Buffer) {
	m := &s.counts
	open, size := s.docs.count()
	metrics.Value(b, "treeline_requests_in_flight", "gauge", "Requests that are being answered.", m.busy.Load())
	metrics.Value(b, "treeline_event_clients", "gauge", "Clients of event streams.", s.live.Load())
	metrics.Value(b, "treeline_changes_total", "counter", "Changes of sessions that the watch told.", m.changes.Load())
	metrics.Value(b, "treeline_catalogue_refreshes_total", "counter", "How often the list of sessions was read.", m.refreshes.Load())
	metrics.Value(b, "treeline_sessions_opened_total", "counter", "Sessions that were read from their beginning.", m.opened.Load())
	metrics.Value(b, "treeline_sessions_grown_total", "counter", "How often an open session read on.", m.grown.Load())
	metrics.Value(b, "treeline_open_sessions", "gauge", "Sessions that are held open.", int64(open))
	metrics.Value(b, "treeline_open_sessions_bytes", "gauge", "Estimated memory of the open sessions.", size)
	metrics.Value(b, "treeline_uptime_seconds", "gauge", "Seconds since the start.", int64(s.opt.Clock().Sub(m.began).Seconds()))
	metrics.Runtime(b)
	m.answers.Write(b)
}

// metrics shows counts of all clients' requests, so a token that is limited to projects is refused.
func (r *request) metrics() error {
	if err := r.mustSeeAll(); err != nil {
		return err
	}
	return r.made("text/plain; version=0.0.4; charset=utf-8", func(b *bytes.Buffer) error {
		r.w.Header().Set("Cache-Control", "no-store")
		r.s.writeMetrics(b)
		return nil
	})
}
