package litefile

import (
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"os"

	"github.com/treeline-dev/treeline/internal/durable"
)

// The write-ahead log of SQLite: a header, then frames, each a header and a page. The frames of one run have the salts of
// the header, and a checksum that goes on from frame to frame. A frame that ends a transaction has the size of the database.
const (
	walHeader   = 32
	frameHeader = 24
	walMagic    = 0x377f0682 // the last bit says that checksums are big-endian
)

// wal is what was read of a write-ahead log. A snapshot shares pages, which is never changed.
type wal struct {
	salts    [8]byte
	big      bool
	pageSize int
	frames   int64     // number of frames of whole transactions
	sum      [2]uint32 // after these frames
	size     uint32    // pages of the database after these frames; 0 without a frame
	pages    map[uint32]int64
}

// salts reads the salts, which distinguish one run of a log from another; ok is false for a file without a header.
func salts(f io.ReaderAt) (salt [8]byte, ok bool) {
	var h [walHeader]byte
	if _, err := f.ReadAt(h[:], 0); err != nil {
		return salt, false
	}
	copy(salt[:], h[16:24])
	return salt, binary.BigEndian.Uint32(h[:])&^1 == walMagic
}

// begin reads the header of a log. Without a valid one the log has no frame.
func (w *wal) begin(f io.ReaderAt, pageSize int) {
	*w = wal{pageSize: pageSize}
	var h [walHeader]byte
	if _, err := f.ReadAt(h[:], 0); err != nil {
		return
	}
	magic := binary.BigEndian.Uint32(h[:])
	w.big = magic&1 != 0
	w.checksum(h[:24])
	if magic&^1 != walMagic || int(binary.BigEndian.Uint32(h[8:])) != pageSize || !w.summed(h[24:]) {
		return
	}
	copy(w.salts[:], h[16:24])
}

// extend reads the transactions after the known ones. It returns the pages that they wrote, and gives w a new map if there are any.
func (w *wal) extend(f io.ReaderAt) (wrote []uint32, err error) {
	if w.salts == [8]byte{} {
		return nil, nil
	}
	type frame struct {
		page uint32
		at   int64
	}
	var open []frame // frames of a transaction whose end was not read yet
	next, before := *w, w.pages
	buf := make([]byte, frameHeader+w.pageSize)
	for n := w.frames; ; n++ {
		at := walHeader + n*int64(len(buf))
		if _, err := f.ReadAt(buf, at); err != nil {
			if !errors.Is(err, io.EOF) {
				return nil, err
			}
			break
		}
		next.checksum(buf[:8])
		next.checksum(buf[frameHeader:])
		if [8]byte(buf[8:16]) != w.salts || !next.summed(buf[16:24]) {
			break
		}
		open = append(open, frame{binary.BigEndian.Uint32(buf), at + frameHeader})
		size := binary.BigEndian.Uint32(buf[4:])
		if size == 0 {
			continue
		}
		if len(wrote) == 0 {
			if next.pages = maps.Clone(before); next.pages == nil {
				next.pages = map[uint32]int64{}
			}
		}
		for _, fr := range open {
			next.pages[fr.page] = fr.at
			wrote = append(wrote, fr.page)
		}
		open, next.frames, next.size = open[:0], n+1, size
		*w = next
	}
	return wrote, nil
}

// precedes reports whether a run with these salts is the next one: the first salt counts the runs.
func (w *wal) precedes(salt [8]byte) bool {
	return binary.BigEndian.Uint32(salt[:]) == binary.BigEndian.Uint32(w.salts[:])+1
}

// overtaken reports whether the next run may have overwritten a frame of this one, or the file was cut off before it.
func (w *wal) overtaken(f *os.File, frame int64, next [8]byte) bool {
	at := walHeader + frame*int64(frameHeader+w.pageSize)
	info, err := f.Stat()
	if err != nil || info.Size() < at {
		return true
	}
	var salt [8]byte
	_, err = f.ReadAt(salt[:], at+8)
	return err == nil && salt == next || err != nil && !errors.Is(err, io.EOF)
}

// checksum continues the checksum of a log; len(b) is a multiple of eight.
func (w *wal) checksum(b []byte) {
	a, c := w.sum[0], w.sum[1]
	if w.big {
		for ; len(b) >= 8; b = b[8:] {
			a += binary.BigEndian.Uint32(b) + c
			c += binary.BigEndian.Uint32(b[4:]) + a
		}
	} else {
		for ; len(b) >= 8; b = b[8:] {
			a += binary.LittleEndian.Uint32(b) + c
			c += binary.LittleEndian.Uint32(b[4:]) + a
		}
	}
	w.sum = [2]uint32{a, c}
}

// summed compares the checksum with the one in the log.
func (w *wal) summed(b []byte) bool {
	return binary.BigEndian.Uint32(b) == w.sum[0] && binary.BigEndian.Uint32(b[4:]) == w.sum[1]
}

// openWAL opens the log of a database; nil if there is none.
func openWAL(path string) (*os.File, error) {
	f, err := durable.OpenRegular(path + "-wal")
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return f, err
}
