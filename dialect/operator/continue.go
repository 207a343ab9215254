package operator

import (
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Continuer = (*Dialect)(nil)

// Continue implements dialect.Continuer: every entry names its parent.
// Which header the log has decides how its entries are encoded, and that is all a decoder carries over from
// before.
func (d *Dialect) Continue(b *session.Builder) (dialect.Decoder, bool) {
	dec := d.NewDecoder(b).(*decoder)
	dec.begin(rawjson.Str(b.Header().Raw, "type"))
	dec.lines.Behind()
	return dec, true
}

// begin takes note of the header's type.
func (dec *decoder) begin(header string) {
	dec.header = true
	dec.old = dec.d.header == typeHeader && header == typeDocHeader
}
