package rawjson

import (
	"math"
	"sync"
)

// Text is one record prepared for scanning. It is gone through from the beginning to the end: the places of quotes are
// found some thousand bytes ahead, and strings are passed over from quote to quote. A Text may be used again and keeps
// its memory.
type Text struct {
	b []byte
	// quotes are those of the window, quotes[next:] those that were not passed yet.
	quotes []uint32
	next   int
	from   int // where the window begins
	index  *indexer
	// plain is set when strings are looked at byte by byte: something in the text may not stand in a string, but may be
	// outside of one.
	plain bool

	members []Member // of Outline
}

// Reset prepares b, which must not change while the Text is used.
// A text of more than 4 GB is looked at without an index, whose places have 32 bits.
func (t *Text) Reset(b []byte) {
	if t.index == nil {
		t.index = new(indexer)
	}
	t.index.reset()
	t.b, t.quotes, t.next, t.from = b, nil, 0, 0
	t.plain = uint64(len(b)) > math.MaxUint32
}

// texts are for functions that look at a value once.
var texts = sync.Pool{New: func() any { return new(Text) }}

// borrow gives a Text for b. What is short is not worth an index.
func borrow(b []byte) *Text {
	const short = 256
	t := texts.Get().(*Text)
	t.Reset(b)
	t.plain = t.plain || len(b) < short
	return t
}

// done gives a borrowed Text back.
func (t *Text) done() {
	t.b, t.quotes = nil, nil
	texts.Put(t)
}

// Damaged says that the text is not JSON throughout: an open string in a damaged piece must not decide where the
// strings behind it begin, so each is looked at byte by byte from its opening quote.
func (t *Text) Damaged() { t.plain, t.quotes, t.next = true, nil, 0 }

// passed says whether the text was gone through to behind i.
// Quotes are only known forward. Who goes back, as a caller may that looks at one object twice, gets the slow way.
func (t *Text) passed(i int) bool {
	if t.next > 0 {
		return int(t.quotes[t.next-1]) >= i
	}
	return t.from > i
}

// str gives the offset behind the closing quote of the string whose text begins at i, or the complement of the offset
// where it goes wrong.
func (t *Text) str(i int) int {
	if k := t.next; k+1 < len(t.quotes) && int(t.quotes[k]) == i-1 {
		t.next = k + 2
		return int(t.quotes[k+1]) + 1
	}
	return t.strFar(i)
}

// strFar is str for a string that ends behind the window.
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
	end, _ := skipString(t.b, i)
	return end
}

// more indexes the next window.
func (t *Text) more() {
	t.from = t.index.done.to
	t.quotes, t.next = t.index.next(t.b), 0
	if t.index.done.trouble {
		t.Damaged()
	}
}

// Tight is Skip, and says whether the value has certainly no white space between its tokens: Compact would change nothing.
// "Certainly": a walk that the fast way could not finish is taken for one that may have blanks.
func (t *Text) Tight(i int) (end int, tight bool, err error) {
	w := walk{t: t, i: i, open: top}
	if end = w.run(); end < 0 {
		return ^end, false, syntaxError(t.b, ^end)
	}
	return end, !w.general, nil
}
