package operator

import "github.com/treeline-dev/treeline/session"

// Continues implements dialect.Continuer: every entry names its parent.
func (d *Dialect) Continues(session.Header) bool { return true }
