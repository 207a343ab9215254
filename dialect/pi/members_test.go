package pi_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/pi"
)

// TestManyMembers has records of some megabytes with very many members to change. Quadratic code would take an hour.
func TestManyMembers(t *testing.T) {
	t.Parallel()
	const n = 100_000
	const url, ref = "data:image/png;base64,AAAA", "blob:sha256:0000000000000000000000000000000000000000000000000000000000000000"
	var members, pointers strings.Builder
	for i := range n {
		fmt.Fprintf(&members, `"k%d":{"image_url":"%s"},`, i, url)
		fmt.Fprintf(&pointers, `"/x%d":"%s",`, i, ref)
	}
	record := []byte(`{"type":"message","id":"a","message":{` + members.String() + `"z":1}}`)
	kept, err := pi.Omp.Persist(record, dialect.PersistOptions{Put: func([]byte) (string, error) { return ref, nil }})
	if got := bytes.Count(kept, []byte(ref)); err != nil || got != n || bytes.Contains(kept, []byte(url)) {
		t.Errorf("%d pictures are blobs, %v; want all %d", got, err, n)
	}
	back, err := pi.Omp.ResolveBlobs(kept, func(string) ([]byte, error) { return []byte(url), nil })
	if err != nil || !bytes.Equal(back, record) {
		t.Errorf("%d bytes came back, %v; want the %d bytes of the record", len(back), err, len(record))
	}
	record = []byte(`{"type":"message","id":"a","treelineOverflow":{` + pointers.String() + `"/z":""}}`)
	if got := pi.Omp.Whole(record, func(string) ([]byte, error) { return nil, nil }); !bytes.Equal(got, record) {
		t.Error("a record without a string that was cut became another; want the same")
	}
}
