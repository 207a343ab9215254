// Package blob keeps large parts of sessions, mostly images, outside the logs, under the hash of their content.
//
// A record names a blob by a reference: "blob:sha256:" and 64 hex digits. A reference is parsed into a Ref before it is
// used, so no text from a session reaches a path.
package blob

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Errors that callers tell apart with errors.Is.
var (
	// ErrRef: the text is not a reference.
	ErrRef = errors.New("not a blob reference")
	// ErrNotExist: the store has no such blob.
	ErrNotExist = errors.New("blob does not exist")
	// ErrCorrupt: the bytes in the store do not have the hash of the reference.
	ErrCorrupt = errors.New("blob does not match its reference")
)

// Prefix begins every reference.
const Prefix = "blob:sha256:"

// Ref is the SHA-256 of a blob's bytes.
type Ref [sha256.Size]byte

// Sum returns the reference of these bytes.
func Sum(b []byte) Ref { return sha256.Sum256(b) }

// ParseRef parses a reference: the prefix and exactly 64 lower-case hex digits.
func ParseRef(s string) (Ref, error) {
	var r Ref
	digits, ok := strings.CutPrefix(s, Prefix)
	if !ok || len(digits) != 2*len(r) || strings.ToLower(digits) != digits {
		return r, fmt.Errorf("%.80q: %w", s, ErrRef)
	}
	if _, err := hex.Decode(r[:], []byte(digits)); err != nil {
		return r, fmt.Errorf("%.80q: %w", s, ErrRef)
	}
	return r, nil
}

// Hex returns the hash in 64 digits, which is the name of the file.
func (r Ref) Hex() string { return hex.EncodeToString(r[:]) }

// String returns the reference as it is written in records.
func (r Ref) String() string { return Prefix + r.Hex() }
