package index

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/treeline-dev/treeline/internal/durable"
)

// EachChunk calls take with the signatures of the chunks of some logs, in the order that is cheapest; those of one log come
// in order. i is the log's place in logs. It gives the places of logs whose signatures cannot be had: anything may occur in
// them. That the file is damaged is said once; who puts such logs as Lost has them made anew, which is needed where the
// catalogue still has them so (Current). A chunk is valid until take returns, and what take does not look at is not checked.
// take must not call the index, which is locked meanwhile.
func (x *Index) EachChunk(logs []*Log, take func(i int, c *Kept)) (unknown []int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	type place struct {
		piece
		log int
	}
	var places []place
	for i, l := range logs {
		for _, p := range l.pieces {
			places = append(places, place{p, i})
		}
	}
	// By place in the file: the pieces of one log lie in its order already, see holdAll.
	slices.SortFunc(places, func(a, b place) int { return cmp.Compare(a.at, b.at) })
	bad := map[int]bool{}
	var damage error
	w := window{s: &x.sigs}
	defer w.close()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	for i, p := range places {
		if !w.has(p.piece) {
			// Pieces that are not wanted are read along where they are few: one long read costs less than two.
			const few = 64 << 10
			w.end = p.at + p.size
			for _, next := range places[i+1:] {
				if next.at > w.end+few || next.at >= inMemory || w.end > p.at+windowSize {
					break
				}
				w.end = max(w.end, next.at+next.size)
			}
		}
		err := w.each(logs[p.log].Name, p.piece, func(c *Kept) { take(p.log, c) })
		if err != nil && !bad[p.log] {
			bad[p.log] = true
			unknown = append(unknown, p.log)
			if x.names(logs[p.log].Name, p.piece) {
				damage = err
			}
		}
	}
	if damage != nil && !x.damaged {
		x.damaged = true
		x.opt.Notice(fmt.Sprintf("the index in %s is made anew where it is damaged: %v", x.opt.Dir, damage))
	}
	return unknown
}

// names says whether the catalogue that is kept has a piece of a log at that place. One from before a commit of our own may name
// places in a file that is gone: nothing is damaged for that.
func (x *Index) names(log string, p piece) bool {
	if p.at < 0 || p.at >= inMemory || x.kept == nil {
		return false
	}
	for i := range x.kept.Sources {
		l, ok := x.kept.Log(x.kept.Sources[i].Key, log)
		if ok && slices.ContainsFunc(l.pieces, func(q piece) bool { return q.at == p.at && q.size == p.size }) {
			return true
		}
	}
	return false
}

// Current says whether the catalogue of now has a log with these signatures. Those of a catalogue from before a commit may
// have been moved or made anew since: where they cannot be had, the log need not be read again for that.
func (x *Index) Current(l *Log) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.now == nil {
		return false
	}
	for i := range x.now.Sources {
		// No two logs share a piece, so that it does not matter whose log it was.
		if now, ok := x.now.Log(x.now.Sources[i].Key, l.Name); ok && slices.Equal(now.pieces, l.pieces) {
			return true
		}
	}
	return false
}

// window is the part of the file with the pieces that are looked at: mapped, where that can be, so that what nobody looks at
// is not read, and otherwise read in one go.
type window struct {
	s     *signatures
	data  []byte
	at    int64 // where data begins in the file
	end   int64 // where the last of the pieces ends that are to be read at once, if they are read
	unmap func() error
	big   []byte
	room  []byte // for a directory
}

// The window is small to keep memory low: what is mapped counts as much as what is read.
const (
	windowSize = 1 << 20
	mapSize    = 4 << 20 // moving it costs more than a page that nobody looks at
)

// has says whether a piece lies in the window.
func (w *window) has(p piece) bool {
	return p.at >= w.at && p.at+p.size <= w.at+int64(len(w.data))
}

func (w *window) close() {
	if w.unmap != nil {
		_ = w.unmap() // nobody looks there any more
	}
	w.unmap, w.data = nil, nil
}

// each calls take with the chunks of a piece. To look at a part of the file that another program cut off is a fault, which
// is damage.
func (w *window) each(name string, p piece, take func(*Kept)) (err error) {
	data, err := w.read(p)
	if err != nil {
		return err
	}
	defer func() {
		if cause := recover(); cause != nil {
			if w.unmap == nil || !durable.FaultIn(cause, w.data) {
				panic(cause)
			}
			err = errSignatures
		}
	}()
	return eachInPiece(name, data, &w.room, p.chunks, take)
}

// read gives the bytes of a piece.
func (w *window) read(p piece) ([]byte, error) {
	if p.at >= inMemory || w.s.file == nil || p.at < 0 || p.size < pieceHead || p.at > w.s.size-p.size {
		return w.s.read(p, &w.big)
	}
	if !w.has(p) && !w.mapped(p) {
		if p.size > windowSize {
			return w.s.read(p, &w.big)
		}
		n := min(windowSize, w.end-p.at, w.s.size-p.at)
		w.at, w.data = p.at, slices.Grow(w.data[:0], int(n))[:n]
		if _, err := w.s.file.ReadAt(w.data, w.at); err != nil {
			w.data = w.data[:0]
			return nil, err
		}
	}
	return w.data[p.at-w.at:][:p.size], nil
}

// mapped moves the window to where a piece begins; false means that the file cannot be mapped.
func (w *window) mapped(p piece) bool {
	m, ok := w.s.file.(durable.Mapper)
	if !ok {
		return false
	}
	if w.unmap != nil {
		w.close()
	}
	n := max(p.size, min(mapSize, w.s.size-p.at))
	data, unmap, err := m.Map(p.at, n, false)
	if err != nil {
		return false
	}
	w.at, w.data, w.unmap = p.at, data, unmap
	return true
}
