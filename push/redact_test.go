package push_test

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/push"
)

// A redacted copy has a record for each record, without the secrets in that record, and is extended like an exact one.
func TestPushRedacted(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	pathA := d.log(a, 1)
	secret := entry("aaaa0001", "aaaa0000", "key "+key)
	d.AppendPlain(pathA, secret+"AWS_ACCESS_KEY_ID="+key+"\n\n")
	redacted := func() string {
		t.Helper()
		_, r := d.push(push.PushOptions{Redact: true})
		if len(r.Problems) > 0 {
			t.Error(r.Problems)
		}
		return d.there()[origin+"/omp/-garden/"+file(a)]
	}
	const mark = "[redacted: aws access key]"
	want := text(d.CWD, a, 1) + strings.Replace(secret, key, mark, 1) + "AWS_ACCESS_KEY_ID=" + mark + "\n\n"
	if diff := difftest.Diff(want, redacted()); diff != "" {
		t.Fatal(diff)
	}
	d.AppendPlain(pathA, secret)
	want += strings.Replace(secret, key, mark, 1)
	if diff := difftest.Diff(want, redacted()); diff != "" {
		t.Fatal(diff)
	}
	// Half a line waits, because it may have half a key.
	d.AppendPlain(pathA, `{"type":"custom","key":"`+key[:12])
	if diff := difftest.Diff(want, redacted()); diff != "" {
		t.Fatal(diff)
	}
	d.AppendPlain(pathA, key[12:]+`"}`+"\n")
	want += `{"type":"custom","key":"` + mark + `"}` + "\n"
	if diff := difftest.Diff(want, redacted()); diff != "" {
		t.Fatal(diff)
	}
	// If the half line stays, only the fact that it exists is sent; once it is whole, the copy is made again.
	d.AppendPlain(pathA, `{"key":"`+key[:12])
	old := time.Now().Add(-time.Hour)
	d.Must(os.Chtimes(pathA, old, old))
	if diff := difftest.Diff(want+"[redacted: unfinished record]", redacted()); diff != "" {
		t.Fatal(diff)
	}
	if _, r := d.push(push.PushOptions{Redact: true}); r.Logs[push.Unchanged] != 1 {
		t.Errorf("%v; want r.Logs[push.Unchanged] == 1", r.Logs)
	}
	d.AppendPlain(pathA, `"}`+"\n")
	want += `{"key":"` + key[:12] + `"}` + "\n"
	if diff := difftest.Diff(want, redacted()); diff != "" {
		t.Fatal(diff)
	}
	// Watermarks count local bytes: they are rebuilt from the mark, and nothing is sent again.
	d.Must(os.RemoveAll(d.State))
	if _, r := d.push(push.PushOptions{Redact: true}); r.Logs[push.Unchanged] != 1 || r.Bytes != 0 {
		t.Errorf("%+v; want r.Logs[push.Unchanged] == 1, r.Bytes == 0", r)
	}
	// The copy becomes exact on request, and redacted again.
	d.pushes(map[string]push.Fate{file(a): push.Replaced})
	d.equal()
	if diff := difftest.Diff(want, redacted()); diff != "" {
		t.Fatal(diff)
	}
}

// The mark of a redacted copy says so.
func TestRedactedMark(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.log(a, 1)
	d.push(push.PushOptions{Redact: true})
	for l, err := range d.archive.Marks(d.Context(), "") {
		d.Must(err)
		if !strings.Contains(l.Mark, `"redacted":1`) {
			t.Errorf("the mark is %s", l.Mark)
		}
	}
}

// Images are sent unchanged; any other blob with a secret is not sent.
func TestPushRedactedBlobs(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	store := blob.NewDir(d.At(".omp/agent/blobs"))
	var refs []string
	for _, content := range []string{"\x89PNG\r\n\x1a\n" + key, "a long text", "a text with " + key} {
		ref, err := store.Put(d.Context(), []byte(content))
		d.Must(err)
		refs = append(refs, ref.String())
	}
	d.AppendPlain(d.log(a, 1), entry("aaaa0001", "aaaa0000", strings.Join(refs, " ")))
	r, err := d.copier().Push(d.Context(), push.Target{Backend: d.archive}, push.PushOptions{Redact: true})
	d.Must(err)
	if r.Blobs != 2 || len(r.Problems) != 1 || !strings.Contains(r.Problems[0].Error(), refs[2]) {
		t.Errorf("%d blobs, problems %v", r.Blobs, r.Problems)
	}
}

