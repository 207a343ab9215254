package rawjson

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestRoom: strings equal those of Unquote until Reset, even if there are more than there is room for.
func TestRoom(t *testing.T) {
	var r Room
	for range 2 {
		r.Reset()
		var got, want []string
		for i := range 200 {
			for _, value := range []string{
				fmt.Sprintf(`"plain %d"`, i), fmt.Sprintf(`"%d \"quoted\"\n%s"`, i, strings.Repeat(`\t`, 100*i)), `"\ud83d\ude00"`, "\"\xff\"", `""`,
			} {
				s, ok := r.Unquote([]byte(value))
				plain, _ := Unquote([]byte(value))
				inside, same := r.Inside([]byte(value))
				if !ok || !same || string(inside) != plain {
					t.Fatalf("%s is a string, and inside is %q", value, inside)
				}
				got, want = append(got, s), append(want, plain)
			}
		}
		if !slices.Equal(got, want) {
			t.Error("a string changed while others were decoded")
		}
	}
	long := `"\n` + strings.Repeat("x", 2*roomSize) + `"`
	if s, ok := r.Unquote([]byte(long)); !ok || s != "\n"+long[3:len(long)-1] {
		t.Error("a string that is longer than the room is another")
	}
	if r.Trim(); cap(r.buf) > roomSize {
		t.Errorf("the room has %d bytes", cap(r.buf))
	}
	for _, value := range []string{``, `"`, `7`, `null`, `"a`, `"\x"`, `"\`} {
		if _, ok := r.Unquote([]byte(value)); ok {
			t.Errorf("%s is no string", value)
		}
	}
}
