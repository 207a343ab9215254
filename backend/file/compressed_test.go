package file_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/file"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/durable/crashfs"
	"github.com/treeline-dev/treeline/internal/durable/faultfs"
)

// frame compresses content into one frame whose header has the length.
func frame(content string) []byte {
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err)
	}
	return enc.EncodeAll([]byte(content), nil)
}

// silent compresses content into one frame whose header does not have the length.
func silent(content []byte) []byte {
	var b bytes.Buffer
	enc, err := zstd.NewWriter(&b, zstd.WithEncoderCRC(false))
	if err != nil {
		panic(err)
	}
	for len(content) > 0 { // in pieces, or else the length would be known
		n := min(len(content), 1<<20)
		if _, err := enc.Write(content[:n]); err != nil {
			panic(err)
		}
		if err := enc.Flush(); err != nil {
			panic(err)
		}
		content = content[n:]
	}
	if err := enc.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

const packed = "2026/rollout.jsonl.zst"

// pack puts a compressed file into a new folder and opens the folder.
func pack(t *testing.T, stored []byte) (*file.Backend, string) {
	t.Helper()
	root := t.TempDir()
	path := filepath.Join(root, filepath.FromSlash(packed))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, stored, 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := file.New(root, file.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b, path
}

// TestCompressed: sizes and offsets are those of the content, whichever way it is read.
func TestCompressed(t *testing.T) {
	content := "{\"a\":1}\r\n" + strings.Repeat("{\"b\":\"text\"}\n", 100) + `{"torn":`
	for name, stored := range map[string][]byte{
		"one frame":        frame(content),
		"without a length": silent([]byte(content)),
		"two frames":       append(frame(content[:50]), frame(content[50:])...),
		"skippable frame":  append([]byte{0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 'a', 'b', 'c'}, frame(content)...),
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := pack(t, stored)
			ctx := t.Context()
			at, err := b.Stat(ctx, packed)
			if err != nil || at.Size != int64(len(content)) || !b.Lines(packed) {
				t.Fatalf("%+v, %v; want %d bytes", at, err, len(content))
			}
			all, err := backend.ReadAll(ctx, b, at)
			if err != nil || string(all) != content {
				t.Fatalf("read %q, %v", all, err)
			}
			for log, err := range b.List(ctx, "") {
				if err != nil || log.Name != packed || log.Size != at.Size {
					t.Fatalf("listed %+v, %v", log, err)
				}
				head, tail := make([]byte, 10), make([]byte, 12)
				if n, m, err := b.Ends(ctx, log, head, tail); err != nil || string(head[:n])+"…"+string(tail[:m]) != content[:10]+"…"+content[len(content)-12:] {
					t.Fatalf("ends %q %q, %v", head, tail, err)
				}
				glimpsed, head, end, err := b.Glimpse(ctx, packed, make([]byte, 30), 10)
				if diff := difftest.Diff([]string{content[:20], content[len(content)-10:]}, []string{string(head), string(end)}); diff != "" || err != nil || glimpsed != log {
					t.Fatalf("glimpse %+v, %v:\n%s", glimpsed, err, diff)
				}
			}
			var got []string
			for r, err := range b.Read(ctx, at, 9) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, fmt.Sprint(r.Offset, r.End, r.Torn))
			}
			if len(got) != 101 || got[0] != "9 22 false" || got[100] != "1309 1317 true" {
				t.Fatalf("records %v", got)
			}
		})
	}
}

