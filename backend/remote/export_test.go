package remote

import "time"

// Pack makes a Backend pack bodies as if its server were on another machine.
func (b *Backend) Pack() { b.packs = true }

// SetPatience sets how long a call tries to reach the server.
func (b *Backend) SetPatience(d time.Duration) { b.core.opt.Patience = d }
