package rawjson

// pairAVX2 searches the n positions at p, n being a multiple of 32, for one of the first two bytes with one of the second
// two at the distance. pattern has the four bytes, the first one lowest. It returns the position, or n.
//
//go:noescape
func pairAVX2(p *byte, n, distance int, pattern uint32) (at int)

// indexVector returns the first position, or -1 and how far it searched.
func (p *Pair) indexVector(b []byte, from int) (at, done int) {
	n := (len(b) - p.Distance - from) &^ 31
	if !haveAVX2 || n == 0 {
		return -1, from
	}
	pattern := uint32(p.First[0]) | uint32(p.First[1])<<8 | uint32(p.Second[0])<<16 | uint32(p.Second[1])<<24
	if at = pairAVX2(&b[from], n, p.Distance, pattern); at < n {
		return from + at, 0
	}
	return -1, from + n
}
