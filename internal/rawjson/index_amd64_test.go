package rawjson

import (
	"bytes"
	"testing"
)

// Without vectors everything works the same.
func TestWithoutVectors(t *testing.T) {
	defer func(was bool) { haveAVX2 = was }(haveAVX2)
	haveAVX2 = false
	TestValidAgreesWithEncodingJSON(t)
	checkRandom(t, 2000)
	TestUnquoteLong(t)
}

// Bytes that are not ASCII are found wherever they stand in a text, and a text of ASCII alone has none.
func TestASCII(t *testing.T) {
	if !haveAVX2 {
		t.Log("the portable code never says that a text is ASCII")
		return
	}
	for _, length := range []int{2, 31, 63, 64, 65, 130, window, window + 1, 2*window + 70} {
		b := append(append([]byte{'"'}, bytes.Repeat([]byte{'a'}, length-2)...), '"')
		ascii := func() bool {
			var x Text
			x.Reset(b)
			if _, _, err := x.Tight(0); err != nil {
				t.Fatal(err)
			}
			return x.ASCII()
		}
		if !ascii() {
			t.Errorf("a text of %d letters is not called ASCII", length)
		}
		for i := 1; i < length-1; i += max(1, length/100) {
			b[i] = 0x80
			if ascii() {
				t.Errorf("byte %d of %d is not seen", i, length)
			}
			b[i] = 'a'
		}
	}
}
