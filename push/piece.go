package push

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/internal/redact"
)

// cutter cuts an open log into pieces that end with a newline, except for an unterminated last line. The bytes of a piece are valid until
// the next call.
type cutter struct {
	r        io.ReaderAt
	name     string
	pos, end int64
	step     int // least length of a piece
	buf      []byte
}

// next returns the next piece, and io.EOF after the last one.
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
				continue // the record is longer than a piece
			}
			data = data[:i+1]
		}
		c.pos += int64(len(data))
		return data, nil
	}
}

// endsLine reports whether an offset of a log is at the beginning or after the end of a line.
func endsLine(b backend.Backend, name string, r io.ReaderAt, offset int64) bool {
	if offset == 0 || !backend.Lines(b, name) {
		return true
	}
	last := make([]byte, 1)
	return backend.ReadFull(r, name, last, offset-1) == nil && last[0] == '\n'
}

// redactPiece redacts a piece record by record. A log that does not consist of lines is one record. The number of lines, their ends and
// empty lines are preserved.
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

// carrier copies the blobs of one log, each once.
type carrier struct {
	dir    string // folder of this machine from or to which they are copied
	pulls  bool   // to dir, not from it
	from   blob.Reader
	to     blob.Store
	redact bool
	meter  *meter
	// asked has the blobs that were already handled for this log. An archive may restrict which blobs each log may read, so the answer for
	// another log does not count.
	asked map[blob.Ref]bool
	// done has a *carrying for each errand of this run; all logs share it.
	done *sync.Map
}

// errand is a blob to be copied to a folder of this machine, or from that folder to the archive.
type errand struct {
	dir string
	ref blob.Ref
}

// carrying is a blob that is being copied, for the first log that refers to it.
type carrying struct {
	errand
	done chan struct{} // closed when the copy for that log succeeded or failed
	// settled means that no other log has to ask: a pulled blob is here, or a blob cannot be pushed from here.
	settled atomic.Bool
}

// batch is the number of blobs that are asked for in one step.
const batch = 500

// carry copies the blobs that records refer to.
func (f *fetching) carry(ctx context.Context, records []byte) error {
	m, path, d := f.p.c.m, f.src.PathOf(f.name), f.src.Dialect
	c := carrier{
		dir: m.BlobDir(path, d), pulls: true, from: blobsOf(f.p.t.Backend, f.there.Name), to: m.BlobsAs(backend.Writer{}, path, d),
		meter: f.p.meter, asked: f.asked, done: &f.p.blobs,
	}
	return c.carry(ctx, records)
}

// carryFork copies the blobs of a log in the archive to a fork of it.
func (s *sending) carryFork(ctx context.Context, f fork) error {
	b := s.p.t.Backend
	c := carrier{from: blobsOf(b, s.it.name), to: blobsOf(b, f.name), meter: s.p.meter, asked: map[blob.Ref]bool{}, done: &sync.Map{}}
	return c.carry(ctx, f.content)
}

// carry copies the blobs that records refer to. It waits for those that another log copies, and then asks for its own log, so bytes are
// sent twice only if the archive requires them for each log. A missing blob is not an error: the record is copied nevertheless.
func (c *carrier) carry(ctx context.Context, records []byte) error {
	if c.from == nil || c.to == nil {
		return nil
	}
	var first, later []*carrying
	for ref := range blob.RefsIn(records) {
		if c.asked[ref] {
			continue
		}
		c.asked[ref] = true
		own := &carrying{errand: errand{c.dir, ref}, done: make(chan struct{})}
		if was, known := c.done.LoadOrStore(own.errand, own); known {
			later = append(later, was.(*carrying))
		} else {
			first = append(first, own)
		}
	}
	err := c.bring(ctx, first)
	for _, b := range first {
		if err != nil {
			c.done.Delete(b.errand) // another log may be allowed to
		}
		close(b.done)
	}
	if err != nil {
		return err
	}
	var rest []*carrying
	for _, b := range later {
		if <-b.done; !b.settled.Load() {
			rest = append(rest, b)
		}
	}
	return c.bring(ctx, rest)
}

// bring copies blobs in batches.
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
		for _, b := range part {
			settled := c.pulls
			if len(missing) > 0 && missing[0] == b.ref {
				missing = missing[1:]
				if settled, err = c.one(ctx, b.ref); err != nil {
					return err
				}
			}
			if settled {
				b.settled.Store(true)
			}
		}
	}
	return nil
}

// one copies a blob. settled reports that no other log has to copy it.
func (c *carrier) one(ctx context.Context, ref blob.Ref) (settled bool, err error) {
	content, err := blob.Get(ctx, c.from, ref)
	if errors.Is(err, blob.ErrNotExist) {
		return !c.pulls, nil
	}
	if errors.Is(err, blob.ErrCorrupt) {
		c.meter.problem(fmt.Errorf("%w; it was not copied", err))
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if c.redact && !isImage(content) && len(redact.Find(string(content))) > 0 {
		c.meter.problem(fmt.Errorf("%s: it has a secret, and was not copied", ref))
		return true, nil
	}
	if _, err := c.to.Put(ctx, content); err != nil {
		return false, err
	}
	c.meter.blob(len(content))
	return c.pulls, nil
}

// isImage reports whether bytes begin like a picture. Package net/http knows more types, but would make every program that embeds the
// library 1.6 MB larger.
func isImage(content []byte) bool {
	for _, magic := range []string{"\x89PNG\r\n\x1a\n", "\xff\xd8\xff", "GIF87a", "GIF89a", "\x00\x00\x01\x00"} {
		if bytes.HasPrefix(content, []byte(magic)) {
			return true
		}
	}
	return len(content) > 15 && string(content[:4]) == "RIFF" && string(content[8:14]) == "WEBPVP"
}
