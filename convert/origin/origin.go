// Package origin keeps the part of an old session that a converted one carries, so that converting back restores it. It does not depend on
// package convert.
//
// An origin is a JSON object in a record of the new log, at the place that the agent's format has for it (dialect.Composer). It contains the
// old records as text and belongs to the last records of the log up to its own: its passage. Its hash is over these records and itself. An
// origin whose hash is wrong does not count, because one of the records was edited, by hand or by the agent: the edited record is converted,
// and the old one is not restored. A custom entry of type Custom has nothing but an origin, as its data. The origin in the header, or in the
// first entry of a format without a header, is of the session as a whole.
package origin

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"slices"
	"unicode/utf8"

	"github.com/treeline-dev/treeline/convert/pile"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// Origin is what the records of a passage stand for.
type Origin struct {
	// Dialect is that of the records in it.
	Dialect string `json:"dialect"`
	// Hash is over the origin and the records of its passage.
	Hash string `json:"hash"`
	// Session, Header and Slot are of the session as a whole.
	Session session.ID `json:"session,omitempty"`
	Header  *Record    `json:"header,omitempty"`
	Slot    *Record    `json:"slot,omitempty"`
	// Size is how many records of the log, up to this one, stand for Records; 0 in a header.
	Size    int      `json:"size,omitempty"`
	Records []Record `json:"records,omitempty"`
	// Head and Tip are the entries that references to the first and the last of these records mean.
	Head session.EntryID `json:"head,omitempty"`
	Tip  session.EntryID `json:"tip,omitempty"`
}

// Record is a record as it was. It is a string, not a JSON value, so a program that rewrites the log keeps its spelling.
type Record struct {
	// At is its index among the entries of its log.
	At     int    `json:"at"`
	Record string `json:"record,omitempty"`
	Base64 string `json:"base64,omitempty"` // if it is not UTF-8
}

// Keep keeps a record as it is, damaged bytes included.
func Keep(record []byte, at int) Record {
	if utf8.Valid(record) {
		return Record{At: at, Record: string(record)}
	}
	return Record{At: at, Base64: base64.StdEncoding.EncodeToString(record)}
}

// Bytes returns the record; nil if it cannot be read.
func (r *Record) Bytes() []byte {
	if r == nil {
		return nil
	}
	if r.Base64 == "" {
		return []byte(r.Record)
	}
	b, err := base64.StdEncoding.DecodeString(r.Base64)
	if err != nil {
		return nil
	}
	return b
}

// json returns the origin as it is written.
func (o Origin) json() []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(o) // only strings and numbers: it cannot fail
	return bytes.TrimSpace(b.Bytes())
}

// sum returns the hash of the origin and the records of its passage. Each part follows its length, so that the boundaries count.
func (o Origin) sum(bare [][]byte) string {
	o.Hash = ""
	h := sha256.New()
	for _, r := range append(bare[:len(bare):len(bare)], o.json()) {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(r))))
		h.Write(r)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Sealed returns the records of a passage with the origin in the last one.
func (o Origin) Sealed(d dialect.Composer, records [][]byte) [][]byte {
	o.Size = len(records)
	bare := make([][]byte, len(records))
	for i, r := range records {
		// Setting a member may change the spelling. Set and removed, the record is what a reader will hash.
		_, bare[i] = d.Origin(d.SetOrigin(r, []byte("{}")))
	}
	o.Hash = o.sum(bare)
	out := slices.Clone(records)
	out[len(out)-1] = d.SetOrigin(out[len(out)-1], o.json())
	return out
}

// Alone returns the origin as the data of a custom entry of type Custom.
func (o Origin) Alone() []byte {
	o.Size = 1
	o.Hash = o.sum(nil)
	return o.json()
}

// parse reads an origin. ok is false if the value is not an origin, or is one of another dialect.
func parse(value []byte, want string) (o Origin, ok bool) {
	if value == nil || json.Unmarshal(value, &o) != nil || o.Dialect != want {
		return Origin{}, false
	}
	for i := range o.Records {
		// If one cannot be restored, none is: they may refer to it.
		if o.Records[i].Bytes() == nil {
			return Origin{}, false
		}
	}
	return o, true
}

// Put adds the records, as they were, to a pile. at has their old indexes.
func (o *Origin) Put(to *pile.Pile) (records []session.Span, at []int) {
	for _, r := range o.Records {
		records, at = append(records, to.Put(r.Bytes())), append(at, r.At)
	}
	return records, at
}

// Custom is the type of custom entries in the place of entries that a format cannot express.
const Custom = "treeline.entry"

// Found is a valid origin, and the entries of its passage: First … Last. Its records are in a pile; At has their old indexes.
type Found struct {
	Origin
	First, Last int
	Spans       []session.Span
	At          []int
}

// Find finds the origins of the dialect want in a tree. The result has the origin of each entry of such a passage, and nil for all
// others. A damaged origin does not count: its entries are converted like any other. The records go to a pile.
func Find(t *session.Tree, d dialect.Composer, want string, to *pile.Pile) ([]*Found, error) {
	found := make([]*Found, t.Len())
	since := 0 // entries since the last origin: each is in one passage, so that each is hashed once
	for e := range t.Entries() {
		if e.Foreign() {
			continue // the other log has it
		}
		raw, err := e.Raw()
		if err != nil {
			return nil, err
		}
		value, plain := d.Origin(raw)
		since++
		// The last records up to this one: an entry that was inserted between them changes the hash.
		goesWith := func(o Origin) ([][]byte, error) { return bareBefore(t, d, e.Index, o.Size, plain) }
		if e.Kind == session.KindCustom {
			body, err := e.Body()
			if err != nil {
				return nil, err
			}
			if c, ok := body.(session.Custom); ok && c.Type == Custom {
				value, goesWith = c.Data, func(Origin) ([][]byte, error) { return nil, nil }
			}
		}
		if value == nil {
			continue
		}
		o, ok := parse(value, want)
		if ok = ok && o.Size >= 1 && o.Size <= since; ok {
			bare, err := goesWith(o)
			if err != nil {
				return nil, err
			}
			ok = o.sum(bare) == o.Hash
		}
		if since = 0; !ok {
			continue
		}
		f := &Found{Origin: o, First: e.Index + 1 - o.Size, Last: e.Index}
		f.Spans, f.At = o.Put(to)
		f.Records = nil
		for i := f.First; i <= f.Last; i++ {
			found[i] = f
		}
	}
	return found, nil
}

// bareBefore returns the records of the size entries up to an index, without their origins. last is the last of these records, without its
// origin.
func bareBefore(t *session.Tree, d dialect.Composer, index, size int, last []byte) ([][]byte, error) {
	bare := make([][]byte, size)
	for k := range bare[:size-1] {
		raw, err := t.At(index + 1 - size + k).Raw()
		if err != nil {
			return nil, err
		}
		_, bare[k] = d.Origin(raw)
	}
	bare[size-1] = last
	return bare, nil
}

// Whole finds the origin of the session as a whole. entries are the others, as Find returns them.
func Whole(t *session.Tree, d dialect.Composer, want string, entries []*Found) (Origin, bool) {
	h := t.Header()
	if h.InEntry {
		if len(entries) == 0 || entries[0] == nil || entries[0].Session == "" {
			return Origin{}, false
		}
		return entries[0].Origin, true
	}
	value, bare := d.Origin(h.Raw)
	o, ok := parse(value, want)
	return o, ok && o.Session != "" && o.sum([][]byte{bare}) == o.Hash
}
