// Package metrics counts the answers of an HTTP server, and prints the counts in the text format of Prometheus.
package metrics

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/treeline-dev/treeline/internal/sorting"
)

// Answers counts answers by route and status. The zero value is ready.
type Answers struct {
	mu     sync.Mutex
	routes map[route]*tally
}

// route is what answers are counted by.
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

// bounds are the upper bounds, in seconds, of the buckets for durations.
var bounds = [...]float64{0.001, 0.005, 0.02, 0.1, 0.5, 2, 10}

// Done counts an answer that took some time. That of a stream of events is as long as its client listens.
func (a *Answers) Done(r *Recorder, took time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.routes == nil {
		a.routes = map[route]*tally{}
	}
	key := route{cmp.Or(r.Route, "none"), cmp.Or(r.Status, 499)}
	t := a.routes[key]
	if t == nil {
		t = &tally{}
		a.routes[key] = t
	}
	t.count++
	t.bytes += r.Bytes
	t.seconds += took.Seconds()
	for i, most := range bounds {
		if took.Seconds() <= most {
			t.within[i]++
		}
	}
}

// Value prints one number.
func Value(b *bytes.Buffer, name, kind, help string, v int64) {
	fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s %s\n%s %d\n", name, help, name, kind, name, v)
}

// Write prints the counts.
func (a *Answers) Write(b *bytes.Buffer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	const name = "treeline_request_duration_seconds"
	fmt.Fprintf(b, "# HELP %s How long requests took.\n# TYPE %s histogram\n", name, name)
	keys := slices.Collect(maps.Keys(a.routes))
	sorting.By(keys, func(a, b route) int {
		return cmp.Or(cmp.Compare(a.pattern, b.pattern), a.status-b.status)
	})
	for _, k := range keys {
		t, labels := a.routes[k], fmt.Sprintf(`route=%q,status="%d"`, k.pattern, k.status)
		for i, most := range bounds {
			fmt.Fprintf(b, "%s_bucket{%s,le=\"%g\"} %d\n", name, labels, most, t.within[i])
		}
		fmt.Fprintf(b, "%s_bucket{%s,le=\"+Inf\"} %d\n%s_sum{%s} %g\n%s_count{%s} %d\n", name, labels, t.count, name, labels, t.seconds, name, labels, t.count)
	}
	fmt.Fprintf(b, "# HELP treeline_response_bytes_total Bytes of answers.\n# TYPE treeline_response_bytes_total counter\n")
	for _, k := range keys {
		fmt.Fprintf(b, "treeline_response_bytes_total{route=%q,status=\"%d\"} %d\n", k.pattern, k.status, a.routes[k].bytes)
	}
}

// Recorder is an http.ResponseWriter that notes the status and the size of the answer.
type Recorder struct {
	http.ResponseWriter
	Route  string
	Status int
	Bytes  int64
}

// WriteHeader implements http.ResponseWriter.
func (r *Recorder) WriteHeader(status int) {
	if r.Status == 0 {
		r.Status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (r *Recorder) Write(b []byte) (int, error) {
	if r.Status == 0 {
		r.Status = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(b)
	r.Bytes += int64(n)
	return n, err
}

// Unwrap is for http.ResponseController.
func (r *Recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// Runtime prints what the process uses.
func Runtime(b *bytes.Buffer) {
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	Value(b, "go_goroutines", "gauge", "Goroutines.", int64(runtime.NumGoroutine()))
	Value(b, "go_memstats_heap_alloc_bytes", "gauge", "Bytes of live and not yet collected objects.", int64(mem.HeapAlloc))
}
