package pi

import (
	"bytes"
	"encoding/base64"

	"github.com/treeline-dev/treeline/internal/rawjson"
)

var blobPrefix = []byte(`"blob:sha256:`)

// ResolveBlobs puts the images that omp stores in blobs back into a message: the data of image blocks in base64, data URLs
// whole. A reference whose blob is missing stays, as in the programs; get can report which were missing.
func (d *Dialect) ResolveBlobs(m []byte, get func(ref string) ([]byte, error)) ([]byte, error) {
	if !bytes.Contains(m, blobPrefix) {
		return m, nil
	}
	return resolve(m, get, false, 0), nil
}

// resolve walks down a value; inContent is set for the elements of an array under the key "content". Most values have no
// reference, which one search through the bytes shows.
func resolve(value []byte, get func(string) ([]byte, error), inContent bool, depth int) []byte {
	if depth > deepest || !bytes.Contains(value, blobPrefix) {
		return value
	}
	switch {
	case rawjson.IsArray(value):
		return rawjson.MapElements(value, func(e []byte) []byte { return resolve(e, get, inContent, depth+1) })
	case rawjson.IsObject(value):
		image := inContent && rawjson.Str(value, "type") == "image"
		return rawjson.MapMembers(value, func(key string, member []byte) []byte {
			ref, isString := rawjson.Unquote(member)
			switch {
			case !isString:
				return resolve(member, get, key == "content", depth+1)
			case !bytes.HasPrefix(member, blobPrefix):
			// omp makes blobs only of images in a content; elsewhere a member with that name is something else
			case key == "data" && image:
				if data, err := get(ref); err == nil {
					return rawjson.Quote(base64.StdEncoding.EncodeToString(data))
				}
			case key == "image_url":
				if data, err := get(ref); err == nil {
					return rawjson.Quote(string(data))
				}
			}
			return member
		})
	}
	return value
}
