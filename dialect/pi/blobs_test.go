package pi_test

import (
	"errors"
	"testing"

	"github.com/treeline-dev/treeline/dialect/pi"
)

func TestResolveBlobs(t *testing.T) {
	get := func(ref string) ([]byte, error) {
		switch ref {
		case "blob:sha256:one":
			return []byte("hi"), nil
		case "blob:sha256:url":
			return []byte("data:image/png;base64,AAAA"), nil
		}
		return nil, errors.New("gone")
	}
	for _, tc := range []struct{ name, message, want string }{
		{"none", `{"role":"user","content":"x"}`, `{"role":"user","content":"x"}`},
		{"image", `{"content":[{"type":"image","data":"blob:sha256:one","mimeType":"image/png"}], "n":1.0}`, `{"content":[{"type":"image","data":"aGk=","mimeType":"image/png"}], "n":1.0}`},
		{"missing", `{"content":[ {"type":"image","data":"blob:sha256:gone"} ]}`, `{"content":[ {"type":"image","data":"blob:sha256:gone"} ]}`},
		{"one of two", `{"content":[{"type":"image","data":"blob:sha256:gone"},{"type":"image","data":"blob:sha256:one"}]}`, `{"content":[{"type":"image","data":"blob:sha256:gone"},{"type":"image","data":"aGk="}]}`},
		{"url", `{"content":[{"type":"input_image","image_url":"blob:sha256:url"}]}`, `{"content":[{"type":"input_image","image_url":"data:image/png;base64,AAAA"}]}`},
		{"url deep inside", `{"details":{"items":[[{"image_url":"blob:sha256:url"}]]}}`, `{"details":{"items":[[{"image_url":"data:image/png;base64,AAAA"}]]}}`},
		{"text", `{"content":[{"type":"text","text":"blob:sha256:one"}]}`, `{"content":[{"type":"text","text":"blob:sha256:one"}]}`},
		{"data that is no image", `{"content":[{"type":"file","data":"blob:sha256:one"}],"data":"blob:sha256:one"}`, `{"content":[{"type":"file","data":"blob:sha256:one"}],"data":"blob:sha256:one"}`},
	} {
		got, err := pi.Omp.ResolveBlobs([]byte(tc.message), get)
		if err != nil || string(got) != tc.want {
			t.Errorf("%s: %s, not %s (%v)", tc.name, got, tc.want, err)
		}
	}
}
