package convert

import (
	"fmt"
	"testing"
)

// TestUnique: calls that all have one id get ids of their own. Trying all numbers for each call would take hours.
func TestUnique(t *testing.T) {
	b := casting{used: map[string]bool{"c-3": true}, tried: map[string]int{}}
	got := ""
	for range 300_000 {
		if name := b.unique("c"); len(b.used) < 6 {
			got += name + " "
		}
	}
	got += fmt.Sprint(len(b.used), " ", b.unique("d"))
	if want := "c c-2 c-4 c-5 300001 d"; got != want {
		t.Errorf("%s, not %s", got, want)
	}
}
