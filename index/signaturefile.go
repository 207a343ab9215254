package index

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/treeline-dev/treeline/internal/durable"
)

// piece is where some chunks of one log lie; see appendPiece.
type piece struct {
	at   int64 // in the file, or behind inMemory in what is held
	size int64
	// A log that grew keeps its pieces as they are: the last chunk, which grows, is made anew in another piece.
	chunks int // how many of its chunks count; those behind them were made anew since
}

// inMemory is where the places of pieces begin that are not in the file. No file is that long, so that one number says which
// of the two it is.
const inMemory = 1 << 62

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
		if len(l.pieces) > piecesMost && !s.join(l) {
			l.lose()
		}
		l.Chunks, l.IDs = nil, nil
	}
}

// Lost gives a log as one whose signatures cannot be had, to be put: it stays known, so that others who look for it meanwhile
// find it, and is read anew at the next refresh.
func (l *Log) Lost() Log {
	lost := *l
	lost.lose()
	return lost
}

// lose says that the signatures of a log cannot be had, by a piece that is nowhere. The log is read again next time. Its
// stamp is made one that proves nothing, so that the next refresh reads it.
func (l *Log) lose() { l.pieces, l.Stamp.Racy, l.resume = []piece{{at: -1}}, true, "" }

// there says whether all pieces of a log can be read.
func (s *signatures) there(l *Log) bool {
	var buf []byte
	for _, p := range l.pieces {
		data, err := s.read(p, &buf)
		if err != nil || eachInPiece(l.Name, data, nil, p.chunks, func(*Kept) {}) != nil {
			return false
		}
	}
	return true
}

// piecesMost is how many pieces a log that grows again and again may have. Each is a read of its own when the log is
// searched, and twelve bytes in the catalogue.
const piecesMost = 16

// join makes one piece of several; false means that one is damaged. They cannot stay as they are then: nobody may look at them
// for long, and with each growth there is one more.
func (s *signatures) join(l *Log) bool {
	var chunks []Chunk
	var ids [][]uint32
	for _, p := range l.pieces {
		var buf []byte
		data, err := s.read(p, &buf)
		if err == nil {
			err = eachInPiece(l.Name, data, nil, p.chunks, func(c *Kept) {
				c.Sound() // damage would be taken for what was written from now on
				chunks = append(chunks, c.Chunk)
			})
		}
		if err == nil {
			err = idsInPiece(l.Name, data, p.chunks, func(_ int64, own []uint32) { ids = append(ids, own) })
		}
		if err != nil {
			return false
		}
	}
	at := len(s.held)
	s.held = appendPiece(s.held, l.Name, chunks, ids)
	l.pieces = []piece{{inMemory + int64(at), int64(len(s.held) - at), len(chunks)}}
	return true
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

// keepRoom is how much room is made ahead for pieces that come one by one. It is somewhat more than is held before it is
// committed.
const keepRoom = 9 << 20

// read gives the bytes of a piece. They are valid until the next call with the same buffer.
func (s *signatures) read(p piece, buf *[]byte) ([]byte, error) {
	// Held pieces are checked as well: a catalogue from before a commit names places that are gone.
	if p.at >= inMemory {
		at := p.at - inMemory
		if p.size < pieceHead || at > int64(len(s.held))-p.size {
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

// IDs calls take with the hashes of ids that were put beside the first n chunks of a log, in order; from is where the chunk
// begins.
func (x *Index) IDs(l *Log, n int, take func(from int64, hash uint32)) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	var buf []byte
	for _, p := range keep(l.pieces, n) {
		data, err := x.sigs.read(p, &buf)
		if err == nil {
			err = idsInPiece(l.Name, data, p.chunks, func(from int64, ids []uint32) {
				for _, id := range ids {
					take(from, id)
				}
			})
		}
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
