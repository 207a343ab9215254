package cli

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// GOGC by the size of the live heap: 600 below 8 MB, where memory is cheaper than time, 100 up to 24 MB, 50 up to 36 MB, and 25 above: then
// most of the heap is the catalogue, which has no pointers to follow.
const (
	rarely, little = 600, 8 << 20
	usual, some    = 100, 24 << 20
	often, much    = 50, 36 << 20
	veryOften      = 25
)

// EaseCollection makes garbage collection rare while the heap is small. A list allocates many small objects, nearly all of which survive,
// and scanning them again and again takes a quarter of the time.
func EaseCollection() {
	if os.Getenv("GOGC") != "" {
		return // the user decides
	}
	debug.SetGCPercent(rarely)
	// sentinel has a finalizer, which runs after each collection and measures the heap.
	type sentinel struct{ _ [16]byte }
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	var look func(*sentinel)
	look = func(*sentinel) {
		metrics.Read(live)
		percent := usual
		if live[0].Value.Kind() == metrics.KindUint64 {
			switch bytes := live[0].Value.Uint64(); {
			case bytes < little:
				percent = rarely
			case bytes > much:
				percent = veryOften
			case bytes > some:
				percent = often
			}
		}
		debug.SetGCPercent(percent)
		runtime.SetFinalizer(new(sentinel), look)
	}
	runtime.SetFinalizer(new(sentinel), look)
}
