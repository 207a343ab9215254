package wave

import (
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Continuer = (*Dialect)(nil)

// Continue implements dialect.Continuer: messages follow each other, and each says all about itself.
// The first message of a log without a metadata line stands in for the header, and the Builder has that already.
func (d *Dialect) Continue(b *session.Builder) (dialect.Decoder, bool) {
	dec := d.NewDecoder(b).(*decoder)
	dec.header = true
	dec.lines.Behind()
	return dec, true
}
