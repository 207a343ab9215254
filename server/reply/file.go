package reply

import (
	"bytes"
	"strings"
)

// images are the pictures that a browser may show. SVG is not one of them: such a document could run scripts.
var images = map[string]string{
	"\x89PNG\r\n\x1a\n": "image/png",
	"\xff\xd8\xff":      "image/jpeg",
	"GIF87a":            "image/gif",
	"GIF89a":            "image/gif",
}

// ImageType returns the media type of a picture by its first bytes, or "" for anything else. The type that the entry states is ignored.
func ImageType(data []byte) string {
	for magic, kind := range images {
		if bytes.HasPrefix(data, []byte(magic)) {
			return kind
		}
	}
	if len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP" {
		return "image/webp"
	}
	return ""
}

// FileName makes a file name from an id that is valid on every system.
func FileName(prefix, id string) string {
	safe := strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-' {
			return c
		}
		return '-'
	}, id)
	return prefix + safe[:min(len(safe), 60)]
}
