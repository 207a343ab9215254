package index

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/treeline-dev/treeline/internal/durable"
)

// Place is a log in a catalogue.
type Place struct {
	Logs *Logs
	At   int
}

// PlaceOf looks a log up.
func (c *Catalogue) PlaceOf(key, name string) (p Place, ok bool) {
	p.Logs = c.Logs(key)
	p.At, ok = p.Logs.Find(name)
	return p, ok
}

// EachChunk calls take with the chunks of some logs, in the order of the file; those of one log come in order. i is the index of the log in
// list. It returns the indexes of logs whose signatures are lost; anything may occur in these. Damage of the file causes one notice; the
// caller puts such logs as Lost if they are Current, so that they are read again. A chunk is valid until take returns, and only the parts
// that take reads are checked. take must not call the index, which is locked.
func (x *Index) EachChunk(list []Place, take func(i int, c *Kept)) (unknown []int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	type place struct {
		piece
		log int32
	}
	places := make([]place, 0, len(list))
	for i, l := range list {
		l.Logs.eachPiece(l.At, func(p piece) { places = append(places, place{p, int32(i)}) })
	}
	// The pieces of one log are in order already; see holdAll.
	slices.SortFunc(places, func(a, b place) int { return cmp.Compare(a.at, b.at) })
	bad := map[int]bool{}
	var damage error
	w := window{s: &x.sigs, sharedAt: -1}
	defer w.close()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	for i := range places {
		p := &places[i]
		err := w.each(&list[p.log], p.piece, func(c *Kept) { take(int(p.log), c) })
		if log := int(p.log); err != nil && !bad[log] {
			bad[log] = true
			unknown = append(unknown, log)
			if dir, base := list[p.log].names(); x.names(dir+base, p.piece) {
				damage = err
			}
		}
	}
	if damage != nil && !x.damaged {
		x.damaged = true
		x.opt.Notice(fmt.Sprintf("the index in %s is rebuilt where it is damaged: %v", x.opt.Dir, damage))
	}
	return unknown
}

// names returns the name of the log in two parts.
func (p *Place) names() (dir, base string) {
	r := p.Logs.reader(p.At)
	r.flags()
	r.skipPieces()
	return r.name()
}

// sum returns the checksum of the log's name.
func (p *Place) sum() nameSum {
	dir, base := p.names()
	return nameSum(sumOf(dir).with(bytesOf(base)))
}

// names reports whether the committed catalogue has a piece of a log at that position. An older catalogue may name positions in a file that
// is gone, which is not damage.
func (x *Index) names(log string, p piece) bool {
	return p.at >= 0 && !p.held() && x.kept.any(log, func(l *Log) bool {
		return slices.ContainsFunc(l.pieces, func(q piece) bool { return q.at == p.at && q.size == p.size })
	})
}

// Current reports whether the current catalogue has a log with these signatures. Those of an older catalogue may have been moved or
// replaced since; if they are lost, the log need not be read again.
func (x *Index) Current(l *Log) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	// No other log has the same pieces, unless those of both are lost, so the source does not matter.
	return x.now.any(l.Name, func(now *Log) bool { return slices.Equal(now.pieces, l.pieces) })
}

// window is the part of the file that is being read. It is mapped if possible, so that only used pages are read, otherwise read at once.
type window struct {
	s     *signatures
	data  []byte
	at    int64 // where data begins in the file
	unmap func() error
	big   []byte
	room  []byte // for a directory

	shared     sharedPiece // the last shared piece
	sharedAt   int64       // its position; -1 for none
	sharedRoom []byte
}

// The window is small to keep memory low: mapped pages count as much as read ones.
const (
	windowSize = 1 << 20
	mapSize    = 4 << 20 // larger, since moving a mapping costs more than an unused page
)

// has reports whether a piece is in the window.
func (w *window) has(p piece) bool {
	return p.at >= w.at && p.at+p.size <= w.at+int64(len(w.data))
}

func (w *window) close() {
	if w.unmap != nil {
		_ = w.unmap() // no slice of it is in use
	}
	w.unmap, w.data = nil, nil
}

// each calls take with the chunks of a piece. If another program truncates the mapped file, access causes a fault, which counts as damage.
func (w *window) each(l *Place, p piece, take func(*Kept)) (err error) {
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
	if !p.shared {
		return eachInPiece(l.sum(), data, &w.room, int(p.chunks), take)
	}
	again := w.sharedAt == p.at
	if !again {
		w.sharedAt = -1
		if w.shared, err = sharedIn(data, &w.sharedRoom, w.shared.members); err != nil {
			return err
		}
		w.sharedAt = p.at
	}
	w.shared.sig = data[len(data)-len(w.shared.sig):] // the window may have moved
	if err = w.shared.take(l.sum(), int(p.member), again, take); err != nil {
		w.sharedAt = -1 // take may not have seen the signature: it is passed again for the next log
	}
	return err
}

// read returns the bytes of a piece.
func (w *window) read(p piece) ([]byte, error) {
	if p.held() || w.s.file == nil || p.at < 0 || p.size < pieceHead || p.at > w.s.size-p.size {
		return w.s.read(p, &w.big)
	}
	if !w.has(p) && !w.mapped(p) {
		if p.size > windowSize {
			return w.s.read(p, &w.big)
		}
		n := min(windowSize, w.s.size-p.at) // one long read costs less than two
		w.at, w.data = p.at, slices.Grow(w.data[:0], int(n))[:n]
		if _, err := w.s.file.ReadAt(w.data, w.at); err != nil {
			w.data = w.data[:0]
			return nil, err
		}
	}
	return w.data[p.at-w.at:][:p.size], nil
}

// mapped moves the window to the beginning of a piece; false means that the file cannot be mapped.
func (w *window) mapped(p piece) bool {
	m, ok := w.s.file.(durable.Mapper)
	if !ok {
		return false
	}
	if w.unmap != nil {
		w.close()
	}
	n := max(p.size, min(mapSize, w.s.size-p.at))
	data, unmap, err := m.Map(p.at, n)
	if err != nil {
		return false
	}
	w.at, w.data, w.unmap = p.at, data, unmap
	return true
}
