// Package blob keeps large parts of sessions, mostly images, outside the logs, under the hash of their content.
//
// A record names a blob by a reference: "blob:sha256:" and 64 hex digits. A reference is parsed into a Ref before it is
// used, so no text from a session reaches a path.
package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
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

// RefsIn finds what may be a reference in the bytes of a record.
func RefsIn(record []byte) iter.Seq[Ref] {
	return func(yield func(Ref) bool) {
		const length = len(Prefix) + 64
		for {
			i := bytes.Index(record, []byte(Prefix))
			if i < 0 || i+length > len(record) {
				return
			}
			if ref, err := ParseRef(string(record[i : i+length])); err == nil && !yield(ref) {
				return
			}
			record = record[i+len(Prefix):]
		}
	}
}

// ParseRef parses a reference: the prefix and exactly 64 lower-case hex digits.
func ParseRef(s string) (Ref, error) {
	digits, ok := strings.CutPrefix(s, Prefix)
	r, valid := parseHex(digits)
	if !ok || !valid {
		return Ref{}, fmt.Errorf("%.80q: %w", s, ErrRef)
	}
	return r, nil
}

// parseHex parses the digits that Hex returns.
func parseHex(digits string) (r Ref, ok bool) {
	if len(digits) != 2*len(r) || strings.ToLower(digits) != digits {
		return r, false
	}
	_, err := hex.Decode(r[:], []byte(digits))
	return r, err == nil
}

// Hex returns the hash in 64 digits, which is the name of the file.
func (r Ref) Hex() string { return hex.EncodeToString(r[:]) }

// String returns the reference as it is written in records.
func (r Ref) String() string { return Prefix + r.Hex() }

// Reader reads blobs.
type Reader interface {
	// Open opens a blob; ErrNotExist if there is none.
	Open(ctx context.Context, r Ref) (io.ReadCloser, error)
	// Has reports whether there is a blob.
	Has(ctx context.Context, r Ref) (bool, error)
}

// Store reads and writes blobs.
type Store interface {
	Reader
	// Put stores bytes and returns their reference. The bytes are then durable, so that a record may refer to them. A blob that is already
	// there is not written again.
	Put(ctx context.Context, b []byte) (Ref, error)
}

// Keeper is a place that keeps logs together with the blobs that they refer to, such as a backend.
type Keeper interface {
	// Blobs returns the blobs for the log of that name. Reading may be limited to the blobs that the log refers to and whose bytes its
	// writers had: a writer that puts a blob has its bytes, one that only writes a reference may not.
	Blobs(log string) Store
}

// Finder is a Reader that answers for many blobs in one step. Stores behind a network need it.
type Finder interface {
	// Missing returns the references that have no blob, in the order given. It is for a program that is about to put these blobs: a Store
	// that limits reading may report a blob as missing that is there.
	Missing(ctx context.Context, refs []Ref) ([]Ref, error)
}

// Missing returns the references that have no blob, of any Reader; see Finder.
func Missing(ctx context.Context, s Reader, refs []Ref) ([]Ref, error) {
	if f, ok := s.(Finder); ok {
		return f.Missing(ctx, refs)
	}
	var missing []Ref
	for _, r := range refs {
		has, err := s.Has(ctx, r)
		if err != nil {
			return nil, err
		}
		if !has {
			missing = append(missing, r)
		}
	}
	return missing, nil
}

// Get reads a whole blob and checks its hash; ErrCorrupt if that is wrong.
func Get(ctx context.Context, s Reader, r Ref) ([]byte, error) {
	f, err := s.Open(ctx, r)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r, err)
	}
	if Sum(b) != r {
		return nil, fmt.Errorf("%s: %w", r, ErrCorrupt)
	}
	return b, nil
}
