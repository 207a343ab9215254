package index

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"github.com/treeline-dev/treeline/internal/difftest"
)

// taken is what the readers of a piece return.
type taken struct {
	Chunks []Chunk
	IDs    [][]uint32
}

// takeAll reads the first chunks of a piece, and reports whether all of it is as it was written.
func takeAll(data []byte, count int) (got taken, ok bool) {
	ok = true
	var room []byte
	err := eachInPiece(sumOf("log"), data, &room, count, func(c *Kept) {
		ok = c.Sound() && ok
		c.Chunk.Sig = bytes.Clone(c.Sig)
		got.Chunks = append(got.Chunks, c.Chunk)
	})
	lost := idsInPiece(sumOf("log"), data, count, func(_ int64, ids []uint32) { got.IDs = append(got.IDs, ids) })
	return got, ok && err == nil && lost == nil
}

// FuzzPiece: whatever bytes stand where a piece was, and whatever numbers are in a directory with the right checksum, they are a piece or
// damage. A piece that is made from what was read is read as the same.
func FuzzPiece(f *testing.F) {
	var s Signer
	s.Add([]byte("the frog sits at the pond"), 10, 90)
	s.Add([]byte("你好 parseHeader"), 100_000, 100_090)
	for _, piece := range [][]byte{
		appendPiece(nil, "log", s.Finish(), [][]uint32{{1, 2, math.MaxUint32}}),
		appendPiece(nil, "log", []Chunk{{From: 1, To: 2, Flags: sigVersion | flagAll}}, nil),
		appendPiece(nil, "log", nil, nil),
		{}, bytes.Repeat([]byte{0xff}, 40),
	} {
		f.Add(piece, 2)
	}
	f.Fuzz(func(t *testing.T, data []byte, count int) {
		takeAll(data, count)
		if len(data) < pieceHead {
			return
		}
		// The rest tests what a checksum does not catch.
		end := pieceHead + int(min(int64(binary.LittleEndian.Uint32(data)), int64(len(data)-pieceHead)))
		data = bytes.Clone(data)
		binary.LittleEndian.PutUint32(data[4:], sumOf("log").with(data[pieceHead:end]))
		d, err := directoryOf(sumOf("log"), data, nil)
		if err != nil {
			return
		}
		takeAll(data, count)
		got, ok := takeAll(data, d.n)
		if !ok {
			return
		}
		again, ok := takeAll(appendPiece(nil, "log", got.Chunks, got.IDs), d.n)
		if !ok {
			t.Error("what was read makes a damaged piece")
		}
		if diff := difftest.Diff(got, again, difftest.EmptyIsNil); diff != "" {
			t.Error("what was read makes another piece (-first +again):", diff)
		}
	})
}

// TestPlaces: an impossible position in a forged catalogue is damage.
func TestPlaces(t *testing.T) {
	t.Parallel()
	s := signatures{held: appendPiece(nil, "log", []Chunk{{To: 1}}, nil)}
	var buf []byte
	for _, p := range []piece{
		{at: inMemory, size: math.MaxInt64}, {at: math.MaxInt64, size: math.MaxInt64}, {at: inMemory + 1, size: int64(len(s.held))},
		{at: 0, size: math.MaxInt64}, {at: math.MinInt64, size: 100}, {at: inMemory, size: -1},
	} {
		if _, err := s.read(p, &buf); err == nil {
			t.Errorf("%+v is there", p)
		}
	}
	for _, count := range []int{-1, 2, math.MinInt, math.MaxInt} {
		if eachInPiece(sumOf("log"), s.held, nil, count, func(*Kept) {}) == nil || idsInPiece(sumOf("log"), s.held, count, func(int64, []uint32) {}) == nil {
			t.Errorf("there are %d chunks", count)
		}
	}
}

// TestManyPieces: a log that grows again and again has few pieces, even if one of them is damaged: then it is read anew.
func TestManyPieces(t *testing.T) {
	t.Parallel()
	for _, damaged := range []bool{false, true} {
		var s signatures
		var known Log
		joined, lost := false, false
		for n := range 3 * piecesMost {
			next := []Log{{Name: "log", Chunks: []Chunk{{From: int64(n), To: int64(n + 1), Sig: bytes.Repeat([]byte("sig"), 100)}}}}
			next[0].Continue(&known, known.ChunkCount())
			s.hold(next, nil)
			known = next[0]
			if damaged && n == 0 {
				s.held[len(s.held)-1] ^= 1
			}
			joined = joined || n > 0 && len(known.pieces) == 1
			if lost = lost || known.Stamp.Racy; lost {
				break
			}
			if len(known.pieces) > piecesMost || known.ChunkCount() != n+1 {
				t.Fatalf("%d pieces of %d chunks", len(known.pieces), known.ChunkCount())
			}
		}
		if lost != damaged || !joined {
			t.Errorf("damaged %v, lost %v, joined %v", damaged, lost, joined)
		}
	}
}
