package convert

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

// origin is the part of the old session that a converted session carries, so that converting back restores it. It is in the last record of
// a passage, and counts only while no record of the passage was changed.
type origin struct {
	// Dialect is that of the records in it.
	Dialect string `json:"dialect"`
	// Hash is over the origin and the records of its passage. If one of them is edited, by hand or by the agent, the hash is wrong: then
	// the edited record is converted, and the old one is not restored.
	Hash string `json:"hash"`
	// Session, Header and Slot are of the session as a whole.
	Session session.ID `json:"session,omitempty"`
	Header  *carried   `json:"header,omitempty"`
	Slot    *carried   `json:"slot,omitempty"`
	// Size is how many records of the log, up to this one, stand for Records; 0 in a header.
	Size    int       `json:"size,omitempty"`
	Records []carried `json:"records,omitempty"`
	// Head and Tip are the entries that references to the first and the last of these records mean.
	Head session.EntryID `json:"head,omitempty"`
	Tip  session.EntryID `json:"tip,omitempty"`
}

// carried is a record as it was. It is a string, not a JSON value, so a program that rewrites the log keeps its spelling.
type carried struct {
	// At is its index among the entries of its log.
	At     int    `json:"at"`
	Record string `json:"record,omitempty"`
	Base64 string `json:"base64,omitempty"` // if it is not UTF-8
}

// carry keeps a record as it is, damaged bytes included.
func carry(record []byte, at int) carried {
	if utf8.Valid(record) {
		return carried{At: at, Record: string(record)}
	}
	return carried{At: at, Base64: base64.StdEncoding.EncodeToString(record)}
}

// bytes returns the record; nil if it cannot be read.
func (c *carried) bytes() []byte {
	if c == nil {
		return nil
	}
	if c.Base64 == "" {
		return []byte(c.Record)
	}
	b, err := base64.StdEncoding.DecodeString(c.Base64)
	if err != nil {
		return nil
	}
	return b
}

// json returns the origin as it is written.
func (o origin) json() []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(o) // only strings and numbers: it cannot fail
	return bytes.TrimSpace(b.Bytes())
}

// sum returns the hash of the origin and the records of its passage. Each part follows its length, so that the boundaries count.
func (o origin) sum(bare [][]byte) string {
	o.Hash = ""
	h := sha256.New()
	for _, r := range append(bare[:len(bare):len(bare)], o.json()) {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(r))))
		h.Write(r)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// sealed returns the records with the origin in the last one.
func (o origin) sealed(d dialect.Composer, records [][]byte) [][]byte {
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

// parseOrigin reads an origin. ok is false if the value is not an origin, or is one of another dialect.
func parseOrigin(value []byte, want string) (o origin, ok bool) {
	if value == nil || json.Unmarshal(value, &o) != nil || o.Dialect != want {
		return origin{}, false
	}
	for i := range o.Records {
		// If one cannot be restored, none is: they may refer to it.
		if o.Records[i].bytes() == nil {
			return origin{}, false
		}
	}
	return o, true
}

// passage returns the records as they were.
func (o *origin) passage(to *pile.Pile) *passage {
	p := &passage{restored: true, head: o.Head, tip: o.Tip}
	for _, r := range o.Records {
		p.records, p.at = append(p.records, to.Put(r.bytes())), append(p.at, r.At)
	}
	return p
}

// carriedType is the type of custom entries in the place of entries that a format cannot express.
const carriedType = "treeline.entry"

// foundOrigin is a valid origin, and the entries of its passage: first … last. Its Records are in a pile; at has their old indexes.
type foundOrigin struct {
	origin
	first, last int
	records     []session.Span
	at          []int
}

// origins finds the origins of the dialect want in a tree. The result has the origin of each entry of such a passage, and nil for all
// others. A damaged origin does not count: its entries are converted like any other. The records go to a pile.
func origins(t *session.Tree, d dialect.Composer, want string, to *pile.Pile) ([]*foundOrigin, error) {
	found := make([]*foundOrigin, t.Len())
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
		goesWith := func(o origin) ([][]byte, error) { return bareBefore(t, d, e.Index, o.Size, plain) }
		if e.Kind == session.KindCustom {
			body, err := e.Body()
			if err != nil {
				return nil, err
			}
			if c, ok := body.(session.Custom); ok && c.Type == carriedType {
				value, goesWith = c.Data, func(origin) ([][]byte, error) { return nil, nil }
			}
		}
		if value == nil {
			continue
		}
		o, ok := parseOrigin(value, want)
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
		p := o.passage(to)
		f := &foundOrigin{origin: o, first: e.Index + 1 - o.Size, last: e.Index, records: p.records, at: p.at}
		f.Records = nil
		for i := f.first; i <= f.last; i++ {
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

// headerOrigin finds the origin of the session as a whole.
func headerOrigin(t *session.Tree, d dialect.Composer, want string, entries []*foundOrigin) (origin, bool) {
	h := t.Header()
	if h.InEntry {
		if len(entries) == 0 || entries[0] == nil || entries[0].Session == "" {
			return origin{}, false
		}
		return entries[0].origin, true
	}
	value, bare := d.Origin(h.Raw)
	o, ok := parseOrigin(value, want)
	return o, ok && o.Session != "" && o.sum([][]byte{bare}) == o.Hash
}
