package convert

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"unicode/utf8"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// origin is what a converted session carries along of the one that it was made from, so that converting it back restores
// that. It stands in the last of the records that were made of some entries, and counts only while none of them was
// changed since.
type origin struct {
	// Dialect is that of the records in it.
	Dialect string `json:"dialect"`
	// Hash is over the origin and the records that it stands for: who edits one of them by hand, or with the agent, gets
	// what he wrote converted and not what was there before.
	Hash string `json:"hash"`
	// Session, Header and Slot are of the session as a whole.
	Session session.ID `json:"session,omitempty"`
	Header  *carried   `json:"header,omitempty"`
	Slot    *carried   `json:"slot,omitempty"`
	// Size is how many records of the log, the last being this one, stand for Records; in a header none does.
	Size    int       `json:"size,omitempty"`
	Records []carried `json:"records,omitempty"`
	// Head and Tip are the entries that are meant where the first of the log's records is named, and the last.
	Head session.EntryID `json:"head,omitempty"`
	Tip  session.EntryID `json:"tip,omitempty"`
}

// carried is a record as it was. It is a text and no JSON value: nobody who rewrites the log changes its spelling.
type carried struct {
	// At is its place among the entries of its log.
	At     int    `json:"at"`
	Record string `json:"record,omitempty"`
	Base64 string `json:"base64,omitempty"` // where it is not UTF-8
}

// carry takes a record as it is, damaged bytes included.
func carry(record []byte, at int) carried {
	if utf8.Valid(record) {
		return carried{At: at, Record: string(record)}
	}
	return carried{At: at, Base64: base64.StdEncoding.EncodeToString(record)}
}

// bytes gives the record; nil where it cannot be read.
func (c *carried) bytes() []byte {
	switch {
	case c == nil:
		return nil
	case c.Base64 != "":
		b, err := base64.StdEncoding.DecodeString(c.Base64)
		if err != nil {
			return nil
		}
		return b
	}
	return []byte(c.Record)
}

// json gives the origin as it is written.
func (o origin) json() []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(o) // strings and numbers alone: it cannot fail
	return bytes.TrimSpace(b.Bytes())
}

// sum is the hash of the origin and the records that it goes with. Lengths stand before the parts, so that no two rows of
// records give the same.
func (o origin) sum(bare [][]byte) string {
	o.Hash = ""
	h := sha256.New()
	for _, r := range append(bare[:len(bare):len(bare)], o.json()) {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(r))))
		h.Write(r)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// sealed puts the origin into the last of the records.
func (o origin) sealed(d dialect.Composer, records [][]byte) [][]byte {
	o.Size = len(records)
	bare := make([][]byte, len(records))
	for i, r := range records {
		// Set and taken out again: what the hash is made of is then what reading finds, whatever setting a member does to
		// the spelling.
		_, bare[i] = d.Origin(d.SetOrigin(r, []byte("{}")))
	}
	o.Hash = o.sum(bare)
	out := append([][]byte(nil), records...)
	out[len(out)-1] = d.SetOrigin(out[len(out)-1], o.json())
	return out
}

// parseOrigin reads an origin; ok is false where it is none, or of another dialect.
func parseOrigin(value []byte, want string) (o origin, ok bool) {
	if value == nil || json.Unmarshal(value, &o) != nil || o.Dialect != want {
		return origin{}, false
	}
	for i := range o.Records {
		// One that cannot be restored makes the others worthless: they may refer to it.
		if o.Records[i].bytes() == nil {
			return origin{}, false
		}
	}
	return o, true
}

// passage is the records as they were.
func (o *origin) passage() *passage {
	p := &passage{restored: true, head: o.Head, tip: o.Tip}
	for _, r := range o.Records {
		p.records, p.at = append(p.records, r.bytes()), append(p.at, r.At)
	}
	return p
}

// carriedType is the type of custom entries that stand for entries which a format has none for.
const carriedType = "treeline.entry"

// foundOrigin is an origin that still counts, and the entries that it goes with: first … last.
type foundOrigin struct {
	origin
	first, last int
}

// origins finds what the entries of a tree carry along of a session of the dialect want. The result has, for each entry
// that belongs to an origin, which one. Whatever is wrong with an origin, it counts as none: the entry is then converted
// like any other.
func origins(t *session.Tree, d dialect.Composer, want string) (map[int]*foundOrigin, error) {
	found := map[int]*foundOrigin{}
	var bare [][]byte
	for e := range t.Entries() {
		raw, err := e.Raw()
		if err != nil {
			return nil, err
		}
		value, plain := d.Origin(raw)
		bare = append(bare, plain)
		// The records in a row that end here: an entry that was put between them changes the hash.
		goesWith := func(o origin) [][]byte { return bare[len(bare)-o.Size:] }
		if e.Kind == session.KindCustom {
			body, err := e.Body()
			if err != nil {
				return nil, err
			}
			if c, ok := body.(session.Custom); ok && c.Type == carriedType {
				value, goesWith = c.Data, func(origin) [][]byte { return nil }
			}
		}
		o, ok := parseOrigin(value, want)
		if !ok || o.Size < 1 || o.Size > len(bare) || o.sum(goesWith(o)) != o.Hash {
			continue
		}
		f := &foundOrigin{origin: o, first: e.Index + 1 - o.Size, last: e.Index}
		for i := f.first; i <= f.last; i++ {
			found[i] = f
		}
	}
	return found, nil
}

// headerOrigin finds what the session as a whole carries along.
func headerOrigin(t *session.Tree, d dialect.Composer, want string, entries map[int]*foundOrigin) (origin, bool) {
	h := t.Header()
	if h.InEntry {
		f, ok := entries[0]
		if !ok || f.Session == "" {
			return origin{}, false
		}
		return f.origin, true
	}
	value, bare := d.Origin(h.Raw)
	o, ok := parseOrigin(value, want)
	return o, ok && o.Session != "" && o.sum([][]byte{bare}) == o.Hash
}
