package dialect_test

import (
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
)

func TestPrefixedCallID(t *testing.T) {
	long := strings.Repeat("x", 80)
	for _, id := range []string{"", "call_", "c1", "toolu_01", "call_é", "call_a b", "call_" + long, long} {
		got := dialect.PrefixedCallID("call_", id)
		if !strings.HasPrefix(got, "call_") || len(got) > 64 || got == "call_" || got == id || got != dialect.PrefixedCallID("call_", id) {
			t.Errorf("%q becomes %q", id, got)
		}
		if again := dialect.PrefixedCallID("call_", got); again != got {
			t.Errorf("%q becomes %q", got, again)
		}
	}
	if got := dialect.PrefixedCallID("call_", "call_aZ0-_9"); got != "call_aZ0-_9" {
		t.Errorf("it becomes %q", got)
	}
}
