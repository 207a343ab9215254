package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/backendtest"
	"github.com/treeline-dev/treeline/internal/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// origins counts the places of this process: each is an origin of its own, and all share a database.
var origins atomic.Int64

// drivers are the drivers of this process, by the address that they open. A view of each stays open until the process ends, so that not
// every test needs a new connection.
var drivers sync.Map

// driver returns the driver for an address.
func driver(t testing.TB, url string) backend.Driver {
	t.Helper()
	made := sync.OnceValue(func() backend.Driver {
		d := Driver(Options{})
		if _, err := d.Open(url, backend.OpenOptions{}); err != nil {
			t.Fatal(err)
		}
		return d
	})
	d, _ := drivers.LoadOrStore(url, made)
	return d.(func() backend.Driver)()
}

// place makes an empty place. Put goes through another Backend, directly to the server.
func place(t testing.TB, url string, opt backend.OpenOptions) backendtest.Place {
	t.Helper()
	opt.Below = fmt.Sprintf("place%d", origins.Add(1))
	direct := pgtest.Shared(t).URL("")
	put, err := driver(t, direct+"&application_name=put").Open(direct+"&application_name=put", backend.OpenOptions{Below: opt.Below})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = put.Close() })
	d := driver(t, url)
	return backendtest.Place{
		Open: func() (backend.Backend, error) { return d.Open(url, opt) },
		Put: func(name string, content []byte) error {
			return put.(*Backend).put(context.Background(), name, content)
		},
		ReadOnly: opt.ReadOnly,
	}
}

// put sets the bytes of a log.
func (b *Backend) put(ctx context.Context, name string, content []byte) error {
	at, err := b.Stat(ctx, name)
	if errors.Is(err, backend.ErrNotExist) {
		_, err = b.Restore(ctx, name, content)
		return err
	}
	if err == nil {
		_, err = b.replace(ctx, at, newContent(content, name), nil)
	}
	return err
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	url := pgtest.Shared(t).URL("")
	backendtest.Run(t, func(t *testing.T) backendtest.Place { return place(t, url, backend.OpenOptions{}) })
}

func TestBouncer(t *testing.T) {
	t.Parallel()
	url := pgtest.SharedBouncer(t).URL("")
	backendtest.Run(t, func(t *testing.T) backendtest.Place { return place(t, url, backend.OpenOptions{}) })
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	url := pgtest.Shared(t).URL("")
	backendtest.Run(t, func(t *testing.T) backendtest.Place { return place(t, url, backend.OpenOptions{ReadOnly: true}) })
}
