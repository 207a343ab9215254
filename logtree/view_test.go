package logtree

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
)

// shown is a backend.ViewReader of a text. Beyond an offset it shows nothing.
type shown struct {
	backend.Reader
	text string
	most int64
	size *[]int64 // the sizes of the windows that were asked for
}

func (s shown) View(from, size int64, look func([]byte) error) error {
	if from >= s.most {
		return errors.ErrUnsupported
	}
	if s.size != nil {
		*s.size = append(*s.size, size)
	}
	return look([]byte(s.text[from : from+size]))
}

// Whatever the window size, the lines are the same. View returns the offset of what it could not show.
func TestView(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"a\nbb\n\nccc\r\ndddddddddd\ne\n", "a\ntorn", "\n\n"} {
		var want []string
		for r := range splitLines([]byte(text), 0) {
			want = append(want, fmt.Sprintf("%d %d %q %t", r.Line, r.Offset, r.Data, r.Torn))
		}
		for window := range len(text) + 1 {
			var got []string
			take := func(r dialect.Record) {
				got = append(got, fmt.Sprintf("%d %d %q %t", r.Line, r.Offset, r.Data, r.Torn))
			}
			seen, line, err := view(t.Context(), shown{text: text, most: 99}, int64(len(text)), int64(window+1), take)
			if err != nil || seen != int64(len(text)) || line != len(want) || strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("%q by %d: %q up to %d, line %d, %v", text, window+1, got, seen, line, err)
			}
		}
	}
	seen, line, err := view(t.Context(), shown{text: "a\nbb\nc\n", most: 4}, 7, 3, func(dialect.Record) {})
	if !errors.Is(err, errors.ErrUnsupported) || seen != 5 || line != 2 {
		t.Errorf("shown up to %d, line %d, %v", seen, line, err)
	}
}

// The window grows only for a long line, not for the lines that follow it.
func TestViewOfLongLine(t *testing.T) {
	t.Parallel()
	var size []int64
	text := "a\n" + strings.Repeat("b", 20) + "\n" + strings.Repeat("c\n", 20)
	if _, _, err := view(t.Context(), shown{text: text, most: 99, size: &size}, int64(len(text)), 4, func(dialect.Record) {}); err != nil {
		t.Fatal(err)
	}
	if want := []int64{4, 4, 8, 16, 32, 4, 4, 4, 4, 4, 4, 4}; !slices.Equal(size[:min(len(size), len(want))], want) {
		t.Errorf("shown %d bytes at a time, want %d", size, want)
	}
}
