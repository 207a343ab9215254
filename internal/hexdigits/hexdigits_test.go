package hexdigits

import (
	"fmt"
	"testing"
)

func TestOf(t *testing.T) {
	for _, n := range []uint32{0, 9, 10, 15, 16, 0x09af_fa90, 0x1234_5678, 0x9abc_def0, 1<<32 - 1} {
		if got := Of(n); string(got[:]) != fmt.Sprintf("%08x", n) {
			t.Errorf("%08x is spelled %s", n, got)
		}
	}
}
