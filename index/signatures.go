package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"slices"

	"github.com/treeline-dev/treeline/internal/durable"
)

// piece is where some chunks of one log lie. On disk it is its length and a checksum, four bytes each, and then the
// chunks.
type piece struct {
	at   int64 // in the file, or behind inMemory in what is held
	size int64 // length and checksum included
	// A log that grew keeps its pieces as they are: the last chunk, which grows, is made anew in another piece.
	chunks int // how many of its chunks count; those behind them were made anew since
}

const (
	// inMemory is where the places of pieces begin that are not in the file. No file is that long, so that one number says
	// which of the two it is.
	inMemory  = 1 << 62
	pieceHead = 8
)

// castagnoli is the polynomial that processors have an instruction for.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const signaturesPrefix = "signatures-"

// signaturesName is the name of the file of a generation.
func signaturesName(generation uint64) string { return fmt.Sprint(signaturesPrefix, generation) }

// errSignatures: a piece is not what was written.
var errSignatures = errors.New("the signatures are damaged")

// signatures are the pieces of all logs: those in the file, and those that are not there yet. Guarded by the index's mu, as
// all that calls it.
type signatures struct {
	file durable.File // nil where there is none
	size int64        // bytes of it that count
	held []byte
}

// open opens the file of a generation. It may be longer than what counts, and need not be there if nothing does.
func (s *signatures) open(fsys durable.FS, path string, size int64) error {
	s.close()
	if size == 0 {
		return nil
	}
	f, err := fsys.Open(path, os.O_RDONLY, 0)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = errSignatures
		}
		return err
	}
	// The catalogue reached the disk and the signatures did not: nothing is synced.
	if info, err := f.Stat(); err != nil || info.Size < size {
		return errors.Join(err, errSignatures, f.Close())
	}
	s.file, s.size = f, size
	return nil
}

func (s *signatures) close() {
	if s.file != nil {
		_ = s.file.Close() // it was only read
	}
	s.file, s.size = nil, 0
}

// hold encodes the chunks of logs that are put. Those that a log continues may have moved since it was looked up, by a
// commit. Each is read for that: at their place in another file lies something else, which the checksum tells.
func (s *signatures) hold(logs []Log) {
	for i := range logs {
		l := &logs[i]
		if !s.there(l) {
			l.lose()
		}
		if len(l.Chunks) > 0 {
			at := len(s.held)
			s.held = appendPiece(s.held, l.Name, l.Chunks, l.IDs)
			l.pieces = append(l.pieces, piece{inMemory + int64(at), int64(len(s.held) - at), len(l.Chunks)})
		}
		if len(l.pieces) > piecesMost {
			l.pieces = s.join(l.Name, l.pieces)
		}
		l.Chunks, l.IDs = nil, nil
	}
}

// lose says that the signatures of a log cannot be had, by a piece that is nowhere. The log is read again next time. Its
// stamp is made one that proves nothing, so that the next refresh reads it.
func (l *Log) lose() { l.pieces, l.Stamp.Racy, l.resume = []piece{{at: -1}}, true, "" }

// there says whether all pieces of a log can be read.
func (s *signatures) there(l *Log) bool {
	var buf []byte
	for _, p := range l.pieces {
		data, err := s.read(p, &buf)
		if err != nil || eachInPiece(l.Name, data, p.chunks, func(Chunk, []byte) {}) != nil {
			return false
		}
	}
	return true
}

// piecesMost is how many pieces a log that grows again and again may have. Each is a read of its own when the log is
// searched, and twelve bytes in the catalogue.
const piecesMost = 16

