package export

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/store"
)

// escapedAll spells every character of a text as \uXXXX.
func escapedAll(text string) string {
	var b strings.Builder
	for _, r := range text {
		fmt.Fprintf(&b, `\u%04x`, r)
	}
	return b.String()
}

// TestNothingHides: neither escapes, nor the project's path, nor names of members, nor text around a known key preserve a secret or a
// hidden text in an export.
func TestNothingHides(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	dir := filepath.Join(t.TempDir(), "acme-corp")
	w.Must(os.Mkdir(dir, 0o700))
	path := filepath.Join(dir, "session.jsonl")
	said := func(id, parent, text string) string {
		return `{"type":"message","id":"` + id + `","parentId":"` + parent + `","timestamp":"2026-02-16T10:21:00.000Z","message":{"role":"user","content":"` + text + `"}}`
	}
	log := world.Log("0199-hidden", "/home/me/acme-corp/"+awsKey,
		said("m1", "", "the key "+awsKey),
		said("m2", "m1", "escaped "+escapedAll(awsKey)+` ACME\u002dCorp caf\u00e9\/bar caf\\u00e9/bar`),
		`{"type":"message","id":"m3","parentId":"m2","timestamp":"2026-02-16T10:21:00.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"t1","name":"x_`+awsKey+
			`","arguments":{"`+awsKey+`":1,"@acme-corp/lib":"1.0","content":"kept"}}]}}`,
	)
	w.Must(os.WriteFile(path, []byte(log), 0o600))
	s := w.View(path, store.OpenOptions{})
	for _, f := range Formats {
		got, _ := written(t, s, Options{Format: f, Redact: true, AllBranches: true, Hide: []string{"acme-corp", "café/bar", "content"}})
		for _, secret := range []string{awsKey, "acme-corp", "café/bar", `caf\u00e9`, "ACME-Corp"} {
			if i := strings.Index(got, secret); i >= 0 {
				t.Errorf("%s has %q: %q", f, secret, got[max(0, i-60):min(len(got), i+40)])
			}
		}
		if !strings.Contains(got, "the key") || !strings.Contains(got, "kept") {
			t.Errorf("%s lost a message:\n%s", f, got)
		}
	}
}

// TestNotReplaced: an export replaces neither the log that it reads nor anything but regular files, and a site changes nothing of another
// one.
func TestNotReplaced(t *testing.T) {
	t.Parallel()
	s, dir := fixture(t), t.TempDir()
	link := filepath.Join(dir, "link.json")
	if err := os.Link(s.Path(), link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{s.Path(), link, dir} {
		if _, err := File(t.Context(), path, s, Options{Format: JSON}, true); !errors.Is(err, ErrNotReplaced) {
			t.Errorf("%s: %v; want the error ErrNotReplaced", path, err)
		}
	}
	other := filepath.Join(dir, "site")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(other, "index.html"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := site(t, false, other); !errors.Is(err, ErrExists) {
		t.Error(err)
	}
	if list, err := os.ReadDir(other); err != nil || len(list) != 1 {
		t.Error("files were added to another site", list, err)
	}
}

// TestProblemsHide: problems of records are reported without hidden texts, such as names in the path of a missing file.
func TestProblemsHide(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	dir := filepath.Join(t.TempDir(), "acme-corp")
	w.Must(os.Mkdir(dir, 0o700))
	const id = "5f0c1b1e-6a43-4c07-9c1f-0d6d4f2f7a10"
	path := filepath.Join(dir, id+".jsonl")
	saved := `<persisted-output>\nOutput too large (9KB). Full output saved to: /x/tool-results/acme-corp.txt\n\nPreview (first 2KB):\nit begins\n...\n</persisted-output>`
	w.Must(os.WriteFile(path, []byte(`{"parentUuid":null,"isSidechain":false,"type":"user","uuid":"u1","timestamp":"2026-02-16T10:21:00.000Z","cwd":"/w","sessionId":"`+id+
		`","version":"2.0.0","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"`+saved+`"}]}}`+"\n"), 0o600))
	s := w.View(path, store.OpenOptions{})
	for _, f := range Formats {
		got, report := written(t, s, Options{Format: f, Redact: true, AllBranches: true, Hide: []string{"acme-corp"}})
		if !strings.Contains(got, "it begins") || len(report.Problems) == 0 {
			t.Errorf("%s, problems %v:\n%s", f, report.Problems, got)
		}
		if i := strings.Index(got, "acme-corp"); i >= 0 {
			t.Errorf("%s shows a hidden text: %q", f, got[max(0, i-60):min(len(got), i+40)])
		}
	}
}
