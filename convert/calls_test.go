package convert

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
)

// The open calls of a branch do not change those of another one, also if an id occurs twice.
func TestOpenCalls(t *testing.T) {
	ids := []string{"a", "b", "a"}
	for i := range 300 {
		ids = append(ids, fmt.Sprint(i))
	}
	all := openOf(7, ids)
	some := all
	for _, step := range []struct {
		id string
		ok bool
	}{{"a", true}, {"x", false}, {"299", true}, {"17", true}, {"17", false}} {
		rest, ok := some.take(step.id)
		if ok != step.ok {
			t.Errorf("take %s: %v", step.id, ok)
		}
		some = rest
	}
	want := slices.DeleteFunc(slices.Clone(ids[1:]), func(id string) bool { return id == "299" || id == "17" })
	if got := some.ids(); !slices.Equal(got, want) || some.left != len(want) || some.at != 7 {
		t.Errorf("%d are left at %d: %v; want %d: %v", some.left, some.at, got, len(want), want)
	}
	if got := all.ids(); !slices.Equal(got, ids) || all.left != len(ids) {
		t.Errorf("the other branch has %d: %v; want %v", all.left, got, ids)
	}
	for _, id := range want {
		rest, ok := some.take(id)
		if some = rest; !ok {
			t.Errorf("%s is not open", id)
		}
	}
	if rest, ok := some.take("a"); ok || rest.left != 0 || rest.ids() != nil {
		t.Errorf("in the end %d are left", rest.left)
	}
}

// The memory for the results of very many calls, the last call first, grows with their number and not with its square.
func TestOpenCallsReversed(t *testing.T) {
	const n = 20_000
	var ids []string
	for i := range n {
		ids = append(ids, fmt.Sprint(i))
	}
	o := openOf(0, ids)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, id := range slices.Backward(ids) {
		o, _ = o.take(id)
	}
	runtime.ReadMemStats(&after)
	if used := (after.TotalAlloc - before.TotalAlloc) / n; o.left > 0 || used > 4096 {
		t.Errorf("%d are left, %d bytes were allocated for each", o.left, used)
	}
}