// join makes one piece of several. Where one cannot be read, they stay as they are: who reads them notices.
func (s *signatures) join(name string, pieces []piece) []piece {
	var chunks []Chunk
	var ids [][]uint32
	for _, p := range pieces {
		var buf []byte
		data, err := s.read(p, &buf)
		if err == nil {
			err = eachInPiece(name, data, p.chunks, func(c Chunk, hashes []byte) {
				chunks, ids = append(chunks, c), append(ids, nil)
				for last := len(ids) - 1; len(hashes) > 0; hashes = hashes[4:] {
					ids[last] = append(ids[last], binary.LittleEndian.Uint32(hashes))
				}
			})
		}
		if err != nil {
			return pieces
		}
	}
	at := len(s.held)
	s.held = appendPiece(s.held, name, chunks, ids)
	return []piece{{inMemory + int64(at), int64(len(s.held) - at), len(chunks)}}
}

// keep gives the pieces that hold the first n chunks.
func keep(pieces []piece, n int) []piece {
	var list []piece
	for _, p := range pieces {
		if n == 0 {
			break
		}
		p.chunks = min(p.chunks, n)
		n -= p.chunks
		list = append(list, p)
	}
	return list
}

// keepRoom is how much room is made ahead for pieces that come one by one.
const keepRoom = 8 << 20

// pieceSum is the checksum of a piece. The log's name is in it, so that no piece is ever taken for another log's.
func pieceSum(name string, body []byte) uint32 {
	return crc32.Update(crc32.Checksum([]byte(name), castagnoli), castagnoli, body)
}

// appendPiece encodes chunks of a log. Its reader is eachInPiece.
func appendPiece(dst []byte, name string, chunks []Chunk, ids [][]uint32) []byte {
	start, need := len(dst), pieceHead+binary.MaxVarintLen64
	for i := range chunks {
		need += 4*binary.MaxVarintLen64 + len(chunks[i].Sig)
	}
	for _, own := range ids {
		need += 4 * len(own)
	}
	if cap(dst)-start < need { // a large session would otherwise make it grow step by step
		dst = append(make([]byte, 0, max(start+need, min(2*cap(dst), keepRoom))), dst...)
	}
	dst = append(dst, make([]byte, pieceHead)...)
	dst = binary.AppendUvarint(dst, uint64(len(chunks)))
	for i, c := range chunks {
		dst = binary.AppendUvarint(dst, uint64(c.From))
		dst = binary.AppendUvarint(dst, uint64(c.To-c.From))
		dst = binary.AppendUvarint(dst, uint64(len(c.Sig)))
		dst = append(dst, c.Sig...)
		var own []uint32
		if i < len(ids) {
			own = ids[i]
		}
		dst = binary.AppendUvarint(dst, uint64(len(own)))
		for _, id := range own {
			dst = binary.LittleEndian.AppendUint32(dst, id)
		}
	}
	body := dst[start+pieceHead:]
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(body)))
	binary.LittleEndian.PutUint32(dst[start+4:], pieceSum(name, body))
	return dst
}

// read gives the bytes of a piece. They are valid until the next call with the same buffer.
func (s *signatures) read(p piece, buf *[]byte) ([]byte, error) {
	// Held pieces are checked as well: a catalogue from before a commit names places that are gone.
	if p.at >= inMemory {
		at := p.at - inMemory
		if p.size < pieceHead || at+p.size > int64(len(s.held)) {
			return nil, errSignatures
		}
		return s.held[at : at+p.size], nil
	}
	if s.file == nil || p.size < pieceHead || p.at < 0 || p.at > s.size-p.size {
		return nil, errSignatures
	}
	*buf = slices.Grow((*buf)[:0], int(p.size))[:p.size]
	if _, err := s.file.ReadAt(*buf, p.at); err != nil {
		return nil, err
	}
	return *buf, nil
}

// eachInPiece checks a piece of a log and calls take with those of its chunks that count. The slices are parts of data.
// After an error some chunks may have been taken already.
func eachInPiece(name string, data []byte, count int, take func(c Chunk, ids []byte)) error {
	if len(data) < pieceHead || int64(binary.LittleEndian.Uint32(data)) != int64(len(data)-pieceHead) ||
		pieceSum(name, data[pieceHead:]) != binary.LittleEndian.Uint32(data[4:]) {
		return errSignatures
	}
	r := reader{data: data[pieceHead:]}
	n := r.count(4)
	if count > n {
		return errSignatures
	}
	for range count {
		var c Chunk
		c.From = int64(r.uvarint())
		c.To = c.From + int64(r.uvarint())
		c.Sig = r.bytes(r.count(1))
		ids := r.bytes(4 * r.count(4))
		if r.bad {
			return errSignatures
		}
		take(c, ids)
	}
	return nil
}

