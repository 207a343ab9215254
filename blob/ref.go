// Package blob keeps large pieces of sessions, pictures mostly, outside of the logs, under the hash of their content.
//
// A record names a blob by a reference, "blob:sha256:" and 64 hex digits. Nothing else is ever taken for one: a
// reference is parsed into a Ref before anything is done with it, so no text from a session reaches a path.
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
	// ErrRef: the text is no reference.
	ErrRef = errors.New("not a blob reference")
	// ErrNotExist: the store has no such blob.
	ErrNotExist = errors.New("blob does not exist")
	// ErrCorrupt: what the store has under the reference is not what the reference says.
	ErrCorrupt = errors.New("blob does not match its reference")
)

// Prefix begins every reference.
const Prefix = "blob:sha256:"

// Ref is the SHA-256 of a blob's bytes.
type Ref [sha256.Size]byte

// Sum gives the reference of these bytes.
func Sum(b []byte) Ref { return sha256.Sum256(b) }

// ParseRef reads a reference: the prefix and 64 hex digits in lower case, nothing else.
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

// Hex is the hash in 64 digits: the name of the file.
func (r Ref) Hex() string { return hex.EncodeToString(r[:]) }

// String is the reference as records spell it.
func (r Ref) String() string { return Prefix + r.Hex() }
