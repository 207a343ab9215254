package codex

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"slices"
	"strings"
)

// isImage reports whether a data URL without its scheme holds an image that the program can decode: whether its parts are whole and in
// their order. Pixels are not unpacked, so that reading a context is cheap.
func isImage(data string) bool {
	kind, encoded, ok := strings.Cut(data, ",")
	if !ok || strings.ContainsAny(encoded, "\r\n") || // the decoder would skip them
		!slices.ContainsFunc(strings.Split(kind, ";"), func(s string) bool { return strings.EqualFold(s, "base64") }) {
		return false
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil {
		return false
	}
	for _, f := range imageFormats {
		if rest, ok := bytes.CutPrefix(raw, []byte(f.mark)); ok {
			return f.whole(rest)
		}
	}
	return false
}

// imageFormats are those that the program reads, with what they begin with and whether the rest has what the first picture needs.
var imageFormats = []struct {
	mark  string
	whole func(rest []byte) bool
}{
	{"\x89PNG\r\n\x1a\n", wholePNG}, {"\xff\xd8", wholeJPEG}, {"GIF87a", wholeGIF}, {"GIF89a", wholeGIF}, {"RIFF", wholeWebP},
}

// wholePNG looks for the header, data, and the beginning of the end. A chunk is a length, a kind, content and a checksum.
func wholePNG(b []byte) bool {
	for first, data := true, false; len(b) >= 8; first = false {
		kind, size := string(b[4:8]), uint64(binary.BigEndian.Uint32(b))
		switch {
		case first && kind != "IHDR":
			return false
		case kind == "IEND":
			return data
		case size+12 > uint64(len(b)):
			return false
		}
		critical := kind[0]&0x20 == 0 // the others are skipped
		if critical && crc32.ChecksumIEEE(b[4:8+size]) != binary.BigEndian.Uint32(b[8+size:]) {
			return false
		}
		data = data || kind == "IDAT"
		b = b[size+12:]
	}
	return false
}

// wholeJPEG looks for the beginning of the pixels, which may be cut off. Before it there are segments, each with a marker and its length.
func wholeJPEG(b []byte) bool {
	for len(b) >= 4 && b[0] == 0xff {
		size := 2 + int(binary.BigEndian.Uint16(b[2:]))
		switch {
		case b[1] == 0xff: // it fills
			size = 1
		case size > len(b):
			return false
		case b[1] == 0xda:
			return true
		}
		b = b[size:]
	}
	return false
}

// wholeGIF looks for the first frame. Its data are blocks with a byte for their length; that of the last may be missing.
func wholeGIF(b []byte) bool {
	const screen, frame = 7, 9
	if len(b) < screen {
		return false
	}
	b, ok := after(b, screen+colours(b[4]))
	for ok && len(b) >= 2 {
		switch b[0] {
		case 0x21: // an extension with its kind
			b, ok = blocks(b[2:])
		case 0x2c:
			if len(b) < 1+frame {
				return false
			}
			b, ok = after(b, 1+frame+colours(b[frame])+1) // and the least width of codes
			if ok = ok && len(b) > 0; ok {
				_, ok = blocks(b)
			}
			return ok
		default:
			return false
		}
	}
	return false
}

// colours is the size of the table of colours that flags announce.
func colours(flags byte) int {
	if flags&0x80 == 0 {
		return 0
	}
	return 3 << (flags&7 + 1)
}

// blocks returns what follows blocks of data, none of which is cut off.
func blocks(b []byte) (rest []byte, ok bool) {
	for len(b) > 0 && b[0] != 0 {
		if b, ok = after(b, 1+int(b[0])); !ok {
			return nil, false
		}
	}
	return b[min(1, len(b)):], true
}

// after returns what follows n bytes.
func after(b []byte, n int) ([]byte, bool) {
	if len(b) < n {
		return nil, false
	}
	return b[n:], true
}

// wholeWebP looks for the first chunk.
func wholeWebP(b []byte) bool {
	const head = 16 // the length of all, the format, the kind of the chunk, its length
	return len(b) >= head && string(b[4:8]) == "WEBP" && slices.Contains([]string{"VP8 ", "VP8L", "VP8X"}, string(b[8:12])) &&
		uint64(len(b)) >= head+uint64(binary.LittleEndian.Uint32(b[12:]))
}
