package browser

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"maps"
	"slices"
)

// fewColours reduces a PNG to its 256 most frequent colours; pixels of others, at the edges of letters, get the nearest of these.
// That halves the size of a page of text.
func fewColours(picture []byte) ([]byte, error) {
	from, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		return nil, err
	}
	box, counts := from.Bounds(), map[color.Color]int{}
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			counts[from.At(x, y)]++
		}
	}
	order := func(a, b color.Color) int { // the same picture gives the same file
		ar, ag, ab, _ := a.RGBA()
		br, bg, bb, _ := b.RGBA()
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(ar, br), cmp.Compare(ag, bg), cmp.Compare(ab, bb))
	}
	colours := slices.SortedFunc(maps.Keys(counts), order)
	to, index := image.NewPaletted(box, colours[:min(256, len(colours))]), map[color.Color]uint8{}
	for _, c := range colours {
		index[c] = uint8(to.Palette.Index(c))
	}
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			to.SetColorIndex(x, y, index[from.At(x, y)])
		}
	}
	var b bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, to)
	return b.Bytes(), err
}
