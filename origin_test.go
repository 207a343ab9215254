package treeline

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// The identity is made once, even if the host is renamed later or several processes make it at once.
func TestOrigin(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data", "treeline")
	first, err := makeOrigin(dir, "My.Laptop", strings.NewReader("\x3f\x9a\x2c\x1b"))
	if err != nil || first != "my-3f9a2c1b" {
		t.Fatalf(`%q, %v; want no error, first == "my-3f9a2c1b"`, first, err)
	}
	if again, err := makeOrigin(dir, "other", strings.NewReader("0000")); err != nil || again != first {
		t.Errorf("then %q, %v", again, err)
	}
	for host, want := range map[string]string{
		"": "machine-30303030", "...": "machine-30303030", "Büro PC_1.local": "b-ro-pc-1-30303030", "-x-": "x-30303030",
		strings.Repeat("a", 300): strings.Repeat("a", 40) + "-30303030", "../../etc": "machine-30303030",
	} {
		if got, err := makeOrigin(t.TempDir(), host, strings.NewReader("0000")); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", host, got, err, want)
		}
	}
}

func TestOriginTogether(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	var wg sync.WaitGroup
	got := make([]string, 16)
	for i := range got {
		wg.Go(func() {
			var err error
			if got[i], err = Origin(dir); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, o := range got {
		if o != got[0] || o == "" {
			t.Fatalf("they disagree: %q", got)
		}
	}
}

// A damaged file is not replaced: the archive has sessions under the identity that it held.
func TestOriginDamaged(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "origin")
	for _, text := range []string{"", "laptop", "laptop-3F9A2C1B", "a/b-3f9a2c1b", "laptop-3f9a2c1b\nmore"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if o, err := Origin(dir); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: %q, %v; want an error, strings.Contains(err.Error(), path)", text, o, err)
		}
		if now, _ := os.ReadFile(path); string(now) != text {
			t.Errorf("%q became %q", text, now)
		}
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Origin(filepath.Join(file, "data")); err == nil {
		t.Error("it is kept below a file")
	}
}
