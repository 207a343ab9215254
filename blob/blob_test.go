package blob_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/blob"
)

const hi = "8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4" // sha256("hi")

func TestRef(t *testing.T) {
	t.Parallel()
	r := blob.Sum([]byte("hi"))
	if r.Hex() != hi || r.String() != "blob:sha256:"+hi {
		t.Errorf("the reference is %s", r)
	}
	if back, err := blob.ParseRef(r.String()); err != nil || back != r {
		t.Errorf("it is read back as %s, %v", back, err)
	}
	for _, s := range []string{
		"", hi, "blob:sha256:", "blob:sha256:" + hi[1:], "blob:sha256:" + hi + "0", "blob:sha256:" + strings.ToUpper(hi),
		"blob:sha256:" + hi + "\n", " blob:sha256:" + hi, "BLOB:sha256:" + hi, "blob:sha512:" + hi, "blob:sha256:" + hi[:63] + "g",
		"blob:sha256:../../../../../../../../../../../../../../../etc/passwd", "blob:sha256:" + hi[:62] + "/.", "blob:sha256:" + hi[:60] + "é",
	} {
		if _, err := blob.ParseRef(s); !errors.Is(err, blob.ErrRef) {
			t.Errorf("%q: %v; want the error blob.ErrRef", s, err)
		}
	}
}

// FuzzParseRef: a parsed reference has exactly the parsed text, and names a plain file.
func FuzzParseRef(f *testing.F) {
	f.Add("blob:sha256:" + hi)
	f.Add("blob:sha256:../x")
	f.Fuzz(func(t *testing.T, s string) {
		r, err := blob.ParseRef(s)
		if err != nil {
			return
		}
		if r.String() != s || len(r.Hex()) != 64 || strings.Trim(r.Hex(), "0123456789abcdef") != "" || filepath.Base(r.Hex()) != r.Hex() {
			t.Errorf("%q is parsed as %s", s, r)
		}
	})
}

func TestDir(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := blob.NewDir(filepath.Join(t.TempDir(), "not", "there"))
	missing := blob.Sum([]byte("missing"))
	if _, err := s.Open(ctx, missing); !errors.Is(err, blob.ErrNotExist) {
		t.Errorf("Open of a missing blob: %v", err)
	}
	if _, err := blob.Get(ctx, s, missing); !errors.Is(err, blob.ErrNotExist) {
		t.Errorf("Get of a missing blob: %v", err)
	}
	if ok, err := s.Has(ctx, missing); ok || err != nil {
		t.Errorf("Has of a missing blob: %v, %v", ok, err)
	}
	for _, content := range []string{"hi", "", strings.Repeat("long ", 1<<18), "hi"} {
		b := []byte(content)
		r, err := s.Put(ctx, b)
		if err != nil || r != blob.Sum([]byte(content)) {
			t.Fatalf("Put: %s, %v", r, err)
		}
		if len(b) > 0 {
			b[0] = '!' // the caller may change its bytes
		}
		got, err := blob.Get(ctx, s, r)
		if err != nil || string(got) != content {
			t.Errorf("Get of %d bytes gives %d, %v", len(content), len(got), err)
		}
		if ok, err := s.Has(ctx, r); !ok || err != nil {
			t.Errorf("Has: %v, %v", ok, err)
		}
	}
}

func TestDamagedBlob(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := t.TempDir()
	s := blob.NewDir(dir)
	if err := os.WriteFile(filepath.Join(dir, hi), []byte("ho"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := blob.ParseRef("blob:sha256:" + hi)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := blob.Get(ctx, s, r); !errors.Is(err, blob.ErrCorrupt) {
		t.Errorf("a blob with other bytes: %v", err)
	}
	// A killed program leaves a short file, a crash of the machine one of zeros: both are rewritten.
	for _, damaged := range []string{"h", "\x00\x00", ""} {
		if err := os.WriteFile(filepath.Join(dir, hi), []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Put(ctx, []byte("hi")); err != nil {
			t.Fatal(err)
		}
		if got, err := blob.Get(ctx, s, r); err != nil || string(got) != "hi" {
			t.Errorf("Put over %q gives %q, %v", damaged, got, err)
		}
	}
}

func TestDirIsPrivate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "blobs")
	r, err := blob.NewDir(dir).Put(context.Background(), []byte("hi"))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, r.Hex()): 0o600} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want && filepath.Separator == '/' {
			t.Errorf("%s has the mode %o", path, got)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
}
