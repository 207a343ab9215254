package index

import (
	"encoding/binary"
	"hash/crc32"
)

// Short logs share a signature. Alone, each would need one nearly as large as that of ten, since they have most of their words and trigrams
// in common. A search that cannot exclude the signature reads all of them. If one of them changes, it gets another signature, and the
// others keep this one.
//
// A shared piece has a head as any piece, a directory, and the signature:
//
//	directory  how many logs; of each four bytes of checksum of its name, where its text begins, and its length; the flags and
//	           the length of the signature; two bytes of checksum for each block of it

// ShortLog is the length up to which a log is short, SharedBytes about the total length of the logs that share a signature.
const (
	ShortLog    = 32 << 10
	SharedBytes = 2 * chunkBytes
)

// sharedName is the input with which the checksum of a shared directory begins. No log has such a name.
const sharedName = "\x00shared"

// holdShared encodes the signature of several logs.
func (s *signatures) holdShared(logs []Log, c *Chunk) {
	start := len(s.held)
	dst := roomFor(s.held, pieceHead+(4+3*binary.MaxVarintLen64)*(1+len(logs))+sumSize*blocks(len(c.Sig))+len(c.Sig))
	dst = append(dst, make([]byte, pieceHead)...)
	members := 0
	for i := range logs {
		members += min(len(logs[i].Chunks), 1)
	}
	dst = binary.AppendUvarint(dst, uint64(members))
	for i := range logs {
		if own := logs[i].Chunks; len(own) > 0 {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(sumOf(logs[i].Name)))
			dst = binary.AppendUvarint(dst, uint64(own[0].From))
			dst = binary.AppendUvarint(dst, uint64(own[0].To-own[0].From))
		}
	}
	dst = append(dst, c.Flags)
	dst = binary.AppendUvarint(dst, uint64(len(c.Sig)))
	dst = appendSums(dst, c.Sig)
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start-pieceHead))
	binary.LittleEndian.PutUint32(dst[start+4:], sumOf(sharedName).with(dst[start+pieceHead:]))
	s.held = append(dst, c.Sig...)
	member := int32(0)
	for i := range logs {
		l := &logs[i]
		l.pieces = nil
		if len(l.Chunks) > 0 {
			l.pieces = []piece{{at: inMemory + int64(start), size: int64(len(s.held) - start), chunks: 1, shared: true, member: member}}
			member++
		}
		l.Chunks, l.IDs = nil, nil
	}
}

// sharedPiece is a shared piece, decoded.
type sharedPiece struct {
	members []member
	flags   byte
	sums    []byte
	sig     []byte
}

// member is a log of a shared piece, and the position of its text.
type member struct {
	name     nameSum
	from, to int64
}

// sharedIn decodes a shared piece into the memory of another one. As in directoryOf, the directory is copied before it is checked.
func sharedIn(data []byte, room *[]byte, members []member) (p sharedPiece, err error) {
	list, rest, err := checkedDirectory(sumOf(sharedName), data, room)
	if err != nil {
		return p, err
	}
	r := reader{text: textOf(list)}
	p.members = members[:0]
	for range r.count(6) {
		var m member
		if b := r.bytes(4); b != nil {
			m.name = nameSum(binary.LittleEndian.Uint32(b))
		}
		m.from = int64(r.uvarint())
		m.to = m.from + int64(r.uvarint())
		p.members = append(p.members, m)
	}
	if b := r.bytes(1); b != nil {
		p.flags = b[0]
	}
	size := r.uvarint()
	if r.bad || size != uint64(len(rest)) || r.left() != sumSize*blocks(len(rest)) {
		return p, errSignatures
	}
	p.sums, p.sig = r.bytes(r.left()), rest
	return p, nil
}

// take calls take with the chunk of one log; again is Kept.Again.
func (p *sharedPiece) take(name nameSum, which int, again bool, take func(*Kept)) error {
	if which < 0 || which >= len(p.members) || p.members[which].name != name {
		return errSignatures
	}
	m := &p.members[which]
	c := Kept{Chunk: Chunk{From: m.from, To: m.to, Sig: p.sig, Flags: p.flags}, Again: again, sums: p.sums}
	if take(&c); c.damaged {
		return errSignatures
	}
	return nil
}

// nameSum is the checksum of a log's name.
type nameSum uint32

func sumOf(name string) nameSum { return nameSum(crc32.Checksum(bytesOf(name), castagnoli)) }

// with returns the checksum of the name followed by data.
func (n nameSum) with(data []byte) uint32 { return crc32.Update(uint32(n), castagnoli, data) }
