package remote

import "time"

// Pack makes a Backend compress bodies as if its server were on another machine.
func (b *Backend) Pack() { b.packs = true }

// Pauses sets how long a watch waits between connections: as long as the channel of f takes.
func (b *Backend) Pauses(f func(time.Duration) <-chan time.Time) { b.after = f }

// SetPatience sets how long a call tries to reach the server.
func (b *Backend) SetPatience(d time.Duration) { b.core.opt.Patience = d }
