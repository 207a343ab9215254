package backend

import (
	"bytes"
	"fmt"
	"io/fs"
	"strings"
	"time"
)

// IsText says whether the log of that name is split into lines.
func IsText(name string) bool { return strings.HasSuffix(name, ".jsonl") }

// CheckName returns ErrName where the name is no slash path. It is the check that every backend makes first; one may
// have further rules, as a file system has.
func CheckName(name string) error {
	if !fs.ValidPath(name) || name == "." || strings.IndexByte(name, 0) >= 0 {
		return fmt.Errorf("%q: %w", name, ErrName)
	}
	return nil
}

// Encode appends to dst the bytes that records are kept as in the log of that name: each with its newline in a text
// log, the single one as it is in another. ErrRecord where they do not fit; dst is then unchanged.
func Encode(dst []byte, name string, records ...[]byte) ([]byte, error) {
	if !IsText(name) {
		if len(records) != 1 {
			return dst, fmt.Errorf("%s: %w: a log that is not text has one record, not %d", name, ErrRecord, len(records))
		}
		return append(dst, records[0]...), nil
	}
	size := len(dst)
	for _, r := range records {
		if bytes.IndexByte(r, '\n') >= 0 {
			return dst, fmt.Errorf("%s: %w: a newline in it", name, ErrRecord)
		}
		size += len(r) + 1
	}
	if cap(dst) < size {
		dst = append(make([]byte, 0, size), dst...)
	}
	for _, r := range records {
		dst = append(append(dst, r...), '\n')
	}
	return dst, nil
}

// TornName is the name under which the torn end of a log is kept when it had to make room for an append. A second one
// within the same millisecond needs another try.
func TornName(name string, when time.Time, try int) string {
	name += ".torn-" + when.UTC().Format("20060102T150405.000Z")
	if try > 0 {
		name += fmt.Sprintf("-%d", try+1)
	}
	return name
}
