package push

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/internal/redact"
)

// cutter cuts an open log into pieces that end with a newline, except for an unterminated last line. The bytes of a piece are
// valid until the next one.
type cutter struct {
	r        io.ReaderAt
	name     string
	pos, end int64
	step     int // the least length of a piece
	buf      []byte
}

// next gives the next piece; io.EOF after the last one.
func (c *cutter) next() ([]byte, error) {
	if c.pos >= c.end {
		return nil, io.EOF
	}
	have := 0
	for want := int64(c.step); ; want *= 2 {
		n := int(min(want, c.end-c.pos))
		if cap(c.buf) < n {
			grown := make([]byte, n)
			copy(grown, c.buf[:have])
			c.buf = grown
		}
		c.buf = c.buf[:n]
		if err := backend.ReadFull(c.r, c.name, c.buf[have:], c.pos+int64(have)); err != nil {
			return nil, err
		}
		have = n
		data := c.buf
		if c.pos+int64(n) < c.end {
			i := bytes.LastIndexByte(data, '\n')
			if i < 0 {
				continue // a record is longer than a piece
			}
			data = data[:i+1]
		}
		c.pos += int64(len(data))
		return data, nil
	}
}

// endsLine reports whether a line ends at an offset of a log; the beginning counts.
func endsLine(b backend.Backend, name string, r io.ReaderAt, offset int64) bool {
	if offset == 0 || !backend.Lines(b, name) {
		return true
	}
	last := make([]byte, 1)
	return backend.ReadFull(r, name, last, offset-1) == nil && last[0] == '\n'
}

// redactPiece redacts a piece record by record. A log that does not consist of lines is one record. The number of lines, their
// ends and empty lines stay.
func redactPiece(data []byte, lines bool) (out []byte, secrets int) {
	if !lines {
		return redact.Record(data)
	}
	at := 0 // data up to here is in out
	for start := 0; start < len(data); {
		end := len(data)
		if i := bytes.IndexByte(data[start:], '\n'); i >= 0 {
			end = start + i
		}
		record := bytes.TrimSuffix(data[start:end], []byte{'\r'})
		if clean, n := redact.Record(record); n > 0 {
			out = append(append(out, data[at:start]...), clean...)
			at, secrets = start+len(record), secrets+n
		}
		start = end + 1
	}
	if secrets == 0 {
		return data, 0
	}
	return append(out, data[at:]...), secrets
}

// carrier takes blobs from one place to another, each once.
type carrier struct {
	dir    string // of this machine, from or to which they are taken
	from   blob.Reader
	to     blob.Store
	redact bool
	meter  *meter
	// done has a *carrying for each errand of this run; shared by all logs.
	done *sync.Map
}

// errand is a blob that is to be in a folder of this machine, or in the archive if it is in that folder.
type errand struct {
	dir string
	ref blob.Ref
}

// carrying is a blob on its way.
type carrying struct {
	errand
	done chan struct{}
	err  error // when done is closed
}

// batch is how many blobs are asked for in one step.
const batch = 500

// carry copies the blobs that records refer to, and waits for those that another log copies. A missing blob is not an error:
// the record is copied all the same.
func (c *carrier) carry(ctx context.Context, records []byte) error {
	if c.from == nil || c.to == nil {
		return nil
	}
	var mine, all []*carrying
	for ref := range blob.RefsIn(records) {
		own := &carrying{errand: errand{c.dir, ref}, done: make(chan struct{})}
		was, known := c.done.LoadOrStore(own.errand, own)
		if all = append(all, was.(*carrying)); !known {
			mine = append(mine, own)
		}
	}
	err := c.bring(ctx, mine)
	for _, b := range mine {
		if b.err = err; err != nil {
			c.done.Delete(b.errand) // it is tried again with the next log
		}
		close(b.done)
	}
	for _, b := range all {
		if <-b.done; b.err != nil {
			return b.err
		}
	}
	return nil
}

// bring brings blobs, some at a time.
func (c *carrier) bring(ctx context.Context, list []*carrying) error {
	for part := range slices.Chunk(list, batch) {
		refs := make([]blob.Ref, len(part))
		for i := range part {
			refs[i] = part[i].ref
		}
		missing, err := blob.Missing(ctx, c.to, refs)
		if err != nil {
			return err
		}
		for _, ref := range missing {
			if err := c.one(ctx, ref); err != nil {
				return err
			}
		}
	}
	return nil
}

// one brings a blob.
func (c *carrier) one(ctx context.Context, ref blob.Ref) error {
	content, err := blob.Get(ctx, c.from, ref)
	if errors.Is(err, blob.ErrNotExist) {
		return nil
	}
	if errors.Is(err, blob.ErrCorrupt) {
		c.meter.problem(fmt.Errorf("%w; it was not copied", err))
		return nil
	}
	if err != nil {
		return err
	}
	if c.redact && !isImage(content) && len(redact.Find(string(content))) > 0 {
		c.meter.problem(fmt.Errorf("%s: it has a secret, and was not copied", ref))
		return nil
	}
	if _, err := c.to.Put(ctx, content); err != nil {
		return err
	}
	c.meter.blob(len(content))
	return nil
}

// isImage reports whether bytes begin as a picture does. Package net/http knows more kinds, but would make every program that embeds
// the library larger by 1.6 MB.
func isImage(content []byte) bool {
	for _, magic := range []string{"\x89PNG\r\n\x1a\n", "\xff\xd8\xff", "GIF87a", "GIF89a", "\x00\x00\x01\x00"} {
		if bytes.HasPrefix(content, []byte(magic)) {
			return true
		}
	}
	return len(content) > 15 && string(content[:4]) == "RIFF" && string(content[8:14]) == "WEBPVP"
}
