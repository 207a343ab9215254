package rawjson

import "bytes"

// Pair is two bytes at a distance, with two alternatives each, such as a letter in either case. A search in undecoded text
// looks for it first.
type Pair struct {
	First, Second [2]byte
	Distance      int
}

// Index returns the first position at or after from where the pair occurs; -1 if there is none.
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

// indexGo is the portable Index. IndexByte is much faster than a loop over bytes as long as the bytes are rare.
func (p *Pair) indexGo(b []byte, from int) int {
	last := len(b) - p.Distance
	low := from // next occurrence of the first alternative, or where to look for it
	for from < last {
		low = nextByte(b[:last], p.First[0], from, low)
		high := low
		if p.First[1] != p.First[0] {
			// The second alternative matters only before the first.
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

// nextByte finds a byte at or after from, if it is known not to occur before known; len(b) if there is none.
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
