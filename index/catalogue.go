package index

import (
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/internal/sorting"
)

// Log is what is known of one log.
type Log struct {
	// Name is the name of the log in its source.
	Name  string
	Stamp Stamp
	// Summary is what lists show.
	Summary Summary
	// Chunks are signatures, and IDs hashes of the ids of each chunk's entries. They are input for Put; EachChunk and IDs
	// return them.
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
	Key string
	// Logs are in the byte order of their names.
	Logs []Log
}

// Catalogue is all that is known at one moment. It must not be changed.
type Catalogue struct {
	// Sources are in the order of their keys.
	Sources []Source

	generation uint64 // of the file of signatures
	signatures int64  // bytes of that file that count
}

// Logs returns the logs of a source; nil if nothing is known.
func (c *Catalogue) Logs(key string) []Log {
	if i, ok := c.find(key); ok {
		return c.Sources[i].Logs
	}
	return nil
}

// Log looks up one log.
func (c *Catalogue) Log(key, name string) (*Log, bool) {
	logs := c.Logs(key)
	i, ok := slices.BinarySearchFunc(logs, name, func(l Log, name string) int { return strings.Compare(l.Name, name) })
	if !ok {
		return nil, false
	}
	return &logs[i], true
}

// any says whether a source has a log of that name for which f is true. c may be nil.
func (c *Catalogue) any(name string, f func(*Log) bool) bool {
	return c != nil && slices.ContainsFunc(c.Sources, func(s Source) bool {
		l, ok := c.Log(s.Key, name)
		return ok && f(l)
	})
}

func (c *Catalogue) find(key string) (int, bool) {
	return slices.BinarySearchFunc(c.Sources, key, func(s Source, key string) int { return strings.Compare(s.Key, key) })
}

// with returns a catalogue with the updates applied. It shares with c the lists of logs that no update touches.
func (c *Catalogue) with(updates []Update) *Catalogue {
	next := &Catalogue{Sources: slices.Clone(c.Sources), generation: c.generation, signatures: c.signatures}
	for len(updates) > 0 {
		// Updates of one source mostly come together, and are applied in one pass.
		n := 1
		for n < len(updates) && updates[n].Source == updates[0].Source && !updates[n].Forget {
			n++
		}
		next.update(updates[0].Source, updates[:n])
		updates = updates[n:]
	}
	return next
}

// update changes the logs of one source, merging two lists that are sorted by name. Only the first of the updates may have
// Forget set.
func (c *Catalogue) update(key string, updates []Update) {
	i, ok := c.find(key)
	if !ok {
		c.Sources = slices.Insert(c.Sources, i, Source{Key: key})
	}
	before := c.Sources[i].Logs
	if updates[0].Forget {
		before = nil
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
	// Stable: the last of several changes to one log wins.
	sorting.By(changes, func(a, b change) int { return strings.Compare(a.name, b.name) })
	logs := make([]Log, 0, len(before)+len(changes))
	for k := 0; k < len(changes); k++ {
		ch := changes[k]
		if k+1 < len(changes) && changes[k+1].name == ch.name {
			continue // a later change follows
		}
		for len(before) > 0 && before[0].Name < ch.name {
			logs, before = append(logs, before[0]), before[1:]
		}
		if len(before) > 0 && before[0].Name == ch.name {
			before = before[1:]
		}
		if ch.log != nil {
			logs = append(logs, *ch.log)
		}
	}
	logs = append(logs, before...)
	if len(logs) == 0 {
		// A source without logs is removed; otherwise its key would stay for ever.
		c.Sources = slices.Delete(c.Sources, i, i+1)
		return
	}
	c.Sources[i].Logs = logs
}

// change is a log to put, or to remove if log is nil.
type change struct {
	name string
	log  *Log
}
