package index

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
)

// The file of the catalogue has a line that names it, the version, the length of what follows and its checksum; then the sources, each with
// its key, the number of its logs and their records; then the table of frequent strings. Numbers are varints; strings and records are
// preceded by their length. A record that did not change is written as it was read. Entries may follow; see journal.go.
const (
	catalogueMagic = "treeline catalogue\n"
	// There is no migration: a file of another version is rebuilt from the logs. Increase it with every change of the encoding, or of the
	// meaning of what is encoded.
	catalogueVersion = 12
	catalogueHead    = len(catalogueMagic) + 4 + 8 + 4
)

// Reasons to rebuild the index.
var (
	errForeign = errors.New("it was written by another version")
	errDamaged = errors.New("its catalogue is damaged")
)

// encodeCatalogue returns the content of the file, and sets the tail of the catalogue.
func encodeCatalogue(c *Catalogue) io.Reader {
	var w writer
	var parts []string
	flush := func() {
		parts = append(parts, string(w.data))
		w.data = w.data[:0]
	}
	w.uvarint(c.generation)
	w.varint(c.signatures)
	w.uvarint(uint64(len(c.Sources)))
	for i := range c.Sources {
		s := &c.Sources[i]
		w.string(s.Key)
		w.uvarint(uint64(s.Logs.Len()))
		flush()
		parts = s.Logs.appendRecords(parts)
	}
	var table []string
	if c.pool != nil {
		table = c.pool.table
	}
	w.uvarint(uint64(len(table)))
	for _, s := range table {
		w.string(s)
	}
	flush()
	size, sum := uint64(0), uint32(0)
	for _, p := range parts {
		size, sum = size+uint64(len(p)), crc32.Update(sum, castagnoli, bytesOf(p))
	}
	c.tail = tail{whole: int64(catalogueHead) + int64(size), sum: sum}
	head := make([]byte, catalogueHead)
	at := copy(head, catalogueMagic)
	binary.LittleEndian.PutUint32(head[at:], catalogueVersion)
	binary.LittleEndian.PutUint64(head[at+4:], size)
	binary.LittleEndian.PutUint32(head[at+12:], sum)
	readers := []io.Reader{bytes.NewReader(head)}
	for _, p := range parts {
		readers = append(readers, bytes.NewReader(bytesOf(p))) // a strings.Reader would copy it
	}
	return io.MultiReader(readers...)
}

// appendRecords adds the bytes of all records. Records that are neighbours in memory become one part.
func (l *Logs) appendRecords(parts []string) []string {
	if l.Len() == 0 {
		return parts
	}
	page, from, to := l.pool.span(l.refs[0])
	for _, at := range l.refs[1:] {
		p, f, t := l.pool.span(at)
		if p != page || f != to {
			parts = append(parts, l.pool.pages[page][from:to])
			page, from = p, f
		}
		to = t
	}
	return append(parts, l.pool.pages[page][from:to])
}

// decodeCatalogue decodes the content of the file. The catalogue keeps data, which must not change afterwards. Records are
// counted and not decoded.
func decodeCatalogue(data []byte) (*Catalogue, error) {
	if len(data) < catalogueHead || string(data[:len(catalogueMagic)]) != catalogueMagic {
		return nil, errDamaged
	}
	head, body := data[len(catalogueMagic):catalogueHead], data[catalogueHead:]
	// The version comes before the checksum, since another version may compute it differently.
	if v := binary.LittleEndian.Uint32(head); v != catalogueVersion {
		return nil, fmt.Errorf("%w (%d, not %d)", errForeign, v, catalogueVersion)
	}
	size, sum := binary.LittleEndian.Uint64(head[4:]), binary.LittleEndian.Uint32(head[12:])
	if size > uint64(len(body)) || size > math.MaxUint32 || sum != crc32.Checksum(body[:size], castagnoli) {
		return nil, errDamaged
	}
	// Nothing else refers to data.
	page, rest := textOf(body[:size]), textOf(body[size:])
	r := reader{text: page}
	p := &pool{pages: []string{page}, size: len(page)}
	c := &Catalogue{generation: r.uvarint(), signatures: r.varint(), pool: p, tail: tail{whole: int64(catalogueHead) + int64(size), sum: sum}}
	c.Sources = make([]Source, r.count(2))
	for i := range c.Sources {
		c.Sources[i].Key = r.string()
		refs := make([]ref, r.count(8))
		for k := range refs {
			refs[k] = ref(r.at)
			c.live += len(r.string())
		}
		c.Sources[i].Logs = &Logs{pool: p, refs: refs}
	}
	p.table = make([]string, r.count(1))
	for i := range p.table {
		p.table[i] = r.string()
	}
	if r.bad || r.left() > 0 {
		return nil, errDamaged
	}
	return c, c.replay(rest)
}
