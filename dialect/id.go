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

// idPattern is what may be the id of a session where it becomes part of a file's name. It cannot be a path.
// No dot or dash at the ends: "." and ".." are paths, and a name with a leading dash is a flag to many programs.
// 128 characters leave room for a time stamp and an ending in 255 bytes.
var idPattern = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$`)

// CheckFileID says why an id will not do in the name of a file.
func CheckFileID(id session.ID) error {
	if !idPattern.MatchString(string(id)) || len(id) > 128 {
		return fmt.Errorf("session id %.80q: only letters, digits, '.', '_' and '-', beginning and ending with a letter or digit", id)
	}
	return nil
}

// UUIDv7 makes a UUID of version 7: the time in milliseconds, then chance.
// Ids of one millisecond are in no certain order: they have chance alone.
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

// ShortEntryID makes eight hex digits.
// 32 bits of chance are as many as the programs take. They may collide, so the store tries again until an id is
// new.
func ShortEntryID(random io.Reader) (session.EntryID, error) {
	// From a buffer they are taken where they are; a slice that is handed to any other reader is garbage afterwards.
	if r, ok := random.(*bufio.Reader); ok {
		if b, err := r.Peek(4); err == nil {
			var text [8]byte
			hex.Encode(text[:], b)
			_, err = r.Discard(4)
			return session.EntryID(text[:]), err
		}
	}
	b := make([]byte, 4, 12) // chance, and behind it how it is spelled
	if _, err := io.ReadFull(random, b); err != nil {
		return "", err
	}
	return session.EntryID(hex.AppendEncode(b, b)[4:]), nil
}
