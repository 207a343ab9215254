package index

import (
	"encoding/binary"
	"hash/crc32"
	"os"
	"slices"
	"unsafe"
)

// After the catalogue, its file has entries of what was put since. An entry has its length and a checksum that continues the one before it;
// then the size of the signatures that count, the new strings of the table, and records by source. For its readers the file ends at an
// entry that is cut off or damaged, and the next commit writes all of it again. Nothing is ever truncated.
const (
	entryHead = 4 + 4
	// journalMost is the most bytes of entries before the file is written as a whole: more would make reading noticeably slower.
	journalMost = 64 << 10
)

// tail describes the end of a catalogue's file.
type tail struct {
	whole   int64  // the bytes before the first entry
	entries int64  // the bytes of all entries
	sum     uint32 // the checksum of the last one, or of the catalogue
	torn    bool   // something else follows
}

// journal adds what is staged to the file of the catalogue, if the file is long enough and nothing in it has to disappear. next is the
// catalogue with what is staged. ok is false if the file must be written as a whole.
func (x *Index) journal(next *Catalogue) (ok bool) {
	t := x.kept.tail
	if t.whole <= x.opt.Whole || t.torn || x.odd != nil || next.generation != x.kept.generation || !next.extends(x.kept) || !x.addsOnly() {
		return false
	}
	data := appendEntry(t.sum, x.kept, next, x.staged)
	if t.entries+int64(len(data)) > journalMost {
		return false
	}
	f, err := x.fs.Open(x.path(catalogueName), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size != t.whole+t.entries || info.Ino != x.seen.Ino {
		return false // a program that takes no lock changed the file
	}
	// A write that is cut short leaves an entry that is cut off.
	if _, err = f.Write(data); err == nil {
		info, err = f.Stat()
	}
	if err != nil {
		return false
	}
	t.entries += int64(len(data))
	t.sum = binary.LittleEndian.Uint32(data[4:])
	next.tail, x.seen = t, info
	return true
}

// extends reports whether the pool of a catalogue is another pool with more added to it. Equal pages are not enough: a catalogue that was
// packed may begin with the same page but number the strings in another order.
func (c *Catalogue) extends(before *Catalogue) bool {
	return !c.stale && before.pool != nil && len(before.pool.pages) > 0 && len(c.pool.pages) >= len(before.pool.pages) &&
		unsafe.StringData(c.pool.pages[0]) == unsafe.StringData(before.pool.pages[0])
}

// addsOnly reports whether the staged updates only add to the file: no log is removed, and none loses a text.
func (x *Index) addsOnly() bool {
	return !slices.ContainsFunc(x.staged, func(u Update) bool {
		return u.Forget || len(u.Remove) > 0 || slices.ContainsFunc(u.Put, func(l Log) bool {
			was, known := x.kept.Log(u.Source, l.Name)
			gone := func(text, now string) bool { return text != "" && text != now }
			return known && (l.Stamp.Size < was.Stamp.Size || gone(was.Summary.Title, l.Summary.Title) || gone(was.Summary.Prompt, l.Summary.Prompt))
		})
	})
}

// appendEntry returns the entry for some updates.
func appendEntry(sum uint32, before, next *Catalogue, updates []Update) []byte {
	w := writer{data: make([]byte, entryHead)}
	w.varint(next.signatures)
	added := next.pool.table[len(before.pool.table):]
	w.uvarint(uint64(len(added)))
	for _, s := range added {
		w.string(s)
	}
	w.uvarint(uint64(len(updates)))
	for i := range updates {
		logs := next.Logs(updates[i].Source)
		w.string(updates[i].Source)
		w.uvarint(uint64(len(updates[i].Put)))
		for k := range updates[i].Put {
			at, _ := logs.Find(updates[i].Put[k].Name)
			w.string(logs.pool.record(logs.refs[at]))
		}
	}
	binary.LittleEndian.PutUint32(w.data, uint32(len(w.data)-entryHead))
	binary.LittleEndian.PutUint32(w.data[4:], crc32.Update(sum, castagnoli, w.data[entryHead:]))
	return w.data
}

// replay applies the entries that follow the catalogue, which is not shared yet.
func (c *Catalogue) replay(data string) error {
	for len(data) >= entryHead {
		size, sum := binary.LittleEndian.Uint32(bytesOf(data)), binary.LittleEndian.Uint32(bytesOf(data)[4:])
		if uint64(size) > uint64(len(data)-entryHead) {
			break
		}
		entry := data[entryHead:][:size]
		if crc32.Update(c.tail.sum, castagnoli, bytesOf(entry)) != sum {
			break
		}
		if !c.apply(entry) {
			return errDamaged
		}
		c.tail.sum, c.tail.entries = sum, c.tail.entries+entryHead+int64(size)
		data = data[entryHead+size:]
	}
	c.tail.torn = len(data) > 0
	return nil
}

// apply applies one entry.
func (c *Catalogue) apply(entry string) bool {
	p, page := c.pool, len(c.pool.pages)
	p.pages, p.size = append(p.pages, entry), p.size+len(entry)
	r := reader{text: entry}
	c.signatures = r.varint()
	for range r.count(1) {
		p.table = append(p.table, r.string())
	}
	for range r.count(2) {
		key := r.string()
		i, known := c.find(key)
		if !known {
			c.Sources = slices.Insert(c.Sources, i, Source{Key: key, Logs: &Logs{pool: p}})
		}
		logs := c.Sources[i].Logs
		for range r.count(8) {
			at := ref(page)<<32 | ref(r.at)
			record := reader{text: r.string(), table: p.table}
			c.live += len(record.text)
			record.flags()
			record.skipPieces()
			dir, base := record.name()
			if k, known := logs.Find(dir + base); known {
				c.live -= len(p.record(logs.refs[k]))
				logs.refs[k] = at
			} else {
				logs.refs = slices.Insert(logs.refs, k, at)
			}
		}
	}
	return !r.bad && r.left() == 0
}
