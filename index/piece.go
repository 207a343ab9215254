package index

import (
	"encoding/binary"
	"hash/crc32"
)

// A piece has a head, a directory, the signatures of its chunks one behind the other, and the hashes of ids of all chunks.
//
//	head       length of the directory, checksum of the log's name and of the directory: four bytes each
//	directory  how many chunks; of each where it begins, how long it is, its flags, the length of its signature, how many ids;
//	           then two bytes of checksum for each block of each signature, and four for all ids
//
// A search looks at a few bits of each signature. So what is checked is the directory and, where a bit says that something
// does not occur, the block that the bit is in: to read all of it to the end would be most of what a search costs. Who makes
// something new of a signature has all of it checked; see Kept.Sound. Two bytes for a block mean that one damaged block in
// 65,536 passes for what was written; directories, which say where chunks stand, have four.
const (
	pieceHead = 8
	blockSize = 128 // bytes of a signature with one checksum
	sumSize   = 2
)

// castagnoli is the polynomial that processors have an instruction for.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// directorySum is the checksum of a directory. The log's name is in it, so that no piece is ever taken for another log's.
func directorySum(name string, directory []byte) uint32 {
	return crc32.Update(crc32.Checksum([]byte(name), castagnoli), castagnoli, directory)
}

func blockSum(block []byte) uint16 {
	sum := crc32.Checksum(block, castagnoli)
	return uint16(sum ^ sum>>16)
}

// blocks says how many blocks a signature has.
func blocks(size int) int { return (size + blockSize - 1) / blockSize }

// appendPiece encodes chunks of a log. Its readers are eachInPiece and idsInPiece.
func appendPiece(dst []byte, name string, chunks []Chunk, ids [][]uint32) []byte {
	start, need := len(dst), pieceHead+binary.MaxVarintLen64+4
	for i := range chunks {
		need += 4*binary.MaxVarintLen64 + 1 + sumSize*blocks(len(chunks[i].Sig)) + len(chunks[i].Sig)
	}
	for _, own := range ids {
		need += 4 * len(own)
	}
	if cap(dst)-start < need { // a large session would otherwise make it grow step by step
		room := 2 * cap(dst)
		if room > keepRoom/16 {
			room = keepRoom // there are many: what is not used of it costs nothing, and copying does
		}
		dst = append(make([]byte, 0, max(start+need, room)), dst...)
	}
	dst = append(dst, make([]byte, pieceHead)...)
	dst = binary.AppendUvarint(dst, uint64(len(chunks)))
	for i := range chunks {
		c := &chunks[i]
		dst = binary.AppendUvarint(dst, uint64(c.From))
		dst = binary.AppendUvarint(dst, uint64(c.To-c.From))
		dst = append(dst, c.Flags)
		dst = binary.AppendUvarint(dst, uint64(len(c.Sig)))
		n := 0
		if i < len(ids) {
			n = len(ids[i])
		}
		dst = binary.AppendUvarint(dst, uint64(n))
	}
	for i := range chunks {
		for sig := chunks[i].Sig; len(sig) > 0; sig = sig[min(blockSize, len(sig)):] {
			dst = binary.LittleEndian.AppendUint16(dst, blockSum(sig[:min(blockSize, len(sig))]))
		}
	}
	sum := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	end := len(dst)
	for i := range chunks {
		dst = append(dst, chunks[i].Sig...)
	}
	hashes := len(dst)
	for _, own := range ids[:min(len(ids), len(chunks))] {
		for _, id := range own {
			dst = binary.LittleEndian.AppendUint32(dst, id)
		}
	}
	binary.LittleEndian.PutUint32(dst[sum:], crc32.Checksum(dst[hashes:], castagnoli))
	binary.LittleEndian.PutUint32(dst[start:], uint32(end-start-pieceHead))
	binary.LittleEndian.PutUint32(dst[start+4:], directorySum(name, dst[start+pieceHead:end]))
	return dst
}

// Kept is a chunk as the index has it.
type Kept struct {
	Chunk
	sums    []byte // of the blocks of Sig; nil where nothing is to be checked
	damaged bool   // a block was looked at that is not what was written
}

