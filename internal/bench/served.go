package main

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/postgres"
	"github.com/treeline-dev/treeline/backend/remote"
	"github.com/treeline-dev/treeline/index"
	shared "github.com/treeline-dev/treeline/index/postgres"
	asked "github.com/treeline-dev/treeline/index/remote"
	"github.com/treeline-dev/treeline/server"
)

// served is an archive with its index, and a server in front of it.
type served struct {
	*shared.Index
	store  *treeline.Store
	server *server.Server
	asked  int64 // number of requests for usage
}

func serveArchive(b *bench, url string) *served {
	home := filepath.Join(b.dir, "served")
	check(os.MkdirAll(home, 0o700))
	s := must(treeline.New(treeline.Options{
		Home: home, WorkDir: home, Getenv: func(string) string { return "" }, NoConfig: true, ReadOnly: true, Roots: []string{url},
		Backends: []backend.Driver{postgres.Driver(postgres.Options{})}, Indexes: []index.Driver{shared.Driver()},
	}))
	return &served{Index: must(shared.Open(url)), store: s, server: must(server.New(server.Options{Store: s, Host: "127.0.0.1", Home: home}))}
}

func (x *served) close() {
	check(x.server.Close())
	check(x.store.Close())
	check(x.Index.Close())
}

// usage requests the usage since a time. Each request is different, since the server caches answers for a while.
func (x *served) usage(since time.Time) {
	x.asked++
	x.get(fmt.Sprintf("/api/v1/usage?since=%s&until=%s", since.UTC().Format(time.RFC3339), time.Unix(1e9+x.asked, 0).UTC().Format(time.RFC3339)))
}

// archivedUsage measures a sum over all sessions, whose time grows with their number, and its memory.
func archivedUsage(b *bench, x *served, many int) {
	const step = 5 * time.Millisecond
	done, most := make(chan struct{}), make(chan uint64)
	go func() {
		peak := uint64(0)
		for {
			select {
			case <-done:
				most <- peak
				return
			case <-time.After(step):
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				peak = max(peak, m.HeapInuse)
			}
		}
	}()
	start := time.Now()
	x.usage(time.Unix(0, 0))
	took := time.Since(start)
	close(done)
	b.add(row{what: fmt.Sprintf("archive (elapsed): %d sessions: server: usage of all", many), figure: ms(took), baseline: "heap " + mb(int64(<-most))})
}

// searchedServer compares searches through a server, over TLS, with those of files.
func searchedServer(b *bench, archive *treeline.Store, url, what string, files *treeline.Store, queries []question) {
	ctx := context.Background()
	be := must(postgres.Open(url, postgres.Options{}, backend.OpenOptions{}))
	defer be.Close()
	home := filepath.Join(b.dir, "served")
	check(os.MkdirAll(home, 0o700))
	s := must(server.New(server.Options{Store: archive, Archive: be, Host: "127.0.0.1", Token: "bench", Home: home}))
	defer s.Close()
	t := httptest.NewTLSServer(s)
	defer t.Close()
	roots := x509.NewCertPool()
	roots.AddCert(t.Certificate())
	drivers := remote.Drivers(remote.Options{Roots: roots, Token: func(string) (string, error) { return "bench", nil }})
	client := must(treeline.New(treeline.Options{
		Home: home, WorkDir: home, Getenv: func(string) string { return "" }, NoConfig: true, ReadOnly: true, Roots: []string{t.URL},
		Backends: drivers, Indexes: asked.Drivers(drivers),
	}))
	defer client.Close()
	for _, q := range queries {
		if q.most == 0 {
			continue // it reads all records
		}
		best := b.fastest(ctx, q, files, client)
		b.add(row{what: what + "https: " + q.what, figure: ms(best[1]), baseline: "files " + ms(best[0]), ratio: times(best[1], best[0])})
	}
}

// get sends a request to the server without a network.
func (x *served) get(path string) {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Host = "127.0.0.1"
	w := httptest.NewRecorder()
	x.server.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		panic(fmt.Sprintf("%s: %d %s", path, w.Code, w.Body))
	}
}
