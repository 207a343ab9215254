package rawjson

import "testing"

// Without vectors everything works the same.
func TestWithoutVectors(t *testing.T) {
	defer func(was bool) { haveAVX2 = was }(haveAVX2)
	haveAVX2 = false
	TestValidAgreesWithEncodingJSON(t)
	checkRandom(t, 2000)
	TestUnquoteLong(t)
}
