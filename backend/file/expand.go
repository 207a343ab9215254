package file

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/spill"
)

// Limits for compressed files. They stop files that are made to exhaust memory or disk; JSON Lines of sessions stay far below.
const (
	// mostRatio is the largest ratio of content to file, beyond freeSize. Text shrinks to a tenth or so.
	mostRatio = 1 << 10
	freeSize  = 64 << 20
	// mostWindow is the most memory that decoding may take. The reference decoder has the same limit.
	mostWindow = 128 << 20
)

// mostContent returns the longest content that a file of that size may have.
func mostContent(stored int64) int64 { return freeSize + mostRatio*stored }

// tooLong returns the error for a file that expands to more than mostContent.
func tooLong(path string, stored int64) error {
	return &backend.DamageError{
		File: path, Line: 1, Message: fmt.Sprintf("its %d bytes expand to more than %d", stored, mostContent(stored)),
		Advice: "it is not read, since such a file can fill the disk; nothing was changed",
	}
}

// damaged returns the error for a file that is not a whole zstd file. offset counts in the file.
func damaged(path string, offset int64, err error) error {
	message := fmt.Sprintf("the compressed file is damaged: %v", err)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		message = "the compressed file is cut off"
	}
	return &backend.DamageError{
		File: path, Line: 1, Offset: offset, Message: message,
		Advice: "nothing was changed; \"zstd -dc\" writes out what is left of it",
	}
}

// contentSize reads the length of the content of a zstd file from the headers of frames and blocks. known is false if a frame does not say,
// or if the file is damaged: then only decoding tells. Agents write one frame, which has the length.
func contentSize(f io.ReaderAt, stored int64) (size int64, known bool, err error) {
	most := uint64(mostContent(stored))
	for pos := int64(0); pos < stored; {
		var room [zstd.HeaderMaxSize]byte
		n, err := f.ReadAt(room[:min(int64(len(room)), stored-pos)], pos)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, false, err
		}
		var h zstd.Header
		if h.Decode(room[:n]) != nil || !h.Skippable && !h.HasFCS {
			return 0, false, nil
		}
		pos += int64(h.HeaderSize)
		if h.Skippable {
			pos += int64(h.SkippableSize)
			continue
		}
		if size += int64(min(h.FrameContentSize, most+1)); size > int64(most) {
			return size, true, nil
		}
		if pos, err = frameEnd(f, pos, stored); err != nil || pos < 0 {
			return 0, false, err
		}
		if h.HasCheckSum {
			pos += 4
		}
	}
	return size, true, nil
}

// frameEnd returns the end of a frame whose blocks begin at pos, -1 if the file ends before.
func frameEnd(f io.ReaderAt, pos, stored int64) (int64, error) {
	for {
		var b [3]byte
		if pos+3 > stored {
			return -1, nil
		}
		if _, err := f.ReadAt(b[:], pos); err != nil && !errors.Is(err, io.EOF) {
			return -1, err
		}
		v := int64(b[0]) | int64(b[1])<<8 | int64(b[2])<<16
		last, kind, length := v&1 == 1, v>>1&3, v>>3
		if kind == 1 { // one byte, repeated
			length = 1
		}
		if pos += 3 + length; pos > stored {
			return -1, nil
		}
		if last {
			return pos, nil
		}
	}
}

// expand decodes a compressed file into w and returns the length of its content.
func expand(ctx context.Context, f io.ReaderAt, path string, stored int64, w io.Writer) (int64, error) {
	in := io.NewSectionReader(f, 0, stored)
	dec, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(mostWindow))
	if err != nil {
		return 0, err
	}
	defer dec.Close()
	size, most := int64(0), mostContent(stored)
	buf := make([]byte, 256<<10)
	for {
		if ctx.Err() != nil {
			return size, context.Cause(ctx)
		}
		n, err := dec.Read(buf)
		if size += int64(n); size > most {
			return size, tooLong(path, stored)
		}
		if _, err := w.Write(buf[:n]); err != nil {
			return size, err
		}
		if errors.Is(err, io.EOF) {
			return size, nil
		}
		if err != nil {
			at, _ := in.Seek(0, io.SeekCurrent) // a SectionReader does not fail here
			return size, damaged(path, at, err)
		}
	}
}

// openContent expands a compressed file.
func openContent(ctx context.Context, f io.ReaderAt, path string, stored int64) (*spill.Bytes, error) {
	c := &spill.Bytes{}
	_, err := expand(ctx, f, path, stored, c)
	if err == nil {
		err = c.Flush()
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}
