package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/postgres"
	"github.com/treeline-dev/treeline/index"
	shared "github.com/treeline-dev/treeline/index/postgres"
	"github.com/treeline-dev/treeline/server"
)

// served is an archive with its index, and a server of it.
type served struct {
	*shared.Index
	store  *treeline.Store
	server *server.Server
}

func serveArchive(b *bench, url string) *served {
	home := filepath.Join(b.dir, "served")
	check(os.MkdirAll(home, 0o700))
	s := must(treeline.New(treeline.Options{
		Home: home, WorkDir: home, Getenv: func(string) string { return "" }, NoConfig: true, ReadOnly: true, Roots: []string{url},
		Backends: []backend.Driver{postgres.Driver(postgres.Options{})}, Indexes: []index.Driver{shared.Driver(shared.Options{})},
	}))
	return &served{must(shared.Open(url, shared.Options{})), s, must(server.New(server.Options{Store: s, Host: "127.0.0.1", Home: home}))}
}

func (x *served) close() {
	check(x.server.Close())
	check(x.store.Close())
	check(x.Index.Close())
}

// get asks the server without a network.
func (x *served) get(path string) {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Host = "127.0.0.1"
	w := httptest.NewRecorder()
	x.server.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		panic(fmt.Sprintf("%s: %d %s", path, w.Code, w.Body))
	}
}
