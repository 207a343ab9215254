package main

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// load is a distribution of writes: the appends of each session, in some unit.
type load struct {
	what string
	of   func(r *rand.Rand, i int) float64
}

// loads of 100,000 sessions.
var loads = []load{
	{"all alike", func(*rand.Rand, int) float64 { return 1 }},
	// With this spread one session in a hundred writes a hundred times as much as the median.
	{"log-normal, one in a hundred writes 100 times the median", func(r *rand.Rand, _ int) float64 { return math.Exp(2 * r.NormFloat64()) }},
	{"all alike, and 10 hot sessions with 1,000 times as much", func(_ *rand.Rand, i int) float64 {
		if i < 10 {
			return 1000
		}
		return 1
	}},
}

// over distributes the sessions like a database that shards by log: by the key of the log, a hash of its name. The ratio is that of the
// busiest shard to the mean.
func (l load) over(shards int) row {
	const sessions = 100_000
	r := rand.New(rand.NewPCG(1, 1))
	busy, count := make([]float64, shards), make([]float64, shards)
	sum, hottest := 0.0, 0.0
	for i := range sessions {
		key := sha256.Sum256(fmt.Appendf(nil, "machine-%08x/omp/--work--/%032x.jsonl", i%1000, i))
		shard := binary.BigEndian.Uint64(key[:8]) % uint64(shards)
		n := l.of(r, i)
		busy[shard] += n
		count[shard]++
		sum, hottest = sum+n, max(hottest, n)
	}
	mean := sum / float64(shards)
	return row{what: fmt.Sprintf("shards: %d sessions over %d, %s", sessions, shards, l.what), figure: fmt.Sprintf("the busiest shard has %.3g of the mean", slices.Max(busy)/mean),
		baseline: fmt.Sprintf("%.3g of the mean in sessions; the hottest session is %.2g of a shard", slices.Max(count)*float64(shards)/sessions, hottest/mean)}
}
