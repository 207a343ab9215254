package protocol_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/remote/protocol"
)

// What is compressed is decompressed again, whatever its length, and an error on the way is not the end of the body.
func TestPacking(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 1000, protocol.Piece, protocol.Piece + 1, 3*protocol.Piece + 7} {
		want := bytes.Repeat([]byte("{\"a\":1}\n"), size/8+1)[:size]
		r, err := protocol.Unpack(protocol.Zstd, protocol.NewPacking(iotest.HalfReader(bytes.NewReader(want))))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes become %d, %v", size, len(got), err)
		}
	}
	for _, broken := range []error{errors.New("broken"), io.ErrUnexpectedEOF} {
		if _, err := io.ReadAll(protocol.NewPacking(iotest.ErrReader(broken))); !errors.Is(err, broken) {
			t.Errorf("%v, want %v", err, broken)
		}
	}
	if _, err := protocol.Unpack("br", nil); err == nil {
		t.Error("an unknown encoding was accepted")
	}
	for accepted, want := range map[string]bool{"": false, "gzip": false, "zstd": true, "gzip, zstd;q=0.5": true, "zstd;q=0": false} {
		if protocol.Packs(accepted) != want {
			t.Errorf("%q: %v; want protocol.Packs(accepted) == %v", accepted, !want, want)
		}
	}
}

// Every error that has a code is recognised by it.
func TestCodes(t *testing.T) {
	t.Parallel()
	for _, err := range []error{backend.ErrNotExist, backend.ErrExist, backend.ErrConflict, backend.ErrChanged, backend.ErrName, backend.ErrRecord,
		backend.ErrReadOnly, backend.ErrLocked, backend.ErrHeld, errors.ErrUnsupported} {
		name, status, ok := protocol.Code(err)
		if !ok || status < 400 || !errors.Is(protocol.ErrorOf(name), err) {
			t.Errorf("%v: %q, %d, %v; want ok, status >= 400, the error err", err, name, status, ok)
		}
	}
}

// A body that is lost between two frames does not end there.
func TestUnpackLost(t *testing.T) {
	t.Parallel()
	frame := protocol.Pack(nil, []byte("one"))
	for _, want := range []error{io.EOF, io.ErrUnexpectedEOF, errors.New("reset by peer")} {
		r, err := protocol.Unpack(protocol.Zstd, io.MultiReader(bytes.NewReader(frame), iotest.ErrReader(want)))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		got, err := io.ReadAll(r)
		if want == io.EOF {
			want = nil
		}
		if string(got) != "one" || !errors.Is(err, want) {
			t.Errorf("%q, %v; want %v", got, err, want)
		}
	}
}
