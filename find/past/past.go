// Package past describes the part of a log that is not read again when reading continues after it, as far as the index knows it. It tells
// whether that part has an id.
package past

import (
	"bytes"
	"io"
	"slices"
	"sort"

	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/session"
)

// Past is the part of a log that is not read again. The index has a hash of each entry's id.
type Past struct {
	// Was is what the index knows of the log, Builder has the entries after that part.
	Was     *index.Resume
	Builder *session.Builder
	// Log is the log to read from.
	Log io.ReaderAt
	// Unsure: an id has the hash of another one, or could not be looked up.
	Unsure bool

	hashes []uint32
	chunks []int64 // the beginning of the chunk of each entry

	ends   map[session.EntryID]bool // the ids of Before.Ends
	asked  int                      // number of hashes that were looked for
	byHash map[uint32][]int         // the entries of each hash; nil as long as few were looked for
	looked int64                    // number of bytes of chunks that were read
}

// Add adds the hash of an entry's id; from is where its chunk begins.
func (p *Past) Add(from int64, hash uint32) {
	p.hashes, p.chunks = append(p.hashes, hash), append(p.chunks, from)
}

// Entries counts the hashes.
func (p *Past) Entries() int { return len(p.hashes) }

// few is up to how many hashes are searched one by one. A map of them costs as much as some hundred such searches.
const few = 64

// entries returns the entries with a hash.
func (p *Past) entries(hash uint32) (list []int) {
	if p.asked++; p.asked <= few {
		for i, h := range p.hashes {
			if h == hash {
				list = append(list, i)
			}
		}
		return list
	}
	if p.byHash == nil {
		p.byHash = make(map[uint32][]int, len(p.hashes))
		for i, h := range p.hashes {
			p.byHash[h] = append(p.byHash[h], i)
		}
	}
	return p.byHash[hash]
}

// lookMost is how many bytes of chunks are read to look ids up, at least. If it takes more, reading the whole log costs less.
const lookMost = 64 << 20

// Has reports whether the past has an entry with the id. If it has the hash, it looks for the id in that chunk.
func (p *Past) Has(id session.EntryID) bool {
	if p.ends == nil {
		p.ends = map[session.EntryID]bool{}
		for _, end := range p.Was.Before.Ends {
			for _, id := range end {
				p.ends[id] = true
			}
		}
	}
	if p.ends[id] {
		return true
	}
	for _, i := range p.entries(Hash(id)) {
		if p.Unsure = p.Unsure || p.looked > max(p.Was.From, lookMost); p.Unsure {
			return false
		}
		if bytes.Contains(p.chunk(i), []byte(id)) {
			return true
		}
		p.Unsure = true
	}
	return false
}

// chunk returns the chunk of an entry; nil if it cannot be read.
func (p *Past) chunk(i int) []byte {
	from, to := p.chunks[i], p.Was.From
	if k := sort.Search(len(p.chunks), func(k int) bool { return p.chunks[k] > from }); k < len(p.chunks) {
		to = p.chunks[k]
	}
	if from == p.chunks[0] {
		from = 0 // entries without text may precede the chunk
	}
	data := make([]byte, to-from)
	p.looked += to - from
	if n, _ := p.Log.ReadAt(data, from); n < len(data) {
		return nil
	}
	return data
}

// Repeated reports whether the past has or names an id of the entries that were read. It treats equal hashes as equal ids.
func (p *Past) Repeated(tree *session.Tree) bool {
	mine := make(map[uint32]bool, tree.Len())
	for i := range tree.Len() {
		mine[Hash(tree.At(i).ID)] = true
	}
	return slices.ContainsFunc(p.hashes, func(hash uint32) bool { return mine[hash] }) ||
		slices.ContainsFunc(p.Was.Before.Missing, tree.Has)
}

// Hash returns what the index keeps of an id: a 32-bit FNV-1a hash.
func Hash[T ~string | ~[]byte](id T) uint32 {
	h := uint32(2166136261)
	for i := range len(id) {
		h = (h ^ uint32(id[i])) * 16777619
	}
	return h
}
