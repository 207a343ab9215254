package main

import (
	"bufio"
	"bytes"
	"io"
)

// indented gives an output that writes three columns further in. The caller flushes it before it writes to the outer
// one again.
func (o *output) indented() *output {
	width := o.width
	if width > 0 {
		width = max(width-3, 20)
	}
	return &output{Writer: bufio.NewWriter(&indenter{w: o, lineStart: true}), style: o.style, width: width}
}

// indenter puts spaces before each line that is not blank.
type indenter struct {
	w         io.Writer
	lineStart bool
}

func (i *indenter) Write(p []byte) (int, error) {
	var b bytes.Buffer
	for _, c := range p {
		if i.lineStart && c != '\n' {
			b.WriteString("   ")
		}
		i.lineStart = c == '\n'
		b.WriteByte(c)
	}
	if _, err := i.w.Write(b.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}
