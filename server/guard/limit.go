package guard

import (
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// A client may send wrongMost wrong tokens at once, and one more every wrongEvery.
const (
	wrongMost  = 10
	wrongEvery = 6 * time.Second
	// addressMost bounds the addresses that are remembered.
	addressMost = 8192
)

// limiter limits the wrong tokens from each address. The zero value is ready.
type limiter struct {
	mu sync.Mutex
	// until is the time when an address has no wrong tokens left: each one counts for wrongEvery.
	until map[string]time.Time
}

// wait returns how long an address must wait before its next attempt; 0 means not at all.
func (l *limiter) wait(address string, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	until, known := l.until[address]
	if !known {
		return 0
	}
	return max(0, until.Sub(now)-(wrongMost-1)*wrongEvery)
}

// fail counts a wrong token.
func (l *limiter) fail(address string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.until == nil {
		l.until = map[string]time.Time{}
	}
	if len(l.until) >= addressMost {
		oldest := ""
		for a, until := range l.until {
			if !until.After(now) {
				delete(l.until, a)
			} else if oldest == "" || until.Before(l.until[oldest]) {
				oldest = a
			}
		}
		if len(l.until) >= addressMost {
			delete(l.until, oldest)
		}
	}
	at := l.until[address]
	if at.Before(now) {
		at = now
	}
	l.until[address] = at.Add(wrongEvery)
}

// Address returns the address that a request came from. Behind a proxy on this machine, it is the last one in the proxy's header, since the
// client may have invented the others. For IPv6 it is the network, since a client has many addresses in its network.
func (g *Guard) Address(r *http.Request) string {
	remote, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	from := remote.Addr().Unmap()
	if g.Public != nil && from.IsLoopback() {
		list := r.Header.Values("X-Forwarded-For")
		if n := len(list); n > 0 {
			last := list[n-1]
			if a, err := netip.ParseAddr(strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:])); err == nil {
				from = a.Unmap()
			}
		}
	}
	if from.Is6() {
		if net, err := from.WithZone("").Prefix(64); err == nil && !from.IsLoopback() {
			return net.String()
		}
	}
	return from.String()
}
