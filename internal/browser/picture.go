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

// fewColours reduces a PNG to 256 colours: the most frequent one of each of 128 shades, and the most frequent of the others. The rest, at
// the edges of letters, becomes the nearest of these. That halves the size of a page of text.
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
	order := func(a, b color.Color) int { // the same picture must become the same file
		ar, ag, ab, _ := a.RGBA()
		br, bg, bb, _ := b.RGBA()
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(ar, br), cmp.Compare(ag, bg), cmp.Compare(ab, bb))
	}
	colours := slices.SortedFunc(maps.Keys(counts), order)
	type shade struct{ r, g, b uint32 }
	shades := map[shade]int{}
	rank := func(c color.Color) int { // 0 for the first of a shade
		r, g, b, _ := c.RGBA()
		s := shade{r >> 12, g >> 12, b >> 12}
		shades[s]++
		if shades[s] == 1 && len(shades) <= 128 {
			return 0
		}
		return 1
	}
	ranks := map[color.Color]int{}
	for _, c := range colours {
		ranks[c] = rank(c)
	}
	slices.SortStableFunc(colours, func(a, b color.Color) int { return ranks[a] - ranks[b] })
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
