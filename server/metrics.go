package server

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// metrics count what the server does, for Prometheus.
type metrics struct {
	began     time.Time
	busy      atomic.Int64
	changes   atomic.Int64 // that the watch told
	refreshes atomic.Int64 // of the catalogue
	opened    atomic.Int64 // sessions
	grown     atomic.Int64 // sessions that were read on

	mu     sync.Mutex
	routes map[route]*tally
}

// route is a kind of answer.
type route struct {
	pattern string
	status  int
}

// tally counts the answers of a route.
type tally struct {
	count   int64
	bytes   int64
	seconds float64
	within  [len(bounds)]int64
}

// bounds are the times, in seconds, that answers are counted by.
var bounds = [...]float64{0.001, 0.005, 0.02, 0.1, 0.5, 2, 10}

// done counts an answer. Streams of events end with their clients; how long they took says nothing.
func (m *metrics) done(r *recorder, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.routes == nil {
		m.routes = map[route]*tally{}
	}
	key := route{cmp.Or(r.route, "none"), cmp.Or(r.status, 499)}
	t := m.routes[key]
	if t == nil {
		t = &tally{}
		m.routes[key] = t
	}
	t.count++
	t.bytes += r.bytes
	t.seconds += took.Seconds()
	for i, most := range bounds {
		if took.Seconds() <= most {
			t.within[i]++
		}
	}
}

// write prints all metrics in the text form of Prometheus.
func (s *Server) writeMetrics(b *bytes.Buffer) {
	m := &s.counts
	value := func(name, kind, help string, v int64) {
		fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s %s\n%s %d\n", name, help, name, kind, name, v)
	}
	open, size := s.docs.count()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	value("treeline_requests_in_flight", "gauge", "Requests that are being answered.", m.busy.Load())
	value("treeline_event_clients", "gauge", "Clients of event streams.", s.live.Load())
	value("treeline_changes_total", "counter", "Changes of sessions that the watch told.", m.changes.Load())
	value("treeline_catalogue_refreshes_total", "counter", "How often the list of sessions was read.", m.refreshes.Load())
	value("treeline_sessions_opened_total", "counter", "Sessions that were read from their beginning.", m.opened.Load())
	value("treeline_sessions_grown_total", "counter", "How often an open session read on.", m.grown.Load())
	value("treeline_open_sessions", "gauge", "Sessions that are held open.", int64(open))
	value("treeline_open_sessions_bytes", "gauge", "Estimated memory of the open sessions.", size)
	value("treeline_uptime_seconds", "gauge", "Seconds since the start.", int64(s.opt.Clock().Sub(m.began).Seconds()))
	value("go_goroutines", "gauge", "Goroutines.", int64(runtime.NumGoroutine()))
	value("go_memstats_heap_alloc_bytes", "gauge", "Bytes of live and not yet collected objects.", int64(mem.HeapAlloc))
	m.mu.Lock()
	defer m.mu.Unlock()
	const name = "treeline_request_duration_seconds"
	fmt.Fprintf(b, "# HELP %s How long requests took.\n# TYPE %s histogram\n", name, name)
	keys := slices.SortedFunc(maps.Keys(m.routes), func(a, b route) int {
		return cmp.Or(cmp.Compare(a.pattern, b.pattern), a.status-b.status)
	})
	for _, k := range keys {
		t, labels := m.routes[k], fmt.Sprintf(`route=%q,status="%d"`, k.pattern, k.status)
		for i, most := range bounds {
			fmt.Fprintf(b, "%s_bucket{%s,le=\"%g\"} %d\n", name, labels, most, t.within[i])
		}
		fmt.Fprintf(b, "%s_bucket{%s,le=\"+Inf\"} %d\n%s_sum{%s} %g\n%s_count{%s} %d\n", name, labels, t.count, name, labels, t.seconds, name, labels, t.count)
	}
	fmt.Fprintf(b, "# HELP treeline_response_bytes_total Bytes of answers.\n# TYPE treeline_response_bytes_total counter\n")
	for _, k := range keys {
		fmt.Fprintf(b, "treeline_response_bytes_total{route=%q,status=\"%d\"} %d\n", k.pattern, k.status, m.routes[k].bytes)
	}
}

func (r *request) metrics() error {
	return r.made("text/plain; version=0.0.4; charset=utf-8", func(b *bytes.Buffer) error {
		r.w.Header().Set("Cache-Control", "no-store")
		r.s.writeMetrics(b)
		return nil
	})
}

var _ http.Handler = (*Server)(nil)