// TestCompressedLong: content that does not fit into memory goes through a temporary file, which is removed.
func TestCompressedLong(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	content := strings.Repeat(strings.Repeat("x", 99)+"\n", 18<<20/100)
	b, _ := pack(t, frame(content))
	at, r, err := b.OpenNow(t.Context(), packed)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.(backend.ViewReader).View(0, at.Size, func(data []byte) error {
		if string(data) != content {
			t.Error("the view differs")
		}
		return nil
	}); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
	part := make([]byte, 100)
	if _, err := r.ReadAt(part, at.Size-150); err != nil || string(part) != content[at.Size-150:at.Size-50] {
		t.Errorf("%q, %v; want no error, string(part) == %v", part, err, content[at.Size-150:at.Size-50])
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if left, err := filepath.Glob(filepath.Join(temp, "*", "*")); len(left) > 0 || err != nil {
		t.Errorf("left %v, %v", left, err)
	}
}

// TestCompressedDamage: a file that is cut off anywhere, changed or made to fill the disk is refused, and the list goes on.
func TestCompressedDamage(t *testing.T) {
	good := frame(strings.Repeat("{\"b\":\"text\"}\n", 50))
	bomb := silent(make([]byte, 100<<20))
	lying := bytes.Clone(frame(strings.Repeat("a", 70000)))
	lying[4] |= 0xc0 // a length field of eight bytes, taken from the bytes that follow
	cases := map[string][]byte{"bomb": bomb, "lying length": lying, "not zstd": []byte("{\"plain\":1}\n")}
	for n := 1; n < len(good); n++ {
		cases[fmt.Sprintf("cut after %d", n)] = good[:n]
	}
	for name, stored := range cases {
		t.Run(name, func(t *testing.T) {
			b, path := pack(t, stored)
			_, r, err := b.OpenNow(t.Context(), packed)
			var damage *backend.DamageError
			if !errors.As(err, &damage) || r != nil || damage.File != path || damage.Advice == "" {
				t.Fatalf("opened: %v", err)
			}
			for _, err := range b.List(t.Context(), "") {
				if err != nil && !errors.As(err, &damage) {
					t.Errorf("listed: %v", err)
				}
			}
			if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, stored) {
				t.Error("the file was changed", err)
			}
		})
	}
}

