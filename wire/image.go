package wire

import (
	"strings"

	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/session"
)

// image describes an image without its bytes.
type image struct {
	mime string
	size int64  // -1 if unknown
	blob string // the reference, if the bytes are a blob
	url  string
}

// describeImage computes the size from the length of the base64 text: four characters are three bytes.
func describeImage(p session.Image, blobSize func(ref string) int64) image {
	i := image{mime: p.MIME, size: -1}
	data := p.Data
	switch {
	case strings.HasPrefix(data, blob.Prefix):
		i.blob, i.size = data, blobSize(data)
		return i
	case strings.HasPrefix(data, "data:"):
		head, rest, _ := strings.Cut(data, ",")
		if i.mime == "" {
			i.mime, _, _ = strings.Cut(strings.TrimPrefix(head, "data:"), ";")
		}
		data = rest
	case strings.Contains(data, "://"):
		i.url = data
		return i
	}
	data = strings.TrimRight(data, "=")
	i.size = int64(len(data)) * 3 / 4
	return i
}

// String is the image in a transcript.
func (i image) String() string {
	words := []string{"image " + orElse(i.mime, "of unknown type")}
	if i.size >= 0 {
		words = append(words, Size(i.size))
	}
	if i.blob != "" {
		name := strings.TrimPrefix(i.blob, blob.Prefix)
		name = "blob " + name[:min(len(name), 8)]
		if i.size < 0 {
			name += " cannot be read"
		}
		words = append(words, name)
	}
	if i.url != "" {
		words = append(words, i.url)
	}
	return "[" + screen.OneLine(strings.Join(words, ", "), 120) + "]"
}
