package convert_test

import (
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/session"
)

// The program deletes reverted messages before it goes on. A session that went on elsewhere becomes a new one, which carries the others. Here
// the revert hides all of them, and the header of a linear copy carries them.
func TestConvertRevertedGoesOnElsewhere(t *testing.T) {
	t.Parallel()
	w, folder := inMemory(t)
	from := w.Format("opencode")
	const id = "ses_e1ff00000001ffeFixture0001xx"
	log := `{"session":{"id":"` + id + `","slug":"fix-1","directory":"/work/pond","title":"a title","version":"1.18.33","revert":{"messageID":"msg_1df000000001Fixtur00001abc"},"time_created":1772460000000}}
{"message":{"id":"msg_1df000000001Fixtur00001abc","session_id":"` + id + `","time_created":1772460001000,"time_updated":1772460001000,"data":{"role":"user","time":{"created":1772460001000}}},"part":[{"id":"prt_1df00000000100001abcdefghi","message_id":"msg_1df000000001Fixtur00001abc","session_id":"` + id + `","time_created":1,"time_updated":2,"data":{"type":"text","text":"How deep?"}}]}
`
	path := w.Put("in/"+id+".jsonl", log)
	for _, name := range agents {
		if name == "opencode" {
			continue
		}
		there := crossed(w, path, from, w.Format(name), folder())
		if there == nil {
			continue // there is no message, and no header for it
		}
		_, err := there.AppendText(t.Context(), session.RoleUser, "And wide?")
		w.Must(err)
		w.Must(there.Close())
		back := crossed(w, there.Path(), w.Format(name), from, folder())
		if back == nil {
			t.Errorf("from %s it is not converted", name)
			continue
		}
		if got, want := strings.TrimSpace(texts(w, back)), "user: And wide?"; got != want {
			t.Errorf("from %s it sends\n%s\nwant\n%s", name, got, want)
		}
		if now := bytesOf(w, back); !strings.Contains(now, "How deep?") {
			t.Errorf("from %s the old message is not in\n%s", name, now)
		}
		w.Must(back.Close())
	}
}