// TestCompressedChanged: a compressed file that was replaced or grew is another log, and mutations are refused.
func TestCompressedChanged(t *testing.T) {
	b, path := pack(t, frame("1\n"))
	ctx := t.Context()
	at, err := b.Stat(ctx, packed)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range b.Read(ctx, at, at.Size) {
		t.Fatal("the same log:", err)
	}
	for _, call := range []func() error{
		func() error { _, err := b.Append(ctx, at, []byte("2")); return err },
		func() error { _, err := b.Replace(ctx, at, []byte("2")); return err },
		func() error { return b.Remove(ctx, at) },
	} {
		if err := call(); !errors.Is(err, backend.ErrCompressed) {
			t.Error(err)
		}
	}
	if err := os.WriteFile(path, append(frame("1\n"), frame("2\n")...), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := backend.ReadAll(ctx, b, at); !errors.Is(err, backend.ErrChanged) {
		t.Error("grown:", err)
	}
	if _, err := b.Expand(ctx, at); !errors.Is(err, backend.ErrConflict) {
		t.Error("expanding what was not seen:", err)
	}
	if now, err := b.Stat(ctx, packed); err != nil || now.Size != 4 {
		t.Error(now, err)
	}
}

// TestExpand: the plain file has the content, and hides the compressed one while there are both.
func TestExpand(t *testing.T) {
	b, path := pack(t, frame("1\n2\n"))
	ctx := t.Context()
	at, err := b.Stat(ctx, packed)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := b.Expand(ctx, at)
	if err != nil {
		t.Fatal(err)
	}
	if plain, err = b.Append(ctx, plain, []byte("3")); err != nil {
		t.Fatal(err)
	}
	if all, err := backend.ReadAll(ctx, b, plain); string(all) != "1\n2\n3\n" || err != nil {
		t.Errorf(`%q, %v; want string(all) == "1\n2\n3\n", no error`, all, err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Error("the compressed file is still there:", err)
	}
	if err := os.WriteFile(path, frame("old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for log, err := range b.List(ctx, "") {
		if log.Name != plain.Name || err != nil {
			t.Errorf("listed %s, %v", log.Name, err)
		}
	}
	if at, err = b.Stat(ctx, packed); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Expand(ctx, at); !errors.Is(err, backend.ErrExist) {
		t.Error("expanded over a plain file:", err)
	}
}

// replacing is a file system that replaces a file by another one before operation number at that opens or stats a name.
type replacing struct {
	durable.OS
	at       int
	path, by string
}

func (r *replacing) tick() {
	if r.at--; r.at == 0 {
		if err := os.Rename(r.by, r.path); err != nil {
			panic(err)
		}
	}
}

func (r *replacing) Open(name string, flag int, perm os.FileMode) (durable.File, error) {
	r.tick()
	return r.OS.Open(name, flag, perm)
}

func (r *replacing) Stat(name string) (durable.Info, error) {
	r.tick()
	return r.OS.Stat(name)
}

// TestExpandBesideAnother: a compressed file that another program writes meanwhile stays, and nothing hides it.
func TestExpandBesideAnother(t *testing.T) {
	for n := 1; ; n++ {
		b, path := pack(t, frame("old\n"))
		at, err := b.Stat(t.Context(), packed)
		if err != nil {
			t.Fatal(err)
		}
		root := strings.TrimSuffix(path, filepath.FromSlash(packed))
		fsys := &replacing{at: n, path: path, by: filepath.Join(root, "new")}
		if err := os.WriteFile(fsys.by, frame("newer\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		other, err := file.New(root, file.Options{FS: fsys})
		if err != nil {
			t.Fatal(err)
		}
		_, err = other.Expand(t.Context(), at)
		if fsys.at > 0 {
			if err != nil {
				t.Error(err)
			}
			if n < 4 {
				t.Errorf("%d operations are too few", n)
			}
			return
		}
		if !errors.Is(err, backend.ErrConflict) {
			t.Errorf("replaced before operation %d: %v; want ErrConflict", n, err)
		}
		for log, err := range b.List(t.Context(), "") {
			if err != nil {
				t.Fatal(err)
			}
			if got, err := backend.ReadAll(t.Context(), b, log); log.Name != packed || string(got) != "newer\n" || err != nil {
				t.Errorf("replaced before operation %d: %s holds %q, %v; want %q in %s", n, log.Name, got, err, "newer\n", packed)
			}
		}
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestExpandCrash: a crash or a failure at any operation leaves the content, compressed or plain.
func TestExpandCrash(t *testing.T) {
	const plain, zst = "a.jsonl", "a.jsonl.zst"
	begin := func() *crashfs.FS {
		fsys := crashfs.New(crashRoot)
		f, err := fsys.Open(crashRoot+"/"+zst, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.Write(frame("1\n2\n"))
		if err = errors.Join(err, f.Sync(true), f.Close(), fsys.SyncDir(crashRoot)); err != nil {
			t.Fatal(err)
		}
		return fsys
	}
	holds := func(when string, fsys *crashfs.FS) {
		b, err := file.New(crashRoot, quiet(fsys, backend.DurabilityFlush))
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		var found []string
		for log, err := range b.List(context.Background(), "") {
			if err != nil {
				t.Errorf("%s: %v", when, err)
				continue
			}
			all, err := backend.ReadAll(context.Background(), b, log)
			found = append(found, fmt.Sprintf("%q %v", all, err))
		}
		if diff := difftest.Diff([]string{`"1\n2\n" <nil>`}, found); diff != "" {
			t.Errorf("%s:\n%s; want diff == \"\"", when, diff)
		}
	}
	run := func(fsys durable.FS) error {
		b, err := file.New(crashRoot, quiet(fsys, backend.DurabilityFlush))
		if err != nil {
			return err
		}
		defer b.Close()
		at, err := b.Stat(context.Background(), zst)
		if err != nil {
			return err
		}
		now, err := b.Expand(context.Background(), at)
		if err == nil && now.Name != plain {
			t.Errorf("expanded to %s", now.Name)
		}
		return err
	}
	live := begin()
	crashes := 0
	live.OnOp(func(op string) {
		crashes++
		for _, fate := range []crashfs.Fate{crashfs.Lost, crashfs.Kept, crashfs.Mixed(uint64(crashes))} {
			holds("crash at "+op, live.Crash(fate))
		}
	})
	if err := run(live); err != nil || crashes == 0 {
		t.Fatal(err, crashes)
	}
	live.OnOp(nil)
	holds("at the end", live)
	for _, fault := range faultfs.Faults {
		for n := 1; ; n++ {
			inner := begin()
			fsys := faultfs.New(inner, n, fault)
			err := run(fsys)
			holds(fmt.Sprintf("fault %v at %d", fault, n), inner)
			if fsys.Count() < n {
				if err != nil {
					t.Error(err)
				}
				break
			}
		}
	}
}
