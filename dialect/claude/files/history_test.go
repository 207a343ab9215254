package files

import "testing"

// Pasted texts are put back in any order, wherever their mark occurs.
func TestPasted(t *testing.T) {
	const line = `{"display":"[Pasted text #12 +2 lines] and [Pasted text #1 +9 lines], [Pasted text #1 +9 lines] [Pasted text #1",` +
		`"pastedContents":{"1":{"type":"text","content":"one"},"12":{"type":"text","content":"twelve"}}}`
	typed, ok := Layout{}.ReadTyped([]byte(line))
	if want := "twelve and one, one [Pasted text #1"; !ok || typed.Text != want {
		t.Errorf("%q, not %q", typed.Text, want)
	}
}
