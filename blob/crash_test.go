package blob

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/internal/durable/crashfs"
)

// A blob that an agent has just written, and not synced, survives a crash after Put returned its reference.
func TestPutSyncsBlobsOfOthers(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fsys := crashfs.New("/home")
	dir, content := "/home/blobs", []byte("hi")
	ref := Sum(content)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(fsys.Mkdir(dir, 0o700))
	must(fsys.SyncDir("/home"))
	f, err := fsys.Open(filepath.Join(dir, ref.Hex()), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	must(err)
	_, err = f.Write(content)
	must(err)
	info, err := f.Stat()
	must(err)
	must(f.Close())
	s := NewDirFS(dir, fsys)
	s.now = func() time.Time { return time.Unix(0, info.Nanos) }
	if _, err := s.Put(ctx, content); err != nil {
		t.Fatal(err)
	}
	if _, err := Get(ctx, NewDirFS(dir, fsys.Crash(crashfs.Lost)), ref); err != nil {
		t.Error(err)
	}
}
