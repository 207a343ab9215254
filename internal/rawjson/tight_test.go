package rawjson_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/rawjson"
)

// If Tight reports true, Compact changes nothing; and Tight reports true for texts as programs write them.
func TestTight(t *testing.T) {
	long := `{"role":"user","content":"` + strings.Repeat("a b\\n", 3000) + `"}`
	for text, certain := range map[string]bool{
		`{"role":"user","content":"a b"}`: true, long: true, `[1,2.5,true,null,{"a":"b"}]`: true, `"a b"`: true,
		`{"a": 1}`: false, `{ "a":1}`: false, `{"a":1 }`: false, "[1,\n2]": false, `[1 ]`: false,
	} {
		var x rawjson.Text
		x.Reset([]byte(text))
		end, tight, err := x.Tight(0)
		if err != nil || end != len(text) {
			t.Errorf("%.40s: %d, %v; want no error, end == %v", text, end, err, len(text))
		}
		if tight != certain && len(text) < 8000 { // a long text may leave the window in between
			t.Errorf("%.40s: tight is %v", text, tight)
		}
		if tight && !bytes.Equal(rawjson.Compact([]byte(text)), []byte(text)) {
			t.Errorf("%.40s is called tight and is not", text)
		}
	}
	var x rawjson.Text
	x.Reset([]byte(`{"a":`))
	if _, tight, err := x.Tight(0); err == nil || tight {
		t.Errorf("tight is %v, %v for something that is not a value", tight, err)
	}
}
