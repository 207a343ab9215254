package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// The growth, in percent, after which garbage is collected, while so much memory is in use.
// Up to 8 MB in use, memory is cheaper than the time that a collection takes; from 24 MB on it is the other way
// round.
const (
	rarely, little = 600, 8 << 20
	usual, some    = 100, 24 << 20
	often          = 50
)

// easeCollection makes the collector work less while there is little for it to find. A list is made of very many small
// pieces that nearly all stay, and an index while it is read of very many that go at once: looking through them again and
// again is a quarter of the time. Where much memory is in use, it is the memory that counts.
func easeCollection() {
	if os.Getenv("GOGC") != "" {
		return // somebody knows better
	}
	debug.SetGCPercent(rarely)
	// A piece of memory that nobody has is found by each collection, which is where we look how much is in use.
	type found struct{ _ [16]byte }
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	var look func(*found)
	look = func(*found) {
		metrics.Read(live)
		percent := usual
		if live[0].Value.Kind() == metrics.KindUint64 {
			switch bytes := live[0].Value.Uint64(); {
			case bytes < little:
				percent = rarely
			case bytes > some:
				percent = often
			}
		}
		debug.SetGCPercent(percent)
		// the one that was found is gone, so there must be another for the next collection
		runtime.SetFinalizer(new(found), look)
	}
	runtime.SetFinalizer(new(found), look)
}
