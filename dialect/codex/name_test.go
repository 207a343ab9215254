package codex

import (
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/session"
)

// TestNameIn: nameIn gives the same name as reading the whole file. It does not parse lines of other sessions.
func TestNameIn(t *testing.T) {
	file := []byte(strings.Join([]string{
		`{"id":"a1","thread_name":"first"}`, `{"id":"b2","thread_name":"of a1"}`, `{"id":"a1","thread_name":"second","updated_at":"x"} `, `{"id":"c3","thread_name":"a1"}`,
		`{"id":"a1","thread_name":7}`, `{"id":"a1","thread_na`, ``, `{"id":"d4","thread_name":""}`, `{"id":"e5","thread_name":"last"}`}, "\n"))
	all := Codex.Registered(file)
	for _, id := range []session.ID{"a1", "b2", "c3", "d4", "e5", "f6", "a", ""} {
		if got := nameIn(file, id); got != all[id] {
			t.Errorf("%s is %q, not %q", id, got, all[id])
		}
	}
	if all["a1"] != "second" || all["e5"] != "last" {
		t.Errorf("a1 is %q and e5 is %q, want second and last", all["a1"], all["e5"])
	}
	few := testing.AllocsPerRun(5, func() { nameIn([]byte(strings.Repeat(`{"id":"x","thread_name":"y"}`+"\n", 1000)), "a1") })
	if few > 10 {
		t.Errorf("%v allocations for the lines of others, want at most 10", few)
	}
}
