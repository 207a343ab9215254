package feed_test

import (
	"fmt"
	"testing"

	"github.com/treeline-dev/treeline/server/feed"
)

// TestFeed: a reader gets every event once and in order, a few at a time. A reader that is so far behind that events were dropped is told
// so.
func TestFeed(t *testing.T) {
	t.Parallel()
	f := feed.New("a")
	first := f.Last()
	at, ok := f.Parse(first)
	if !ok || at != 0 {
		t.Fatalf("%s is number %d, %v; want 0 of this log", first, at, ok)
	}
	if _, ok := f.Parse("b-0"); ok {
		t.Error("b-0 is of this log, want it of another one")
	}
	_, wake, _ := f.After(at)
	const many = 2000
	for i := range many {
		f.Add(feed.Event{Path: fmt.Sprint(i)})
	}
	<-wake
	for i := 0; i < many; {
		list, _, lost := f.After(at)
		if lost || len(list) == 0 {
			t.Fatalf("after %d of %d: %d events, lost: %v; want more, and none lost", i, many, len(list), lost)
		}
		for _, e := range list {
			if e.Path != fmt.Sprint(i) {
				t.Fatalf("event %s in the place %d, want the order in which they were added", e.Path, i)
			}
			at = e.Seq
			i++
		}
	}
	if list, _, lost := f.After(at); lost || len(list) > 0 || f.Last() != f.ID(at) {
		t.Errorf("after the last: %d events, lost: %v, the last is %s; want none, and %s", len(list), lost, f.Last(), f.ID(at))
	}
	for range many {
		f.Add(feed.Event{})
	}
	if _, _, lost := f.After(0); !lost {
		t.Error("the first of 4,000 events is still there, want a bounded log")
	}
	if _, _, lost := f.After(at + many + 1); !lost {
		t.Error("an event that has not happened is known, want it lost: the client has it from elsewhere")
	}
	big := feed.New("b")
	for range 3 {
		big.Add(feed.Event{Data: make([]byte, 3<<20)})
	}
	if list, _, lost := big.After(2); lost || len(list) != 1 {
		t.Errorf("of 9 MB: %d events, lost: %v; want the last one", len(list), lost)
	}
	if _, _, lost := big.After(0); !lost {
		t.Error("9 MB of events are kept, want at most 4 MB")
	}
}
