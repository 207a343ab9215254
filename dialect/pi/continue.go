package pi

import "github.com/treeline-dev/treeline/session"

// Continues implements dialect.Continuer. Entries of the first version have neither ids nor parents: they need all that came
// before.
func (d *Dialect) Continues(h session.Header) bool { return h.Version == version }
