//go:build !amd64

package rawjson

// indexer finds the quotes of a text, window by window.
type indexer struct {
	done indexed
	out  [room]uint32
}

func (x *indexer) reset() { x.done = indexed{} }

// next indexes the next window of b.
func (x *indexer) next(b []byte) (quotes []uint32) {
	quotes, x.done = indexGo(b, x.done.to, min(x.done.to+window, len(b)), x.out[:0])
	return quotes
}

func (p *Pair) indexVector(_ []byte, from int) (at, done int) { return -1, from }
