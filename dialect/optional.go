package dialect

import (
	"slices"
	"time"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Namer is a Dialect that can give a record another id, keeping all other bytes.
type Namer interface {
	SetID(record []byte, id session.EntryID) ([]byte, error)
}

// Speaker is a Dialect that can make a message of plain text.
type Speaker interface {
	// Say gives the message in the dialect's own JSON. model is who answers; it counts for answers only, and may be empty.
	Say(role session.Role, text string, at time.Time, model session.ModelRef) ([]byte, error)
}

// Overflower is a Dialect whose Persist cuts monstrous strings and keeps them whole in blobs.
type Overflower interface {
	// Whole gives the record with its strings as they were before they were cut: the record itself where none was. get
	// gives the bytes of a blob; a string whose blob cannot be had stays as it is, and so does one that was changed since.
	Whole(record []byte, get func(ref string) ([]byte, error)) []byte
}

// Continuer is a Dialect whose logs need not be read from their beginning. It fits those whose records name their parents and
// those whose records follow each other: what came before is the Builder's affair.
type Continuer interface {
	// Continue starts to decode a log at any record behind its header. The Builder has the header, as NewDecoder's decoder
	// would have set it, and knows what came before (Builder.Behind). ok is false for a log whose records mean something
	// only together with those before them. The decoder then gives the entries and the Problems that it would give had it
	// seen all records before.
	Continue(b *session.Builder) (dec Decoder, ok bool)
}

// Parter is a Dialect that takes the messages of a context apart.
type Parter interface {
	MessageParts(message []byte) []session.Part
}

// Adopter is a Writer that keeps the members of a record that it does not know.
type Adopter interface {
	// Adopt adds to record, which was just made from the body of the record given, the members of given that record
	// lacks, except those that say where the entry stands in its tree.
	Adopt(record, given []byte) []byte
}

// AdoptMembers is Adopter.Adopt for records whose place in the tree is the members place.
func AdoptMembers(record, given []byte, place ...string) []byte {
	for key, value := range rawjson.Fields(given) {
		if !slices.Contains(place, key) && rawjson.Get(record, key) == nil {
			record = rawjson.Set(record, key, rawjson.Compact(value))
		}
	}
	return record
}

// Slotted is a Writer whose logs may have a title slot: a record of fixed length before the header that is overwritten
// in place. Writer.EditHeader gets and gives it.
type Slotted interface {
	// IsSlot reports whether a record before the header is the slot.
	IsSlot(record []byte) bool
}