// What was written elsewhere to a redacted copy of a format without branches becomes a session of its own. It includes the redacted
// records, so it is not pulled to the machine that they come from.
func TestRedactedFork(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	pathA := d.log(a, 1)
	d.AppendPlain(pathA, entry("aaaa0001", "aaaa0000", "the key is "+key))
	d.push(push.PushOptions{Redact: true})
	d.append(file(a), entry("aaaa0002", "aaaa0001", "theirs"))
	d.AppendPlain(pathA, entry("aaaa0002", "aaaa0001", "ours, with the same id"))
	if got, _ := d.push(push.PushOptions{Redact: true}); got[file(a)] != push.Forked {
		t.Fatal(got)
	}
	for name, fate := range d.pull(push.PullOptions{}) {
		if name == file(a) || fate != push.Withheld {
			t.Errorf("%s: %s; want name != file(a), fate == push.Withheld", name, fate)
		}
	}
	if list, err := os.ReadDir(d.At(garden)); err != nil || len(list) != 1 {
		t.Errorf("%v, %v; want no error, len(list) == 1", list, err)
	}
}

// A copy may have branches from elsewhere that were never pulled. If the copy must be made again, because of other redaction rules or
// because its original was rewritten, the branches are kept in a session of its own.
func TestReplacedCopyKeepsBranches(t *testing.T) {
	t.Parallel()
	for _, rewritten := range []bool{false, true} {
		d := newDesk(t)
		pathA := d.log(a, 1)
		d.push(push.PushOptions{Redact: true})
		d.append(file(a), entry("aaaa0002", "aaaa0000", "said elsewhere"))
		d.AppendPlain(pathA, entry("aaaa0001", "aaaa0000", "said here"))
		if got, _ := d.push(push.PushOptions{Redact: true}); got[file(a)] != push.Branched {
			t.Fatal(got)
		}
		if rewritten {
			d.Must(os.WriteFile(pathA, []byte(text(d.CWD, a, 1)+entry("aaaa0009", "aaaa0000", "said anew")), 0o600))
		}
		if got, _ := d.push(push.PushOptions{Redact: rewritten}); got[file(a)] != push.Forked {
			t.Errorf("%v; want got[file(a)] == push.Forked", got)
		}
		found := 0
		for name, content := range d.there() {
			if strings.Contains(content, "said elsewhere") && !strings.HasSuffix(name, "/"+file(a)) {
				found++
			}
		}
		if found != 1 {
			t.Errorf("%d forks have what was written elsewhere", found)
		}
		if got, _ := d.push(push.PushOptions{Redact: rewritten}); len(got) > 0 {
			t.Errorf("pushed again: %v", got)
		}
	}
}

// A file that does not consist of lines is redacted as one text, however it is sent: a key may span several lines.
func TestRedactedFile(t *testing.T) {
	t.Parallel()
	const id = "3f9a2c1b-0000-4000-8000-000000000001"
	rnd := rand.New(rand.NewPCG(1, 2))
	var lines []string
	for range 20 {
		line := make([]byte, 64)
		for i := range line {
			line[i] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[rnd.IntN(64)]
		}
		lines = append(lines, string(line))
	}
	kind := "RSA PRIVATE" + " KEY-----"
	content := strings.Repeat("output\n", 60) + "-----BEGIN " + kind + "\n" + strings.Join(lines, "\n") + "\n-----END " + kind + "\n" + strings.Repeat("output\n", 60)
	d := newDesk(t)
	d.step = 600
	d.Put(".claude/projects/-garden/"+id+".jsonl", `{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"`+id+`","cwd":"/garden","timestamp":"2026-02-16T10:00:00.000Z","message":{"role":"user","content":"hello"}}`+"\n")
	d.Put(".claude/projects/-garden/"+id+"/tool-results/x.txt", content)
	d.push(push.PushOptions{Redact: true})
	name := origin + "/claude/-garden/" + id + "/tool-results/x.txt"
	got := d.there()[name]
	if !strings.HasPrefix(got, "output\n") || !strings.HasSuffix(got, "output\n") {
		t.Errorf("the copy is %q", got)
	}
	for n, line := range lines {
		if strings.Contains(got, line) {
			t.Errorf("the copy has line %d of the key", n)
		}
	}
	d.Must(os.RemoveAll(d.State))
	if fates, _ := d.push(push.PushOptions{Redact: true}); len(fates) > 0 {
		t.Errorf("pushed again: %v", fates)
	}
}
