package pi

import (
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Continuer = (*Dialect)(nil)

// Continue implements dialect.Continuer. Entries of the first version have neither ids nor parents, and count those before
// them: such a log is rewritten by the first program that appends to it.
func (d *Dialect) Continue(b *session.Builder) (dialect.Decoder, bool) {
	// Version 2 differs in one role only, but it is migrated when it is written, and then read anew anyway.
	h := b.Header()
	if h.Version != version {
		return nil, false
	}
	dec := d.NewDecoder(b).(*decoder)
	dec.header, dec.v = true, h.Version
	dec.lines.Behind()
	return dec, true
}
