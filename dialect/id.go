package dialect

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"regexp"
	"time"

	"github.com/treeline-dev/treeline/session"
)

// idPattern matches session ids that may become part of a file name. They have no dot or dash at the ends: "." and ".."
// are paths, and many programs read a name with a leading dash as a flag.
var idPattern = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$`)

// CheckFileID says why an id is not valid in the name of a file. 128 characters leave room for a time stamp and an ending
// in 255 bytes.
func CheckFileID(id session.ID) error {
	if !idPattern.MatchString(string(id)) || len(id) > 128 {
		return fmt.Errorf("session id %.80q: only letters, digits, '.', '_' and '-', beginning and ending with a letter or digit", id)
	}
	return nil
}

// UUIDv7 makes a UUID of version 7: the time in milliseconds, then random bits. Ids of the same millisecond are in no
// particular order.
func UUIDv7(t time.Time, random io.Reader) (session.ID, error) {
	var b [16]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", err
	}
	ms := uint64(t.UnixMilli())
	for i := range 6 {
		b[i] = byte(ms >> (40 - 8*i))
	}
	b[6] = b[6]&0x0f | 0x70
	b[8] = b[8]&0x3f | 0x80
	return session.ID(fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])), nil
}

// ShortEntryID makes eight hex digits from 32 random bits, as the programs do. Ids may collide: the store tries again until
// one is new.
func ShortEntryID(random io.Reader) (session.EntryID, error) {
	// A slice that is passed to an unknown reader escapes to the heap; Peek avoids it.
	if r, ok := random.(*bufio.Reader); ok {
		if b, err := r.Peek(4); err == nil {
			var text [8]byte
			hex.Encode(text[:], b)
			_, err = r.Discard(4)
			return session.EntryID(text[:]), err
		}
	}
	b := make([]byte, 4, 12) // the random bytes, then their hex digits
	if _, err := io.ReadFull(random, b); err != nil {
		return "", err
	}
	return session.EntryID(hex.AppendEncode(b, b)[4:]), nil
}
