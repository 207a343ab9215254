package dialect

import (
	"io"
	"time"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Base holds what a dialect says about itself. A dialect embeds it, and those of the types below that suit its agent.
type Base struct {
	// Called is the name that users see and type, and Format is the name of the family.
	Called, Format string
	// Where is the layout of the sessions.
	Where Layout
}

// Name implements Dialect.
func (b *Base) Name() string { return b.Called }

// Family implements Dialect.
func (b *Base) Family() string { return b.Format }

// Layout implements Dialect.
func (b *Base) Layout() Layout { return b.Where }

// Encode implements Dialect for a format with only one version: an entry keeps its bytes.
func (b *Base) Encode(e session.Entry) ([]byte, error) { return e.Raw() }

// OneModel is for agents whose sessions use one model at a time, named in each turn or answer.
type OneModel struct{}

// Rules implements session.EntryCodec.
func (*OneModel) Rules() session.Rules { return session.Rules{SingleModel: true} }

// Stamped is for records that have the time in the member timestamp.
type Stamped struct{}

// Time implements session.EntryCodec.
func (*Stamped) Time(raw []byte) session.Time {
	return session.Time{Text: string(rawjson.Get(raw, "timestamp"))}
}

// NoBlobs is for agents that keep everything in the record: Writer.Persist and MessageCodec.ResolveBlobs change nothing.
type NoBlobs struct{}

// Persist implements Writer.
func (*NoBlobs) Persist(record []byte, _ PersistOptions) ([]byte, error) { return record, nil }

// ResolveBlobs implements session.MessageCodec.
func (*NoBlobs) ResolveBlobs(m []byte, _ func(string) ([]byte, error)) ([]byte, error) { return m, nil }

// FileIDs is the part of a Writer that makes and checks ids, for agents that name files after their sessions.
type FileIDs struct{}

// CheckID returns an error if an id is not valid.
func (*FileIDs) CheckID(id session.ID) error { return CheckFileID(id) }

// NewID makes a UUID of version 7.
func (*FileIDs) NewID(t time.Time, random io.Reader) (session.ID, error) { return UUIDv7(t, random) }

// NewEntryID makes eight hex digits.
func (*FileIDs) NewEntryID(random io.Reader) (session.EntryID, error) { return ShortEntryID(random) }

// RandomIDs is the part of a Writer that makes ids, for agents whose sessions and entries are named by random UUIDs.
type RandomIDs struct{}

// NewID makes a UUID of version 4.
func (*RandomIDs) NewID(_ time.Time, random io.Reader) (session.ID, error) {
	id, err := NewUUID(random)
	return session.ID(id), err
}

// NewEntryID makes a UUID of version 4.
func (*RandomIDs) NewEntryID(random io.Reader) (session.EntryID, error) {
	id, err := NewUUID(random)
	return session.EntryID(id), err
}
