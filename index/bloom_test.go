package index

import (
	"math/rand/v2"
	"testing"
)

// TestProbe: the bits that a database looks at are those that a signature has.
func TestProbe(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		filter := make([]byte, blockSize*(1+r.IntN(60)))
		key := r.Uint64()
		setKey(filter, key, gramProbes)
		p := ProbeOf(key)
		for _, bit := range p.Bits {
			at := p.Block*int64(len(filter)*8/BlockBits)>>32*BlockBits + bit
			if filter[at/8]&(1<<(at%8)) == 0 {
				t.Fatalf("bit %d of %x is not set", bit, key)
			}
		}
	}
}
