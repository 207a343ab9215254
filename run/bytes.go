package run

import (
	"bytes"
	"errors"
)

// Bytes is a log in memory.
type Bytes []byte

// Bytes implements Source. The slice is not copied.
func (b Bytes) Bytes(offset, length int64) ([]byte, error) {
	if offset < 0 || length < 0 || offset+length > int64(len(b)) {
		return nil, errors.New("outside of the log")
	}
	return b[offset : offset+length], nil
}

// DecodeBytes makes a Log from the bytes of a whole log. Lines end only at newlines: U+2028 may occur in a text.
func DecodeBytes(b []byte) (*Log, error) {
	d := NewDecoder(Bytes(b))
	offset := int64(0)
	line := 0
	for data := range bytes.SplitAfterSeq(b, []byte{'\n'}) {
		if len(data) == 0 {
			break
		}
		line++
		text, whole := bytes.CutSuffix(data, []byte{'\n'})
		d.Line(bytes.TrimSuffix(text, []byte{'\r'}), offset, line, !whole)
		offset += int64(len(data))
	}
	return d.Finish()
}
