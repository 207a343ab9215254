package pi

import "github.com/treeline-dev/treeline/session"

// MessageParts gives what is inside a message of a context in neutral form, as Parts does for an entry. A context's
// messages may differ from the entries that they come from: edited, stripped, or in the provider's form.
func (d *Dialect) MessageParts(m []byte) []session.Part { return messageParts(m) }
