package remote

// Pack makes a Backend pack bodies as if its server were on another machine.
func (b *Backend) Pack() { b.packs = true }
