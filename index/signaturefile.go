package index

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/treeline-dev/treeline/internal/durable"
)

// piece is the position of some chunks of one log; see appendPiece.
type piece struct {
	at   int64 // position in the file; from inMemory on, in held
	size int64
	// A log that grew keeps its pieces; its last chunk, which grew, is replaced by one in a new piece.
	chunks int32 // the first ones that count; the rest were replaced
	// shared: the piece is one signature of several logs, of which this one is the member with that number; see share.go. Such
	// a log has no other piece.
	shared bool
	member int32
}

// inMemory is the first position of pieces that are not in the file. No file is that long.
const inMemory = 1 << 62

// held reports whether the piece is not in the file.
func (p piece) held() bool { return p.at >= inMemory }

const signaturesPrefix = "signatures-"

// signaturesName returns the name of the file of a generation.
func signaturesName(generation uint64) string { return fmt.Sprint(signaturesPrefix, generation) }

// errSignatures: a piece is damaged.
var errSignatures = errors.New("the signatures are damaged")

// signatures are the pieces of all logs, in the file and in memory. The index's mu guards them.
type signatures struct {
	file durable.File // nil if there is none
	size int64        // number of its bytes that count
	held []byte
	room []byte // for pieces that are read one after the other; the index is locked meanwhile
}

// open opens the file of a generation. It may be longer than size, and may be missing if size is 0.
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
	// After a crash the catalogue may be on disk while the signatures are not: nothing is synced.
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

// hold encodes the chunks of logs that are put. Pieces that a log continues may have been moved by a commit since the log was looked up. So
// each is read: if another piece is at its position now, the checksum detects that.
func (s *signatures) hold(logs []Log, together *Chunk) {
	if together != nil {
		s.holdShared(logs, together)
		return
	}
	for i := range logs {
		l := &logs[i]
		if !s.there(l) {
			l.lose()
		}
		if len(l.Chunks) > 0 {
			at := len(s.held)
			s.held = appendPiece(s.held, l.Name, l.Chunks, l.IDs)
			l.pieces = append(l.pieces, piece{at: inMemory + int64(at), size: int64(len(s.held) - at), chunks: int32(len(l.Chunks))})
		}
		if len(l.pieces) > piecesMost && !s.join(l) {
			l.lose()
		}
		l.Chunks, l.IDs = nil, nil
	}
}

// Lost returns the log without its signatures, for Put: it stays listed, and the next refresh reads it again.
func (l *Log) Lost() Log {
	lost := *l
	lost.lose()
	return lost
}

// lose replaces the pieces by one that does not exist. A stamp that proves nothing makes the next refresh read the log.
func (l *Log) lose() { l.pieces, l.Stamp.Racy, l.resume = []piece{{at: -1}}, true, "" }

// there reports whether all pieces of a log can be read.
func (s *signatures) there(l *Log) bool {
	for _, p := range l.pieces {
		data, err := s.read(p, &s.room)
		if err == nil && p.shared {
			_, err = sharedIn(data, nil, nil)
		} else if err == nil {
			err = eachInPiece(sumOf(l.Name), data, nil, int(p.chunks), func(*Kept) {})
		}
		if err != nil {
			return false
		}
	}
	return true
}

// piecesMost is the most pieces of a log that keeps growing. A search reads each of them, and each takes twelve bytes in the catalogue.
const piecesMost = 16

// join copies all pieces of a log into one. It returns false if one is damaged.
func (s *signatures) join(l *Log) bool {
	var chunks []Chunk
	var ids [][]uint32
	for _, p := range l.pieces {
		var buf []byte
		data, err := s.read(p, &buf)
		if err == nil {
			err = eachInPiece(sumOf(l.Name), data, nil, int(p.chunks), func(c *Kept) {
				c.Sound() // a copy gets new checksums, which would hide damage
				chunks = append(chunks, c.Chunk)
			})
		}
		if err == nil {
			err = idsInPiece(sumOf(l.Name), data, int(p.chunks), func(_ int64, own []uint32) { ids = append(ids, own) })
		}
		if err != nil {
			return false
		}
	}
	at := len(s.held)
	s.held = appendPiece(s.held, l.Name, chunks, ids)
	l.pieces = []piece{{at: inMemory + int64(at), size: int64(len(s.held) - at), chunks: int32(len(chunks))}}
	return true
}

// keep returns the pieces of the first n chunks.
func keep(pieces []piece, n int) []piece {
	var list []piece
	for _, p := range pieces {
		if n == 0 {
			break
		}
		p.chunks = int32(min(int(p.chunks), n))
		n -= int(p.chunks)
		list = append(list, p)
	}
	return list
}

// keepRoom is the size of the buffer of held pieces, somewhat more than callers put before they commit.
const keepRoom = 9 << 20

// read returns the bytes of a piece. They are valid until the next call with the same buffer.
func (s *signatures) read(p piece, buf *[]byte) ([]byte, error) {
	// An older catalogue may name positions that no longer exist.
	if p.held() {
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

// IDs calls take with the hashes of ids of the first n chunks of a log, in order; from is where the chunk begins.
func (x *Index) IDs(l *Log, n int, take func(from int64, hash uint32)) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, p := range keep(l.pieces, n) {
		if p.shared {
			continue // a short log is read as a whole
		}
		data, err := x.sigs.read(p, &x.sigs.room)
		if err == nil {
			err = idsInPiece(sumOf(l.Name), data, int(p.chunks), func(from int64, ids []uint32) {
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

// Continue puts the first n chunks of known before those in Chunks. Leave out the last chunk of a log that grew: it was made from less
// text. If the pieces of known have moved when the log is put, its signatures are lost.
func (l *Log) Continue(known *Log, n int) { l.pieces = keep(known.pieces, n) }

// ChunkCount returns how many chunks a log has.
func (l *Log) ChunkCount() int {
	n := 0
	for _, p := range l.pieces {
		n += int(p.chunks)
	}
	return n
}
