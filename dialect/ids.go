package dialect

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/internal/hexdigits"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// UUID returns a member of a record that is a UUID; "" for any other string, which two sessions may have in common by chance.
func UUID(record []byte, member string) string {
	const length = 36
	if id := rawjson.Str(record, member); len(id) == length && id[8] == '-' && id[23] == '-' {
		return id
	}
	return ""
}

// IsUUID reports whether a text is a UUID. Its letters are in lower case.
func IsUUID(text string) bool { return isUUID(text, 0) }

// IsAnyUUID is IsUUID for programs that accept letters in either case.
func IsAnyUUID[T ~string | ~[]byte](text T) bool { return isUUID(text, ' ') }

func isUUID[T ~string | ~[]byte](text T, fold byte) bool {
	if len(text) != 36 {
		return false
	}
	for i := range len(text) {
		c := text[i]
		switch {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return false
			}
		case c-'0' > 9 && (c|fold)-'a' > 5:
			return false
		}
	}
	return true
}

// PlaceID makes an id for a record that has none from its position in the log: eight hex digits. Multiplying by an odd number
// keeps ids unique, and 2^32 divided by the golden ratio gives neighbours different first digits.
func PlaceID(position int) (id [8]byte) {
	return hexdigits.Of(uint32(position+1) * 2654435769)
}

// UUIDv4 spells 16 random bytes as a UUID of version 4.
func UUIDv4(b [16]byte) string { return spellUUID(b, 4) }

// NewUUID makes a UUID of version 4.
func NewUUID(random io.Reader) (string, error) {
	b, err := sixteen(random)
	if err != nil {
		return "", err
	}
	return UUIDv4(b), nil
}

func sixteen(random io.Reader) (b [16]byte, err error) {
	_, err = io.ReadFull(random, b[:])
	return b, err
}

func spellUUID(b [16]byte, version byte) string {
	b[6] = b[6]&0x0f | version<<4
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// CheckFileID returns an error if an id is not valid in a file name. 128 characters leave room for a time stamp and an extension
// in 255 bytes. An id has no dot or dash at either end: "." and ".." are paths, and many programs read a name with a leading dash as a flag.
func CheckFileID(id session.ID) error {
	if !isFileID(string(id)) {
		return fmt.Errorf("session id %.80q: only letters, digits, '.', '_' and '-', beginning and ending with a letter or digit", id)
	}
	return nil
}

func isFileID(id string) bool {
	const alphanumeric = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	return id != "" && len(id) <= 128 && strings.Trim(id, "._-") == id && strings.Trim(id, alphanumeric+"._-") == ""
}

// UUIDv7 makes a UUID of version 7: the time in milliseconds, then random bits. Ids of the same millisecond are in no
// particular order.
func UUIDv7(t time.Time, random io.Reader) (session.ID, error) {
	b, err := sixteen(random)
	if err != nil {
		return "", err
	}
	ms := uint64(t.UnixMilli())
	for i := range 6 {
		b[i] = byte(ms >> (40 - 8*i))
	}
	return session.ID(spellUUID(b, 7)), nil
}

// ShortEntryID makes eight hex digits from 32 random bits, as the agents' programs do. Ids may collide: the store tries again until
// one is new.
func ShortEntryID(random io.Reader) (session.EntryID, error) {
	var b [4]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", err
	}
	digits := hexdigits.Of(binary.BigEndian.Uint32(b[:]))
	return session.EntryID(digits[:]), nil
}
