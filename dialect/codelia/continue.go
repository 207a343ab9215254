package codelia

import (
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Continuer = (*Dialect)(nil)

// Continue implements dialect.Continuer: records follow each other, and have their ids from their position.
// The header is known, so nothing is refused any more; ids are made of Builder.Position, which counts what came
// before.
func (d *Dialect) Continue(b *session.Builder) (dialect.Decoder, bool) {
	dec := d.NewDecoder(b).(*decoder)
	dec.header = true
	dec.lines.Behind()
	return dec, true
}
