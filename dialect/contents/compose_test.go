package contents

import (
	"testing"

	"github.com/treeline-dev/treeline/session"
)

// Qwen Code sends a note instead of a file whose type is not said.
func TestPicturesAtAddressesHaveAType(t *testing.T) {
	for address, want := range map[string]string{
		"https://pond.example/lily.png":     "image/png",
		"https://pond.example/lily.JPG?w=9": "image/jpeg",
		"/pond/lily.webp":                   "image/webp",
		"file:///pond/lily.gif":             "image/gif",
		"https://pond.example/lily":         "image/png",
	} {
		list := FromParts([]session.Part{session.Image{Data: address}}, false)
		if got, want := string(list[0]), `{"fileData":{"fileUri":"`+address+`","mimeType":"`+want+`"}}`; len(list) != 1 || got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}
