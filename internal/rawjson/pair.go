package rawjson

import "bytes"

// Pair is two bytes at a distance, each of which may be one of two: a letter in either case, say. It is what a search in
// undecoded text looks for first.
type Pair struct {
	First, Second [2]byte
	Distance      int
}

// Index gives the first place at or behind from where the pair begins, -1 where there is none.
// It may give places that do not match as a whole: whoever searches looks at the text there.
func (p *Pair) Index(b []byte, from int) int {
	if from+p.Distance >= len(b) {
		return -1
	}
	at, done := p.indexVector(b, from)
	if at >= 0 {
		return at
	}
	return p.indexGo(b, done)
}

// indexGo is Index for all machines.
// Two runs of IndexByte beat a loop over bytes by far, as long as the bytes are rare.
func (p *Pair) indexGo(b []byte, from int) int {
	last := len(b) - p.Distance
	low, high := from, from // where the next of each kind was looked for
	for from < last {
		low = nextByte(b[:last], p.First[0], from, low)
		high = low
		if p.First[1] != p.First[0] {
			// The other kind is looked for no farther than needed.
			high = nextByte(b[:low], p.First[1], from, from)
		}
		from = min(low, high)
		if from >= last {
			return -1
		}
		if c := b[from+p.Distance]; c == p.Second[0] || c == p.Second[1] {
			return from
		}
		from++
	}
	return -1
}

// nextByte finds a byte at or behind from, of which it is known that there is none before known; len(b) where there is none.
func nextByte(b []byte, c byte, from, known int) int {
	from = max(from, known)
	if from >= len(b) {
		return len(b)
	}
	if i := bytes.IndexByte(b[from:], c); i >= 0 {
		return from + i
	}
	return len(b)
}
