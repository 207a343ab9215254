package index

import (
	"encoding/binary"
	"hash/crc32"
)

// A piece has a head, a directory, the signatures of its chunks, and the hashes of ids of all chunks.
//
//	head       length of the directory, checksum of the log's name and of the directory: four bytes each
//	directory  how many chunks; of each where it begins, its length, its flags, the length of its signature, how many ids;
//	           then two bytes of checksum for each block of each signature, and four for all ids
//
// A search looks at a few bits of each signature, and reading all of it would be most of its cost. So only the directory is
// checked and, if a bit says that something does not occur, the block of that bit. Code that makes a new piece of a
// signature checks all of it; see Kept.Sound. With two bytes, one damaged block in 65,536 is not detected; directories have
// four.
const (
	pieceHead = 8
	blockSize = 128 // bytes of a signature per checksum
	sumSize   = 2
)

// castagnoli is the polynomial with hardware support.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func blockSum(block []byte) uint16 {
	sum := crc32.Checksum(block, castagnoli)
	return uint16(sum ^ sum>>16)
}

// blocks returns how many blocks a signature has.
func blocks(size int) int { return (size + blockSize - 1) / blockSize }

// appendPiece encodes chunks of a log for eachInPiece and idsInPiece.
func appendPiece(dst []byte, name string, chunks []Chunk, ids [][]uint32) []byte {
	start, need := len(dst), pieceHead+binary.MaxVarintLen64+4
	for i := range chunks {
		need += 4*binary.MaxVarintLen64 + 1 + sumSize*blocks(len(chunks[i].Sig)) + len(chunks[i].Sig)
	}
	for _, own := range ids {
		need += 4 * len(own)
	}
	dst = roomFor(dst, need)
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
		dst = appendSums(dst, chunks[i].Sig)
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
	binary.LittleEndian.PutUint32(dst[start+4:], sumOf(name).with(dst[start+pieceHead:end]))
	return dst
}

// roomFor makes room in a buffer of pieces for so many more bytes.
func roomFor(dst []byte, need int) []byte {
	if cap(dst)-len(dst) >= need { // otherwise a large session would grow it step by step
		return dst
	}
	room := 2 * cap(dst)
	if room > keepRoom/16 {
		room = keepRoom // many logs are put: unused room costs nothing, copying does
	}
	return append(make([]byte, 0, max(len(dst)+need, room)), dst...)
}

// appendSums adds the checksums of the blocks of a signature.
func appendSums(dst, sig []byte) []byte {
	for ; len(sig) > 0; sig = sig[min(blockSize, len(sig)):] {
		dst = binary.LittleEndian.AppendUint16(dst, blockSum(sig[:min(blockSize, len(sig))]))
	}
	return dst
}

// Kept is a chunk in the index. It implements query.Signature.
type Kept struct {
	Chunk
	// Again: the signature is that of the chunk before, which belongs to another log. Only From and To differ.
	Again   bool
	sums    []byte // of the blocks of Sig; nil if there is nothing to check
	damaged bool   // a block with a wrong checksum was read
}

// sound reports whether the block with that byte of the signature has the right checksum.
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

// Sound checks the whole signature. If it is damaged, EachChunk returns the log among the unknown ones.
func (c *Kept) Sound() bool {
	ok := true
	for at := 0; at < len(c.Sig); at += blockSize {
		ok = c.sound(at) && ok
	}
	return ok
}

// directory is the directory of a piece, decoded.
type directory struct {
	list reader // of the chunks
	n    int    // number of chunks
	sums []byte // of the blocks, followed by that of the ids
	data []byte // signatures, followed by ids
}

// entry is a chunk in a directory.
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

// checkedDirectory checks the directory of a piece, and returns it and what follows. If room is not nil, the directory is first copied
// there: another program may change a mapped file between check and use.
func checkedDirectory(name nameSum, data []byte, room *[]byte) (list, rest []byte, err error) {
	if len(data) < pieceHead {
		return nil, nil, errSignatures
	}
	length := binary.LittleEndian.Uint32(data)
	if int64(length) > int64(len(data)-pieceHead) {
		return nil, nil, errSignatures
	}
	end := pieceHead + int(length)
	list = data[pieceHead:end]
	if room != nil {
		*room = append((*room)[:0], list...)
		list = *room
	}
	if name.with(list) != binary.LittleEndian.Uint32(data[4:]) {
		return nil, nil, errSignatures
	}
	return list, data[end:], nil
}

// directoryOf checks and decodes the directory of a piece; see checkedDirectory.
func directoryOf(name nameSum, data []byte, room *[]byte) (d directory, err error) {
	list, rest, err := checkedDirectory(name, data, room)
	if err != nil {
		return d, err
	}
	d.list, d.data = reader{text: textOf(list)}, rest
	d.n = d.list.count(5)
	// A first pass for the lengths: the checksums follow the last chunk.
	begin, need, sums := d.list, 0, 4
	for range d.n {
		e := d.next()
		// An impossible length would overflow the sum.
		if e.size < 0 || e.size > len(d.data) || e.ids < 0 || e.ids > len(d.data) {
			return d, errSignatures
		}
		need, sums = need+e.size+4*e.ids, sums+sumSize*blocks(e.size)
	}
	if d.list.bad || need != len(d.data) || sums != d.list.left() {
		return d, errSignatures
	}
	d.sums, d.list = d.list.bytes(sums), begin
	return d, nil
}

// eachInPiece calls take with the first count chunks of a piece, which are the valid ones. The slices refer to data and to room; see
// directoryOf. After an error some chunks may have been taken already.
func eachInPiece(name nameSum, data []byte, room *[]byte, count int, take func(*Kept)) error {
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

// idsInPiece calls take with the hashes of ids of the first count chunks of a piece; from is where the chunk begins.
func idsInPiece(name nameSum, data []byte, count int, take func(from int64, ids []uint32)) error {
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
