package index

import (
	"encoding/binary"
	"slices"
	"strings"
	"unsafe"

	"github.com/treeline-dev/treeline/internal/sorting"
)

// Log is what is known of one log.
type Log struct {
	// Name is the name of the log in its source.
	Name  string
	Stamp Stamp
	// Summary is what lists show.
	Summary Summary
	// Chunks are signatures, and IDs hashes of the ids of each chunk's entries. They are input for Put; EachChunk and Index.IDs return
	// them.
	Chunks []Chunk
	IDs    [][]uint32
	// Facts and Before are for a Shared index, whose logs always have Facts; an Index does not keep them.
	Facts  *Facts
	Before *Stamp

	// resume is the encoded argument of SetResume.
	resume string
	// pieces are the positions of its signatures. Catalogues share the slice, so it is copied before a change.
	pieces []piece
}

// Source is a place with logs.
type Source struct {
	// Key names the place; it means nothing to the index.
	Key  string
	Logs *Logs
}

// Catalogue is everything that is known at one moment. It must not be changed.
type Catalogue struct {
	// Sources are in the order of their keys.
	Sources []Source

	generation uint64 // of the file of signatures
	signatures int64  // number of bytes of that file that count
	tail       tail   // the end of the catalogue's own file, if it has one

	pool *pool // of all sources
	live int   // number of bytes of records in the pool that count
	// stale: the table may have strings that no record has.
	stale bool
}

// Logs returns the logs of a source; nil if nothing is known.
func (c *Catalogue) Logs(key string) *Logs {
	if i, ok := c.find(key); ok {
		return c.Sources[i].Logs
	}
	return nil
}

// Log looks up one log.
func (c *Catalogue) Log(key, name string) (*Log, bool) {
	logs := c.Logs(key)
	i, ok := logs.Find(name)
	if !ok {
		return nil, false
	}
	return logs.At(i), true
}

// any reports whether a source has a log of that name for which f is true. c may be nil.
func (c *Catalogue) any(name string, f func(*Log) bool) bool {
	return c != nil && slices.ContainsFunc(c.Sources, func(s Source) bool {
		l, ok := c.Log(s.Key, name)
		return ok && f(l)
	})
}

func (c *Catalogue) find(key string) (int, bool) {
	return slices.BinarySearchFunc(c.Sources, key, func(s Source, key string) int { return strings.Compare(s.Key, key) })
}

// with returns a catalogue with the updates applied. It shares with c the records of logs that no update touches.
func (c *Catalogue) with(updates []Update) *Catalogue {
	next := &Catalogue{Sources: slices.Clone(c.Sources), generation: c.generation, signatures: c.signatures, live: c.live, stale: c.stale}
	w := newWriter(c.pool)
	for len(updates) > 0 {
		// Updates of one source usually come together, and are applied in one pass.
		n := 1
		for n < len(updates) && updates[n].Source == updates[0].Source && !updates[n].Forget {
			n++
		}
		next.update(w, updates[0].Source, updates[:n])
		updates = updates[n:]
	}
	next.pool = w.made()
	for i := range next.Sources {
		next.Sources[i].Logs = &Logs{pool: next.pool, refs: next.Sources[i].Logs.refs}
	}
	if next.pool.size > 2*next.live+poolSpare {
		return next.packed()
	}
	return next
}

// poolSpare is how many bytes of replaced records a pool may hold before the others are copied to a new one.
const poolSpare = 1 << 20

