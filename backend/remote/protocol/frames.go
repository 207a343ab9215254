package protocol

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
)

const (
	// Piece is how many bytes are read, compressed and sent at a time.
	Piece = 256 << 10
	// Zstd is the name of the encoding.
	Zstd = "zstd"
)

// encoder compresses frames. It keeps no state between them, so a slow connection holds no encoder.
var encoder = sync.OnceValue(func() *zstd.Encoder {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(Piece), zstd.WithEncoderCRC(false))
	if err != nil {
		panic(err) // the options are constants
	}
	return z
})

// Pack appends a compressed frame with at most Piece bytes of content.
func Pack(dst, piece []byte) []byte { return encoder().EncodeAll(piece, dst) }

// Packs reports whether Accept-Encoding names zstd.
func Packs(accepted string) bool {
	for one := range strings.SplitSeq(accepted, ",") {
		name, weight, _ := strings.Cut(strings.ReplaceAll(one, " ", ""), ";")
		if name == Zstd && weight != "q=0" {
			return true
		}
	}
	return false
}

// Unpack reads a body with this encoding, "" or zstd. Frames from an untrusted sender cannot demand more memory than those of Pack.
func Unpack(encoding string, body io.Reader) (io.ReadCloser, error) {
	switch encoding {
	case "", "identity":
		return io.NopCloser(body), nil
	case Zstd:
		from := &noting{Reader: body}
		d, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(8<<20))
		if err != nil {
			return nil, err
		}
		return &unpacking{d.IOReadCloser(), from}, nil
	}
	return nil, fmt.Errorf("the encoding %.40q is unknown: zstd or none", encoding)
}

// noting keeps the error with which a reader ended.
type noting struct {
	io.Reader
	err error
}

func (n *noting) Read(p []byte) (int, error) {
	m, err := n.Reader.Read(p)
	if err != nil {
		n.err = err
	}
	return m, err
}

// unpacking decompresses a body while it is read. zstd would take a connection that is lost between two frames for the end.
type unpacking struct {
	io.ReadCloser
	from *noting
}

// Read implements io.Reader.
func (u *unpacking) Read(p []byte) (int, error) {
	n, err := u.ReadCloser.Read(p)
	if err == io.EOF && u.from.err != nil { //nolint:errorlint // readers give it unwrapped
		err = u.from.err
	}
	return n, err
}

// Packing compresses a body while it is read.
type Packing struct {
	from  io.Reader
	piece []byte
	frame []byte
	left  []byte
	err   error
}

// NewPacking compresses what a reader returns.
func NewPacking(from io.Reader) *Packing {
	return &Packing{from: from, piece: make([]byte, Piece)}
}

// Read implements io.Reader.
func (p *Packing) Read(b []byte) (int, error) {
	for len(p.left) == 0 {
		if p.err != nil {
			return 0, p.err
		}
		n := 0
		for n < len(p.piece) && p.err == nil {
			var m int
			m, p.err = p.from.Read(p.piece[n:])
			n += m
		}
		if n > 0 {
			p.frame = Pack(p.frame[:0], p.piece[:n])
			p.left = p.frame
		}
	}
	n := copy(b, p.left)
	p.left = p.left[n:]
	return n, nil
}
