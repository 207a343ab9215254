package push_test

import (
	"crypto/x509"
	"errors"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/memory"
	"github.com/treeline-dev/treeline/backend/remote"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/push"
	"github.com/treeline-dev/treeline/server"
	"github.com/treeline-dev/treeline/wire"
)

// served starts a server over TLS with an archive, and returns its driver and address.
func served(t *testing.T, archive backend.Backend, write bool) (backend.Driver, string) {
	t.Helper()
	home := t.TempDir()
	s, err := treeline.New(treeline.Options{Home: home, WorkDir: home, Getenv: func(string) string { return "" }, NoBreadcrumbs: true})
	if err != nil {
		t.Fatal(err)
	}
	const token = "correct horse battery staple"
	h, err := server.New(server.Options{Store: s, Archive: archive, Host: "127.0.0.1", Token: token, Write: write, Home: home, Version: wire.Version{Version: "test"}})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewTLSServer(h)
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
		if err := errors.Join(h.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	})
	roots := x509.NewCertPool()
	roots.AddCert(web.Certificate())
	return remote.Drivers(remote.Options{Roots: roots, Token: func(string) (string, error) { return token, nil }})[0], web.URL
}

// Pushing over https works the same.
func TestRemote(t *testing.T) {
	t.Parallel()
	driver, url := served(t, memory.New(), true)
	d := newDeskAt(t, driver, url)
	d.step = 2000
	ref, err := blob.NewDir(d.At(".omp/agent/blobs")).Put(d.Context(), []byte("\x89PNG\r\n\x1a\n"))
	d.Must(err)
	pathA := d.log(a, 300)
	d.AppendPlain(pathA, entry("aaaa0300", "aaaa0299", ref.String()))
	r := d.pushes(map[string]push.Fate{file(a): push.Created})
	if r.Blobs != 1 {
		t.Errorf("%d blobs", r.Blobs)
	}
	d.equal()
	d.pushes(map[string]push.Fate{})
	d.AppendPlain(pathA, entry("aaaa0301", "aaaa0300", "more")+`{"torn`)
	d.pushes(map[string]push.Fate{file(a): push.Extended})
	d.log(a, 200)
	d.pushes(map[string]push.Fate{file(a): push.Replaced})
	d.equal()
	o := newDeskAt(t, driver, url)
	o.origin = "desktop-00c0ffee"
	all := push.PullOptions{Origins: []string{"laptop"}, Deletions: true}
	if diff := difftest.Diff(map[string]push.Fate{file(a): push.Created}, o.pull(all)); diff != "" {
		t.Fatal(diff)
	}
	o.holds(o.At("pulled/"+origin+"/omp/sessions/-garden/"+file(a)), text(d.CWD, a, 200))
	d.append(file(a), entry("eeee0001", "aaaa0199", "theirs"))
	d.pulls(map[string]push.Fate{file(a): push.Extended})
	d.Must(os.Remove(pathA))
	if got, _ := d.push(push.PushOptions{Deletions: true}); got[file(a)] != push.Removed {
		t.Fatalf("%v; want got[file(a)] == push.Removed", got)
	}
	if diff := difftest.Diff(map[string]push.Fate{file(a): push.Removed}, o.pull(all)); diff != "" {
		t.Fatal(diff)
	}
}

// A server that accepts nothing makes the whole push fail, even if other logs are unchanged.
func TestRemoteReadOnly(t *testing.T) {
	t.Parallel()
	team := memory.New()
	driver, url := served(t, team, true)
	d := newDeskAt(t, driver, url)
	d.log(a, 3)
	d.pushes(map[string]push.Fate{file(a): push.Created})
	driver, url = served(t, team, false)
	archive, err := driver.Open(url, backend.OpenOptions{})
	d.Must(err)
	defer archive.Close()
	read := push.Target{Backend: archive, Shown: url}
	if r, err := d.copier().Push(d.Context(), read, push.PushOptions{}); err != nil {
		t.Errorf("nothing is new: %v, %+v", err, r)
	}
	d.log(b, 3)
	if r, err := d.copier().Push(d.Context(), read, push.PushOptions{}); !errors.Is(err, backend.ErrReadOnly) {
		t.Errorf("%v, %+v; want the error backend.ErrReadOnly", err, r)
	}
}