// EachChunk calls take with the signatures of the chunks of some logs, in the order that is cheapest; those of one log come
// in order. i is the log's place in logs. It gives the places of logs whose signatures cannot be had: anything may occur in
// them. That the file is damaged is said once; who removes such logs from the catalogue has them made anew. A chunk is valid
// until take returns. take must not call the index, which is locked meanwhile.
func (x *Index) EachChunk(logs []*Log, take func(i int, c Chunk)) (unknown []int) {
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
	// By place in the file, and stable: the pieces of one log lie in its order already, see holdAll.
	slices.SortStableFunc(places, func(a, b place) int { return int(min(max(a.at-b.at, -1), 1)) })
	bad := map[int]bool{}
	var damage error
	w := window{s: &x.sigs}
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
		data, err := w.read(p.piece)
		if err == nil {
			err = eachInPiece(logs[p.log].Name, data, p.chunks, func(c Chunk, _ []byte) { take(p.log, c) })
		}
		if err != nil && !bad[p.log] {
			bad[p.log] = true
			unknown = append(unknown, p.log)
			if p.at >= 0 && p.at < inMemory {
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

// window reads pieces that lie one behind the other, many at once.
type window struct {
	s    *signatures
	data []byte
	at   int64 // where data begins in the file
	end  int64 // where the last of the pieces ends that are to be read at once
	big  []byte
}

const windowSize = 1 << 20

// has says whether a piece was read along with an earlier one.
func (w *window) has(p piece) bool {
	return p.at >= w.at && p.at+p.size <= w.at+int64(len(w.data))
}

func (w *window) read(p piece) ([]byte, error) {
	if p.at >= inMemory || p.size > windowSize || w.s.file == nil || p.at < 0 || p.at > w.s.size-p.size {
		return w.s.read(p, &w.big)
	}
	if !w.has(p) {
		n := min(windowSize, w.end-p.at, w.s.size-p.at)
		if int64(cap(w.data)) < n {
			w.data = make([]byte, n)
		}
		w.at, w.data = p.at, w.data[:n]
		if _, err := w.s.file.ReadAt(w.data, w.at); err != nil {
			w.data = w.data[:0]
			return nil, err
		}
	}
	return w.data[p.at-w.at:][:p.size], nil
}

// IDs calls take with the hashes of ids that were put beside the first n chunks of a log, in order; from is where the chunk
// begins.
func (x *Index) IDs(l *Log, n int, take func(from int64, hash uint32)) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	var buf []byte
	for _, p := range keep(l.pieces, n) {
		data, err := x.sigs.read(p, &buf)
		if err != nil {
			return err
		}
		err = eachInPiece(l.Name, data, p.chunks, func(c Chunk, ids []byte) {
			for ; len(ids) > 0; ids = ids[4:] {
				take(c.From, binary.LittleEndian.Uint32(ids))
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Open says where the chunk begins that is being made; ok is false where there is none.
func (s *Signer) Open() (from int64, ok bool) { return s.from, s.open }

// Continue keeps the first n chunks of a log as it was known before in front of those in Chunks. Where they are no longer
// what they were when the log is put, its signatures count as lost. The last chunk is mostly left out: it was
// made of less text than there is now.
func (l *Log) Continue(known *Log, n int) { l.pieces = keep(known.pieces, n) }

// ChunkCount says how many chunks a log has.
func (l *Log) ChunkCount() int {
	n := 0
	for _, p := range l.pieces {
		n += p.chunks
	}
	return n
}