// update changes the logs of one source. Only the first of the updates may have Forget set.
func (c *Catalogue) update(w *poolWriter, key string, updates []Update) {
	i, ok := c.find(key)
	if !ok {
		c.Sources = slices.Insert(c.Sources, i, Source{Key: key, Logs: &Logs{}})
	}
	// An update before this one may have added records.
	before := &Logs{pool: w.made(), refs: c.Sources[i].Logs.refs}
	if updates[0].Forget {
		for k := range before.refs {
			c.drop(before, k)
		}
		before.refs = nil
	}
	var changes []change
	for u := range updates {
		for k := range updates[u].Put {
			changes = append(changes, change{updates[u].Put[k].Name, &updates[u].Put[k]})
		}
		for _, name := range updates[u].Remove {
			changes = append(changes, change{name, nil})
		}
	}
	// A stable sort, so that the last of several changes to one log wins.
	sorting.By(changes, func(a, b change) int { return strings.Compare(a.name, b.name) })
	refs, from := make([]ref, 0, before.Len()+len(changes)), 0
	for k, ch := range changes {
		if k+1 < len(changes) && changes[k+1].name == ch.name {
			continue // a later change follows
		}
		at, known := before.findFrom(from, ch.name)
		refs, from = append(refs, before.refs[from:at]...), at
		if known {
			c.replace(before, at, ch.log)
			from++
		}
		if ch.log != nil {
			next, size := w.put(ch.log)
			refs, c.live = append(refs, next), c.live+size
		}
	}
	refs = append(refs, before.refs[from:]...)
	if len(refs) == 0 {
		// A source without logs is removed; otherwise its key would stay for ever.
		c.Sources = slices.Delete(c.Sources, i, i+1)
		return
	}
	c.Sources[i].Logs = &Logs{refs: refs}
}

// drop counts a record that is gone.
func (c *Catalogue) drop(l *Logs, i int) {
	c.live -= len(l.pool.record(l.refs[i]))
	c.stale = true
}

// replace counts the record of a log that is removed (by is nil) or put again. The record of by is counted when it is put. A log that has
// grown usually keeps its frequent strings; then the table is not stale.
func (c *Catalogue) replace(l *Logs, i int, by *Log) {
	stale := c.stale
	c.drop(l, i)
	if was := l.At(i); by != nil && was.Summary.CWD == by.Summary.CWD && was.Summary.Dialect == by.Summary.Dialect &&
		!slices.ContainsFunc(was.Summary.Models, func(m string) bool { return !slices.Contains(by.Summary.Models, m) }) {
		c.stale = stale
	}
}

// packed returns the catalogue with a new pool that has only the records that count.
func (c *Catalogue) packed() *Catalogue {
	next := &Catalogue{Sources: slices.Clone(c.Sources), generation: c.generation, signatures: c.signatures, live: c.live}
	w := newWriter(nil)
	for i := range next.Sources {
		was := next.Sources[i].Logs
		refs := make([]ref, was.Len())
		for k := range refs {
			refs[k], _ = w.put(was.At(k))
		}
		next.Sources[i].Logs = &Logs{refs: refs}
	}
	next.pool = w.made()
	for i := range next.Sources {
		next.Sources[i].Logs.pool = next.pool
	}
	return next
}

// poolWriter adds records to a pool.
type poolWriter struct {
	writer
	before pool
	record writer
}

// newWriter begins with a pool, which may be nil.
func newWriter(p *pool) *poolWriter {
	w := &poolWriter{}
	if p != nil {
		w.before = *p
	}
	w.numbers = make(map[string]uint64, len(w.before.table))
	for i, s := range w.before.table {
		w.numbers[s] = uint64(i)
	}
	w.table, w.before.pages = slices.Clip(w.before.table), slices.Clip(w.before.pages) // other catalogues share them
	return w
}

// pageSize is the size of a page of records that are put; a longer record is a page of its own.
const pageSize = 256 << 10

// put adds the record of a log. size is that of its content.
func (w *poolWriter) put(l *Log) (at ref, size int) {
	w.record.numbers, w.record.table, w.record.data = w.numbers, w.table, w.record.data[:0]
	w.record.kept(l)
	w.table = w.record.table
	if size = len(w.record.data); len(w.data)+size+binary.MaxVarintLen32 > pageSize {
		w.flush()
	}
	at = ref(uint64(len(w.before.pages))<<32 | uint64(len(w.data)))
	w.string(unsafe.String(unsafe.SliceData(w.record.data), size))
	return at, size
}

// flush ends the page that is being written.
func (w *poolWriter) flush() {
	if len(w.data) > 0 {
		w.before.pages = append(w.before.pages, string(w.data))
		w.before.size += len(w.data)
		w.data = w.data[:0]
	}
}

// made returns the pool with the records that were put.
func (w *poolWriter) made() *pool {
	w.flush()
	p := w.before
	p.table = w.table
	return &p
}

// change is a log to put, or to remove if log is nil.
type change struct {
	name string
	log  *Log
}
