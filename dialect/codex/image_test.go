package codex

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"
)

// pictures returns one picture in three formats.
func pictures(t *testing.T) (p, g, j []byte) {
	t.Helper()
	im := image.NewPaletted(image.Rect(0, 0, 40, 40), color.Palette{color.Black, color.White, color.RGBA{9, 80, 200, 255}})
	for i := range im.Pix {
		im.Pix[i] = uint8(i * i / 7 % 3)
	}
	var bp, bg, bj bytes.Buffer
	for _, err := range []error{png.Encode(&bp, im), gif.Encode(&bg, im, nil), jpeg.Encode(&bj, im, nil)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return bp.Bytes(), bg.Bytes(), bj.Bytes()
}

// The answers are those of Codex 0.166: it sent the picture, or a note that it could not be processed.
func TestIsImage(t *testing.T) {
	p, g, j := pictures(t)
	idat, scan := bytes.Index(p, []byte("IDAT"))-4, bytes.Index(j, []byte{0xff, 0xda})
	webp := []byte("RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00")
	flip := func(at int) []byte {
		b := bytes.Clone(p)
		b[at] ^= 1
		return b
	}
	for _, c := range []struct {
		name string
		raw  []byte
		want bool
	}{
		{"png", p, true}, {"gif", g, true}, {"jpeg", j, true}, {"webp", webp, true},
		{"nothing", nil, false},
		{"a png's first 8 bytes", p[:8], false}, {"16", p[:16], false}, {"33", p[:33], false}, {"half", p[:len(p)/2], false},
		{"without data", append(bytes.Clone(p[:idat]), p[len(p)-12:]...), false},
		{"without its end", p[:len(p)-12], false}, {"without the checksum of its end", p[:len(p)-4], true},
		{"with something behind it", append(bytes.Clone(p), "garbage"...), true},
		{"wrong checksum of the header", flip(30), false}, {"of the data", flip(len(p) - 14), false}, {"of the end", flip(len(p) - 1), true},
		{"png of zeros", append(bytes.Clone(p[:8]), make([]byte, 32)...), false},
		{"a gif's first 4 bytes", g[:4], false}, {"13", g[:13], false}, {"30", g[:30], false}, {"half", g[:len(g)/2], false},
		{"cut in a block", g[:len(g)-20], false}, {"without its last block", g[:len(g)-2], true}, {"without its end", g[:len(g)-1], true},
		{"a jpeg's first 3 bytes", j[:3], false}, {"100", j[:100], false}, {"cut in its pixels", j[:scan+25], true}, {"half", j[:len(j)/2], true},
		{"a webp's first 12 bytes", webp[:12], false}, {"20", webp[:20], false},
		{"a sound", append([]byte("RIFF\x24\x00\x00\x00WAVEfmt "), make([]byte, 28)...), false},
		{"a bitmap", append([]byte("BM"), make([]byte, 60)...), false},
	} {
		if got := isImage("image/png;base64," + base64.StdEncoding.EncodeToString(c.raw)); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}

	const whole = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	for url, want := range map[string]bool{
		"image/png;base64," + whole:                                     true,
		"image/png;Base64," + whole:                                     true,
		"image/png;x=1;base64," + whole:                                 true,
		"image/png;base64;x=1," + whole:                                 true,
		";base64," + whole:                                              true,
		"base64," + whole:                                               true,
		"text/plain;base64," + whole:                                    true,
		"image/png," + whole:                                            false,
		"image/png; base64," + whole:                                    false,
		`image/png;x="a,b";base64,` + whole:                             false,
		"image/png;base64, " + whole:                                    false,
		"image/png;base64," + whole + "\n":                              false,
		"image/png;base64," + whole[:20] + "\r\n" + whole[20:]:          false,
		"image/png;base64," + strings.TrimRight(whole, "="):             false,
		"image/png;base64," + strings.Replace(whole, "gg==", "gh==", 1): false,
		"image/png;base64":                                              false,
	} {
		if got := isImage(url); got != want {
			t.Errorf("%q: %v, want %v", url, got, want)
		}
	}
}

// Each beginning of a picture that Go decodes is an image, and none makes it fail.
func TestBeginningsOfImages(t *testing.T) {
	p, g, j := pictures(t)
	for _, raw := range [][]byte{p, g, j} {
		for n := range len(raw) + 1 {
			is := isImage("base64," + base64.StdEncoding.EncodeToString(raw[:n]))
			if _, _, err := image.Decode(bytes.NewReader(raw[:n])); err == nil && !is {
				t.Errorf("%.3q of %d bytes is not taken for an image", raw, n)
			}
		}
	}
}
