package remote

import (
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/treeline-dev/treeline/backend/remote/protocol"
)

// errSilent: the server stopped in the middle of an answer.
var errSilent = errors.New("the server says nothing any more")

// watched is the body of an answer. Reading it fails if nothing comes for some time.
type watched struct {
	io.ReadCloser
	silence time.Duration
	timer   *time.Timer
	cut     atomic.Bool
	end     func()
}

// Read implements io.Reader.
func (w *watched) Read(p []byte) (int, error) {
	w.timer.Reset(w.silence)
	n, err := w.ReadCloser.Read(p)
	w.timer.Stop() // the caller may take its time
	if err != nil && w.cut.Load() {
		err = errSilent
	}
	return n, err
}

// Close implements io.Closer.
func (w *watched) Close() error {
	w.timer.Stop()
	return w.ReadCloser.Close()
}

// unpacked returns a body as it was before it was compressed.
func unpacked(encoding string, body io.ReadCloser) (io.ReadCloser, error) {
	r, err := protocol.Unpack(encoding, body)
	if err != nil {
		return nil, err
	}
	return &unpacking{r, body}, nil
}

// unpacking closes both ends.
type unpacking struct {
	io.ReadCloser
	body io.Closer
}

// Close implements io.Closer.
func (u *unpacking) Close() error {
	return errors.Join(u.body.Close(), u.ReadCloser.Close())
}
