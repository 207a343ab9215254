package transcript

import (
	"fmt"
	"testing"

	"github.com/treeline-dev/treeline/session"
)

// Blocks are made only of the messages in the window, and of large ones at once.
func TestModelBlocksMade(t *testing.T) {
	for _, test := range []struct {
		name  string
		r     Request
		bytes int
		made  int
	}{
		{"end", Request{Limit: 10}, 50, 10},
		{"first", Request{Limit: 10, First: true}, 50, 10},
		{"before", Request{Limit: 10, Before: "500"}, 50, 10},
		{"around", Request{Limit: 10, Around: "500"}, 50, 10},
		{"large ones at the end", Request{Limit: 10}, 500, 1000},
		{"large ones at the beginning", Request{Limit: 10, First: true}, 500, 10},
	} {
		anchor := noRow
		if test.r.Before != "" || test.r.Around != "" {
			anchor = row{500, 0}
		}
		s, made := newSlide(test.r, anchor), 0
		s.most, s.large = 4*test.r.Limit, 100
		for i := range int32(1000) {
			s.put(row{i, 0}, test.bytes, func() Block {
				made++
				return Block{ID: session.EntryID(fmt.Sprint(i))}
			})
		}
		for _, h := range s.blocks {
			if b := h.block(); b.ID != session.EntryID(fmt.Sprint(h.row.entry)) {
				t.Errorf("%s: the block of entry %d is that of %s", test.name, h.row.entry, b.ID)
			}
		}
		if made != test.made || len(s.blocks) != 10 {
			t.Errorf("%s: %d blocks made, %d in the window; want %d and 10", test.name, made, len(s.blocks), test.made)
		}
	}
}
