package pi_test

import (
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect/pi"
)

func TestPeekTitle(t *testing.T) {
	const (
		plain   = `{"type":"session","version":3,"id":"5e55"}` + "\n"
		titled  = `{"type":"session","version":3,"id":"5e55","title":"header"}` + "\n"
		slot    = `{"type":"title","v":1,"title":"slot","pad":"  "}` + "\n"
		noSlot  = `{"type":"title","v":1,"title":"","pad":"  "}` + "\n"
		named   = `{"type":"session_info","id":"i","parentId":null,"name":" two\nlines "}` + "\n"
		unnamed = `{"type":"session_info","id":"j","parentId":null,"name":""}` + "\n"
		short   = `{"type":"compaction","id":"c","parentId":null,"summary":"s","shortSummary":"short"}` + "\n"
	)
	for _, tc := range []struct{ name, log, want string }{
		{"none", plain, ""},
		{"header", titled, "header"},
		{"the slot before the header", slot + titled, "slot"},
		{"an empty slot clears", noSlot + titled, ""},
		{"an empty slot hides the short summary too", noSlot + titled + short, ""},
		{"short summary", plain + short, "short"},
		{"header before short summary", titled + short, "header"},
		{"name", titled + named, "two lines"},
		{"name taken away", plain + named + unnamed, ""},
	} {
		if got := pi.Omp.Peek([]byte(tc.log), nil, true).Title; got != tc.want {
			t.Errorf("%s: %q, not %q", tc.name, got, tc.want)
		}
	}
}

// TestPeekLongPrompt: a prompt that goes on after the bytes at hand is shown as far as they reach.
func TestPeekLongPrompt(t *testing.T) {
	const head = `{"type":"session","version":3,"id":"5e55","cwd":"/garden"}` + "\n" +
		`{"type":"message","id":"a","parentId":null,"timestamp":"2026-02-16T10:21:00.000Z","message":{"role":"user","content":[{"type":"text","text":"Where do the tul`
	s := pi.Omp.Peek([]byte(head), []byte(`ips go?"}]}}`+"\n"+`{"type":"custom","id":"b","parentId":"a","timestamp":"2026-02-16T10:22:00.000Z"}`+"\n"), false)
	if s.Prompt != "Where do the tul" || s.Messages != -1 || s.CWD != "/garden" || !strings.Contains(s.Active.Text, "10:22") {
		t.Errorf(`%+v; want s.Prompt == "Where do the tul", s.Messages == -1, s.CWD == "/garden", strings.Contains(s.Active.Text, "10:22")`, s)
	}
	whole := pi.Omp.Peek([]byte(head+`ips go?"}]}}`), nil, true)
	if whole.Prompt != "Where do the tulips go?" || whole.Messages != 1 {
		t.Errorf(`%+v; want whole.Prompt == "Where do the tulips go?", whole.Messages == 1`, whole)
	}
}
