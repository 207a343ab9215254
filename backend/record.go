package backend

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"strings"
	"time"
	"unicode/utf8"
)

// IsText reports whether a name ends in ".jsonl": the default rule for which logs consist of lines. Use Lines to ask a
// Backend.
func IsText(name string) bool { return strings.HasSuffix(name, ".jsonl") }

// CheckName returns ErrName for a name that is not a slash path. Every backend makes this check first; it may have
// further rules of its own. Names are UTF-8, since catalogues and protocols are: the error says what to rename.
func CheckName(name string) error {
	if !utf8.ValidString(name) {
		for element := range strings.SplitSeq(name, "/") {
			if good := strings.ToValidUTF8(element, "_"); good != element {
				return fmt.Errorf("%q: %w: it is not UTF-8; rename %q, for example to %q", name, ErrName, element, good)
			}
		}
	}
	if !fs.ValidPath(name) || name == "." || strings.IndexByte(name, 0) >= 0 {
		return fmt.Errorf("%q: %w", name, ErrName)
	}
	return nil
}

// Begin makes the checks with which every method of a backend begins. It returns ErrClosed, the cause of ctx, or ErrName.
func Begin(ctx context.Context, closed bool, name string) error {
	switch {
	case closed:
		return ErrClosed
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return CheckName(name)
}

// CheckOffset returns an error for an offset outside of a log, from which Read cannot begin.
func CheckOffset(name string, offset, size int64) error {
	if offset < 0 || offset > size {
		return fmt.Errorf("%s: offset %d is outside the log's %d bytes", name, offset, size)
	}
	return nil
}

// Check reports, as ErrRecord, why records do not fit into the log of that name; see Encode.
func Check(name string, lines bool, records ...[]byte) error {
	if !lines && len(records) != 1 {
		return fmt.Errorf("%s: %w: a whole log has one record, not %d", name, ErrRecord, len(records))
	}
	for _, r := range records {
		if lines && bytes.IndexByte(r, '\n') >= 0 {
			return fmt.Errorf("%s: %w: it contains a newline", name, ErrRecord)
		}
	}
	return nil
}

// Encode appends to dst the bytes of records in the log of that name: each with a newline in a log of lines, a single one
// unchanged in a whole log. ErrRecord if they do not fit; dst is then unchanged.
func Encode(dst []byte, name string, lines bool, records ...[]byte) ([]byte, error) {
	if err := Check(name, lines, records...); err != nil {
		return dst, err
	}
	if !lines {
		return append(dst, records[0]...), nil
	}
	size := len(dst)
	for _, r := range records {
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

// TornName returns the name for a torn record that was moved out of a log. try is 0, and higher if the name is taken, which
// happens within one millisecond.
func TornName(name string, when time.Time, try int) string {
	name += ".torn-" + when.UTC().Format("20060102T150405.000Z")
	if try > 0 {
		name += fmt.Sprintf("-%d", try+1)
	}
	return name
}
