package wave

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// UUID is the 16 bytes of an id.
type UUID [16]byte

// String returns the usual spelling in lower case, the only one that the program accepts as a file name.
func (u UUID) String() string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

// Version is the UUID's version, 6 for those of a Generator.
func (u UUID) Version() int { return int(u[6] >> 4) }

var errUUID = errors.New("not a UUID in lower case")

// ParseUUID reads the usual spelling. It refuses upper case, like the program.
func ParseUUID(s string) (UUID, error) {
	var u UUID
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return u, fmt.Errorf("%.40q is %w", s, errUUID)
	}
	for i := range len(s) {
		if c := s[i]; c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return u, fmt.Errorf("%q is %w", s, errUUID)
		}
	}
	digits := s[:8] + s[9:13] + s[14:18] + s[19:23] + s[24:]
	if _, err := hex.Decode(u[:], []byte(digits)); err != nil {
		return u, fmt.Errorf("%q is %w", s, errUUID)
	}
	return u, nil
}

// gregorian is the year 1970 in the ticks of a UUID: units of 100 ns since 15 October 1582.
const gregorian = 0x01b21dd213814000

const ticksPerSecond = 10_000_000

// Time returns the time in a UUID of version 6; ok is false for any other.
func (u UUID) Time() (t time.Time, ok bool) {
	if u.Version() != 6 || u[8]>>6 != 2 {
		return time.Time{}, false
	}
	ticks := binary.BigEndian.Uint64(u[:8])
	ticks = ticks>>16<<12 | ticks&0xfff
	since := int64(ticks) - gregorian
	seconds, rest := since/ticksPerSecond, since%ticksPerSecond
	return time.Unix(seconds, rest*100).UTC(), true
}

// Generator makes UUIDs of version 6. Their order, also as text, is the order of their creation. Several
// goroutines may use it.
//
// Each UUID is later than all before it, even if the clock stands still or was set back a little: then its time is ahead of
// the clock, by one more tick of 100 ns for each UUID. A clock that was set back by more than maxAhead is followed, because otherwise
// ids would claim a time far in the future.
type Generator struct {
	mu   sync.Mutex
	last uint64
}

// maxAhead is how far, in ticks, ids may be ahead of the clock.
const maxAhead = 60 * ticksPerSecond

// New makes the UUID for a time, with 62 random bits.
func (g *Generator) New(now time.Time, random io.Reader) (UUID, error) {
	g.mu.Lock()
	defer g.mu.Unlock() // the lock also protects the reader, which need not be safe for concurrent use
	var u UUID
	if _, err := io.ReadFull(random, u[8:]); err != nil {
		return UUID{}, err
	}
	ticks := uint64(now.Unix()*ticksPerSecond+int64(now.Nanosecond()/100)) + gregorian
	if ticks <= g.last && g.last-ticks < maxAhead {
		ticks = g.last + 1
	}
	g.last = ticks
	binary.BigEndian.PutUint64(u[:8], ticks>>12<<16|6<<12|ticks&0xfff)
	u[8] = u[8]&0x3f | 0x80
	u[10] |= 1 // multicast bit: the node is random, not the address of a machine
	return u, nil
}

// ids makes the session ids of this process.
var ids Generator
