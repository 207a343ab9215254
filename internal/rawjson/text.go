package rawjson

import (
	"math"
	"sync"
)

// Text is a record prepared for scanning from beginning to end: quotes are located some thousand bytes ahead, and strings
// are skipped from quote to quote. A Text can be reused and keeps its memory.
type Text struct {
	b []byte
	// quotes are those of the window; quotes[next:] have not been passed.
	quotes []uint32
	next   int
	from   int // beginning of the window
	index  *indexer
	// plain is set if strings are scanned byte by byte: a byte of the text may not occur in a string, but may be outside of
	// one.
	plain bool

	members []Member // of Outline
}

// Reset prepares b, which must not change while the Text is used. A text of more than 4 GB is scanned without an index,
// whose positions have 32 bits.
func (t *Text) Reset(b []byte) {
	if t.index == nil {
		t.index = new(indexer)
	}
	t.index.reset()
	t.b, t.quotes, t.next, t.from = b, nil, 0, 0
	t.plain = uint64(len(b)) > math.MaxUint32
}

// texts are for functions that scan a value once.
var texts = sync.Pool{New: func() any { return new(Text) }}

// borrow returns a Text for b. For a short text an index is not worth while.
func borrow(b []byte) *Text {
	const short = 256
	t := texts.Get().(*Text)
	t.Reset(b)
	t.plain = t.plain || len(b) < short
	return t
}

// done returns a borrowed Text to the pool.
func (t *Text) done() {
	t.b, t.quotes = nil, nil
	texts.Put(t)
}

// Damaged says that the text is not JSON throughout: an open string in a damaged part must not decide where later strings
// begin, so each is scanned byte by byte from its opening quote.
func (t *Text) Damaged() { t.plain, t.quotes, t.next = true, nil, 0 }

// passed reports whether the text was read beyond i. The index goes forward only; a caller that goes back uses the slow path.
func (t *Text) passed(i int) bool {
	if t.next > 0 {
		return int(t.quotes[t.next-1]) >= i
	}
	return t.from > i
}

// str returns the offset after the closing quote of the string whose text begins at i, or the complement of the position of
// an error.
func (t *Text) str(i int) int {
	if k := t.next; k+1 < len(t.quotes) && int(t.quotes[k]) == i-1 {
		t.next = k + 2
		return int(t.quotes[k+1]) + 1
	}
	return t.strFar(i)
}

// strFar is str for a string that ends after the window.
func (t *Text) strFar(i int) int {
	for !t.plain {
		for _, q := range t.quotes[t.next:] {
			t.next++
			if int(q) >= i {
				return int(q) + 1
			}
		}
		if t.index.done.to >= len(t.b) {
			return ^len(t.b)
		}
		t.more()
	}
	return skipString(t.b, i)
}

// more indexes the next window.
func (t *Text) more() {
	t.from = t.index.done.to
	t.quotes, t.next = t.index.next(t.b), 0
	if t.index.done.trouble {
		t.Damaged()
	}
}

// ASCII reports whether the text, which was read to its end, certainly has no byte above 0x7f. It may be false by mistake.
func (t *Text) ASCII() bool { return !t.plain && t.index.done.to == len(t.b) && !t.index.done.high }

// Tight is Skip, and reports whether the value certainly has no white space between its tokens, so that Compact would not change it. tight
// may be false by mistake.
func (t *Text) Tight(i int) (end int, tight bool, err error) {
	w := walk{t: t, i: i, open: top}
	if end = w.run(); end < 0 {
		return ^end, false, syntaxError(t.b, ^end)
	}
	return end, !w.general, nil
}
