package claude

import (
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Continuer = (*Dialect)(nil)

// Continue implements dialect.Continuer: entries name their parents, and metadata follows the line before it. Only leaf and
// path need the whole log, so the codec here does without them.
//
// The log of a sub-agent is excluded: its entries are the conversation only if it has no others. Such a log begins with
// an entry of the sub-agent. If the log begins with metadata, its first entry is unknown here, and Finish gives
// dialect.ErrEarlier once an entry of a sub-agent was read.
func (d *Dialect) Continue(b *session.Builder) (dialect.Decoder, bool) {
	h := b.Header()
	f, ok := read(h.Raw)
	if !ok || h.ID == "" || f.side && f.agent && entryType(string(f.typ)) {
		return nil, false
	}
	dec := d.NewDecoder(b).(*decoder)
	b.SetCodec(d.Codec())
	dec.Continued()
	dec.header, dec.cwd = true, true
	dec.r.begun, dec.blind = true, !entryType(string(f.typ))
	return dec, true
}
