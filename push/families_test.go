package push_test

import (
	"os"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/push"
)

// Files of a session's folder are copied with it. Logs that are empty, that do not consist of lines, or that the agent compressed, are
// copied, too.
func TestPushFamilies(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	const id = "0199aaaa-0000-4000-8000-000000000001"
	claude := ".claude/projects/-garden/"
	line := `{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"` + id + `","cwd":"/garden","timestamp":"2026-02-16T10:00:00.000Z","message":{"role":"user","content":"hello"}}` + "\n"
	long := "a long output\n[INFO] key " + key + "\nthe end"
	d.Put(claude+id+".jsonl", line)
	d.Put(claude+id+"/tool-results/x.txt", long)
	d.Put(claude+"unrelated.txt", "not a session's")
	d.Put(garden+file(b), "")
	rollout := `{"timestamp":"2026-02-16T10:00:00.000Z","type":"session_meta","payload":{"id":"` + id + `","timestamp":"2026-02-16T10:00:00.000Z","cwd":"/garden","originator":"codex","cli_version":"0.1"}}` + "\n"
	codex := ".codex/sessions/2026/02/16/rollout-2026-02-16T10-00-00-" + id + ".jsonl"
	d.Put(codex, rollout)
	d.push(push.PushOptions{})
	want := map[string]string{
		origin + "/claude/-garden/" + id + ".jsonl":                        line,
		origin + "/claude/-garden/" + id + "/tool-results/x.txt":           long,
		origin + "/omp/-garden/" + file(b):                                 "",
		origin + "/codex/" + strings.TrimPrefix(codex, ".codex/sessions/"): rollout,
	}
	if diff := difftest.Diff(want, d.there()); diff != "" {
		t.Fatal(diff)
	}
	// Codex compresses its old sessions. The compressed log counts as the same log.
	e, err := zstd.NewWriter(nil)
	d.Must(err)
	d.Put(codex+".zst", string(e.EncodeAll([]byte(rollout), nil)))
	d.Must(os.Remove(d.At(codex)))
	d.pushes(map[string]push.Fate{})
	d.pulls(map[string]push.Fate{})
	// A text is redacted as a whole.
	d.push(push.PushOptions{Redact: true})
	want[origin+"/claude/-garden/"+id+"/tool-results/x.txt"] = strings.Replace(long, key, "[redacted: aws access key]", 1)
	if diff := difftest.Diff(want, d.there()); diff != "" {
		t.Fatal(diff)
	}
	d.push(push.PushOptions{})
	o := d.beside(t)
	o.pull(push.PullOptions{Origins: []string{"laptop"}})
	o.holds(o.At("pulled/"+origin+"/claude/projects/-garden/"+id+"/tool-results/x.txt"), long)
	// All logs of a source are gone, so its folder may be missing.
	d.log(a, 1)
	d.push(push.PushOptions{})
	d.Must(os.RemoveAll(d.At(".omp")))
	r, err := d.copier().Push(d.Context(), d.target(), push.PushOptions{Deletions: true})
	if err != nil || len(r.Problems) != 1 || r.Logs[push.Removed] != 0 {
		t.Errorf("%+v, %v; want no error, len(r.Problems) == 1, r.Logs[push.Removed] == 0", r, err)
	}
}