// sound says whether the block with that byte of the signature is what was written.
func (c *Kept) sound(at int) bool {
	if c.sums == nil {
		return true
	}
	k := at / blockSize
	block := c.Sig[k*blockSize : min((k+1)*blockSize, len(c.Sig))]
	ok := binary.LittleEndian.Uint16(c.sums[sumSize*k:]) == blockSum(block)
	c.damaged = c.damaged || !ok
	return ok
}

// Sound says whether all of the signature is what was written. EachChunk counts the log among those that cannot be had where
// it is not.
func (c *Kept) Sound() bool {
	ok := true
	for at := 0; at < len(c.Sig); at += blockSize {
		ok = c.sound(at) && ok
	}
	return ok
}

// directory is what stands before the signatures of a piece.
type directory struct {
	list reader // of the chunks
	n    int    // how many there are
	sums []byte // of their blocks, and then of ids
	data []byte // signatures, and then ids
}

// entry is what a directory says of a chunk.
type entry struct {
	Chunk
	size, ids int
}

func (d *directory) next() (e entry) {
	e.From = int64(d.list.uvarint())
	e.To = e.From + int64(d.list.uvarint())
	if b := d.list.bytes(1); b != nil {
		e.Flags = b[0]
	}
	e.size, e.ids = int(d.list.uvarint()), int(d.list.uvarint())
	return e
}

// directoryOf checks the directory of a piece. It is copied to room first, where there is one: of a file that is mapped another
// program may change the bytes behind our back, and what was checked must be what is used.
func directoryOf(name string, data []byte, room *[]byte) (d directory, err error) {
	if len(data) < pieceHead {
		return d, errSignatures
	}
	length := binary.LittleEndian.Uint32(data)
	if int64(length) > int64(len(data)-pieceHead) {
		return d, errSignatures
	}
	end := pieceHead + int(length)
	list := data[pieceHead:end]
	if room != nil {
		*room = append((*room)[:0], list...)
		list = *room
	}
	if directorySum(name, list) != binary.LittleEndian.Uint32(data[4:]) {
		return d, errSignatures
	}
	d.list, d.data = reader{data: list}, data[end:]
	d.n = d.list.count(5)
	// Gone through once for the lengths: the sums stand behind the last chunk.
	begin, need, sums := d.list, 0, 4
	for range d.n {
		e := d.next()
		// A length that is none would overflow the sum.
		if e.size < 0 || e.size > len(d.data) || e.ids < 0 || e.ids > len(d.data) {
			return d, errSignatures
		}
		need, sums = need+e.size+4*e.ids, sums+sumSize*blocks(e.size)
	}
	if d.list.bad || need != len(d.data) || sums != len(d.list.data) {
		return d, errSignatures
	}
	d.sums, d.list = d.list.data, begin
	return d, nil
}

// eachInPiece calls take with those of the chunks of a piece that count. The slices are parts of data and of room, for which see
// directoryOf. After an error some chunks may have been taken already.
func eachInPiece(name string, data []byte, room *[]byte, count int, take func(*Kept)) error {
	d, err := directoryOf(name, data, room)
	if err != nil || count < 0 || count > d.n {
		return errSignatures
	}
	var c Kept
	for range count {
		e := d.next()
		n := sumSize * blocks(e.size)
		c.Chunk, c.sums = e.Chunk, d.sums[:n]
		c.Sig = d.data[:e.size:e.size]
		d.sums, d.data = d.sums[n:], d.data[e.size:]
		take(&c)
		if c.damaged {
			return errSignatures
		}
	}
	return nil
}

// idsInPiece calls take with the hashes of ids of those of the chunks of a piece that count; from is where the chunk begins.
func idsInPiece(name string, data []byte, count int, take func(from int64, ids []uint32)) error {
	d, err := directoryOf(name, data, nil)
	if err != nil || count < 0 || count > d.n {
		return errSignatures
	}
	hashes, list := d.data, d.list
	for range d.n {
		hashes = hashes[d.next().size:]
	}
	if crc32.Checksum(hashes, castagnoli) != binary.LittleEndian.Uint32(d.sums[len(d.sums)-4:]) {
		return errSignatures
	}
	d.list = list
	for range count {
		e := d.next()
		ids := make([]uint32, e.ids)
		for i := range ids {
			ids[i] = binary.LittleEndian.Uint32(hashes[4*i:])
		}
		hashes = hashes[4*e.ids:]
		take(e.From, ids)
	}
	return nil
}
