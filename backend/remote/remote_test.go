package remote_test

import (
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/backendtest"
	"github.com/treeline-dev/treeline/backend/memory"
	"github.com/treeline-dev/treeline/backend/remote"
	"github.com/treeline-dev/treeline/server"
	"github.com/treeline-dev/treeline/wire"
)

const secret = "a token of the tests"

// box is a server with an archive in memory.
type box struct {
	*httptest.Server
	archive *memory.Backend
	opt     remote.Options
}

// newBox starts a server that speaks TLS. change may change its options.
func newBox(t testing.TB, change ...func(*server.Options)) *box {
	t.Helper()
	home := t.TempDir()
	s, err := treeline.New(treeline.Options{Home: home, WorkDir: home, Getenv: func(string) string { return "" }, NoBreadcrumbs: true})
	if err != nil {
		t.Fatal(err)
	}
	b := &box{archive: memory.New()}
	opt := server.Options{Store: s, Archive: b.archive, Host: "127.0.0.1", Token: secret, Write: true, Home: home, Version: wire.Version{Version: "test"}}
	for _, f := range change {
		f(&opt)
	}
	h, err := server.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	b.Server = httptest.NewUnstartedServer(h)
	b.Config.ErrorLog = log.New(io.Discard, "", 0)
	b.StartTLS()
	t.Cleanup(func() {
		b.CloseClientConnections()
		b.Server.Close()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	roots := x509.NewCertPool()
	roots.AddCert(b.Certificate())
	b.opt = remote.Options{Roots: roots, Token: func(string) (string, error) { return secret, nil }}
	return b
}

// driver returns the driver for https with these options.
func driver(opt remote.Options) backend.Driver { return remote.Drivers(opt)[0] }

// places counts the places of this process: each is a folder of its own.
var places atomic.Int64

// place makes an empty place on the server. Put bypasses the server.
func (b *box) place(opt backend.OpenOptions) backendtest.Place {
	opt.Below = fmt.Sprintf("machine%d/omp", places.Add(1))
	d := driver(b.opt)
	return backendtest.Place{
		Open:     func() (backend.Backend, error) { return d.Open(b.URL, opt) },
		Put:      func(name string, content []byte) error { b.archive.Put(opt.Below+"/"+name, content); return nil },
		ReadOnly: opt.ReadOnly,
	}
}

func TestRemote(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	backendtest.Run(t, func(t *testing.T) backendtest.Place { return b.place(backend.OpenOptions{}) })
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	backendtest.Run(t, func(t *testing.T) backendtest.Place { return b.place(backend.OpenOptions{ReadOnly: true}) })
}

// A URL is accepted, or refused with a reason; no error repeats a password.
func TestURLs(t *testing.T) {
	t.Parallel()
	for root, want := range map[string]string{
		"https://Host.example":          "https://host.example",
		"https://host.example:8443/":    "https://host.example:8443",
		"https://host.example/base/":    "https://host.example/base",
		"http://127.0.0.1:7331":         "http://127.0.0.1:7331",
		"http://localhost:7331/a":       "http://localhost:7331/a",
		"http://[::1]:7331":             "http://[::1]:7331",
		"http://host.example":           "use https",
		"http://127.0.0.1.example":      "use https",
		"https://":                      "like https://host",
		"https://:80":                   "like https://host",
		"https://me:hush@host.example":  "user or a password",
		"https://host.example/?t=hush":  "no ? or #",
		"https://host.example/#hush":    "no ? or #",
		"https://host.example/a/../b":   "plain one",
		"https://host.example:hush:no/": "cannot be read",
		"ftp://host.example":            "like https://host",
	} {
		got, err := remote.Shown(root)
		if err != nil {
			got = err.Error()
		}
		if got != want && (err == nil || !strings.Contains(got, want)) || strings.Contains(got, "hush") {
			t.Errorf("%s: %s, want %s", root, got, want)
		}
		b, err := driver(remote.Options{}).Open(root, backend.OpenOptions{})
		if (err == nil) != strings.HasPrefix(want, "http") {
			t.Errorf("%s: opened with %v", root, err)
		}
		if err == nil {
			b.Close()
		}
	}
}
