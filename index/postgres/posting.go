package postgres

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"slices"

	"github.com/treeline-dev/treeline/index"
)

// The index from keys to chunks is inverted: each key has the list of its chunks, in order. The keys of a segment are divided into buckets
// by their highest bits, and a row of the table posting is one bucket. It has key after key: the distance from the key before, or from the
// beginning of the bucket; the number of chunks that have it; and the distances between their ids, the first one from segment.first. All
// are unsigned varints.

// rowBytes is roughly the largest size of a row of posting. The server still stores a row of 2,000 bytes in one piece.
const rowBytes = 1024

// wordKey shortens a key of package word to 32 bits. If two keys become equal, that only costs time.
func wordKey(key uint64) uint32 { return uint32(key >> 32) }

// gramKey returns the key of a trigram or bigram; see query.Keys. Their numbers are small, so they are spread over all buckets.
func gramKey(g int) uint32 { return uint32(g) * 0x9e3779b1 }

// bucket is a row of posting.
type bucket struct {
	number int32
	data   []byte
}

// pairs are keys with the numbers of the chunks that have them, 32 bits each.
type pairs []uint64

// add adds the keys of a chunk.
func (p pairs) add(c *index.Chunk, number int) pairs {
	for _, w := range c.Words {
		p = append(p, uint64(wordKey(w))<<32|uint64(number))
	}
	for _, g := range c.Grams {
		p = append(p, uint64(gramKey(int(g)))<<32|uint64(number))
	}
	return p
}

// sort sorts by keys, and is stable. It is a radix sort: comparing would take several times as long.
func (p pairs) sort() pairs {
	const digit = 11
	other := make(pairs, len(p))
	for shift := 32; shift < 64; shift += digit {
		var ends [1 << digit]int
		for _, v := range p {
			ends[v>>shift&(1<<digit-1)]++
		}
		at := 0
		for i, n := range ends {
			ends[i], at = at, at+n
		}
		for _, v := range p {
			d := v >> shift & (1<<digit - 1)
			other[ends[d]] = v
			ends[d]++
		}
		p, other = other, p
	}
	return p
}

// invert makes the buckets of a segment from the keys of its chunks, whose ids are in order.
func invert(p pairs, ids []int64) (list []bucket, width int) {
	p = p.sort()
	distinct := 0
	for i := range p {
		if i == 0 || p[i]>>32 != p[i-1]>>32 {
			distinct++
		}
	}
	width = bits.Len(uint(len(p)+5*distinct) / rowBytes)
	w := writer{first: ids[0], width: width}
	var chunks []int64
	for i := 0; i < len(p); {
		key := p[i] >> 32
		chunks = chunks[:0]
		for ; i < len(p) && p[i]>>32 == key; i++ {
			id := ids[uint32(p[i])]
			if n := len(chunks); n == 0 || chunks[n-1] != id { // two keys may have the same 32 bits
				chunks = append(chunks, id)
			}
		}
		w.add(uint32(key), chunks)
	}
	return w.list, width
}

// writer makes buckets from keys that come in order.
type writer struct {
	first int64 // first id of the segment
	width int   // number of bits of a bucket's number
	list  []bucket
	last  uint64 // the key before
}

func (w *writer) add(key uint32, chunks []int64) {
	number := int32(uint64(key) >> (32 - w.width))
	if n := len(w.list); n == 0 || w.list[n-1].number != number {
		w.list = append(w.list, bucket{number: number})
		w.last = uint64(number) << (32 - w.width)
	}
	b := &w.list[len(w.list)-1]
	b.data = binary.AppendUvarint(b.data, uint64(key)-w.last)
	b.data = binary.AppendUvarint(b.data, uint64(len(chunks)))
	before := w.first
	for _, id := range chunks {
		b.data = binary.AppendUvarint(b.data, uint64(id-before))
		before = id
	}
	w.last = uint64(key)
}

// errPosting: a row of posting cannot be read.
var errPosting = errors.New("the index in the database is damaged: drop the schema treeline_index, and it is made again")

// run is a key in a bucket, with the encoded ids of its chunks.
type run struct {
	key   uint32
	first int64 // first id of the segment
	data  []byte
}

// runs calls take with each key of a bucket, until it returns false.
func (b *bucket) runs(first int64, width int, take func(run) bool) error {
	key := uint64(uint32(b.number)) << (32 - width)
	for data := b.data; len(data) > 0; {
		step, a := binary.Uvarint(data)
		n, c := binary.Uvarint(data[max(a, 0):])
		if a <= 0 || c <= 0 || n > uint64(len(data)) {
			return errPosting
		}
		data = data[a+c:]
		end := 0
		for left := n; left > 0; end++ {
			if end == len(data) {
				return errPosting
			}
			if data[end] < 0x80 {
				left--
			}
		}
		if key += step; !take(run{uint32(key), first, data[:end]}) {
			return nil
		}
		data = data[end:]
	}
	return nil
}

// ids appends the ids of the chunks.
func (r *run) ids(list []int64) []int64 {
	id := r.first
	for data := r.data; len(data) > 0; {
		step, n := binary.Uvarint(data)
		if n <= 0 {
			break // longer than 64 bits
		}
		id, data = id+int64(step), data[n:]
		list = append(list, id)
	}
	return list
}

// find appends the ids of the chunks that have a key.
func (b *bucket) find(first int64, width int, key uint32, list []int64) ([]int64, error) {
	err := b.runs(first, width, func(r run) bool {
		if r.key == key {
			list = r.ids(list)
		}
		return r.key < key
	})
	return list, err
}

// both returns the ids that are in both of two ordered lists, in the memory of the first one.
func both(a, b []int64) []int64 {
	both := a[:0]
	for _, id := range a {
		step := 1 // b may be much longer
		for step < len(b) && b[step] < id {
			step *= 2
		}
		i, ok := slices.BinarySearch(b[:min(step+1, len(b))], id)
		if b = b[i:]; ok {
			both = append(both, id)
		}
	}
	return both
}
