package postgres_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/treeline-dev/treeline/access"
	"github.com/treeline-dev/treeline/access/accesstest"
	"github.com/treeline-dev/treeline/access/postgres"
	"github.com/treeline-dev/treeline/internal/pgdb"
	"github.com/treeline-dev/treeline/internal/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

var databases atomic.Int64

// open opens the book of a database.
func open(t *testing.T, url string) *postgres.Book {
	t.Helper()
	b, err := postgres.Open(url, postgres.Options{Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func fresh(t *testing.T) string {
	t.Helper()
	return pgtest.Shared(t).Database(t, fmt.Sprint("access", databases.Add(1)))
}

func TestBook(t *testing.T) {
	accesstest.Run(t, func(t *testing.T) access.Book { return open(t, fresh(t)) })
}

// The book also works behind a pooler in transaction mode.
func TestBouncer(t *testing.T) {
	accesstest.Run(t, func(t *testing.T) access.Book {
		name := fmt.Sprint("access", databases.Add(1))
		pgtest.Shared(t).Database(t, name)
		return open(t, pgtest.SharedBouncer(t).URL(name))
	})
}

// Many programs that start at the same time create the tables once, and of two tokens with the same name, one is added.
func TestRace(t *testing.T) {
	url := fresh(t)
	var group sync.WaitGroup
	var added atomic.Int64
	for i := range 8 {
		b := open(t, url)
		group.Go(func() {
			switch err := b.Add(t.Context(), access.Grant{Name: "ci", Created: accesstest.Now}, access.KeysOf(fmt.Sprint(i))); {
			case err == nil:
				added.Add(1)
			case !errors.Is(err, access.ErrExist):
				t.Error(err)
			}
		})
	}
	group.Wait()
	if added.Load() != 1 {
		t.Errorf("%d were added", added.Load())
	}
}

// Neither a dump of the tables nor an error contains a token or the password of the database.
func TestNoSecrets(t *testing.T) {
	url := fresh(t)
	b := open(t, url)
	token, err := access.NewToken(rand.Reader)
	if err == nil {
		err = b.Add(t.Context(), access.Grant{Name: "ci", Created: accesstest.Now}, access.KeysOf(token))
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Find(t.Context(), access.SumOf(token)); err != nil {
		t.Error(err)
	}
	wrong := strings.Replace(url, "postgres://", "postgres://someone:hunter22@", 1)
	if at := strings.Index(url[len("postgres://"):], "@"); at >= 0 {
		wrong = "postgres://someone:hunter22" + url[len("postgres://")+at:]
	}
	other, err := postgres.Open(wrong, postgres.Options{Random: rand.Reader})
	if err == nil {
		_, err = other.List(t.Context())
		_ = other.Close()
	}
	if err == nil || strings.Contains(err.Error(), "hunter22") {
		t.Errorf("a user that does not exist: %v", err)
	}
}

// Tables of a newer program are not touched.
func TestNewer(t *testing.T) {
	url := fresh(t)
	b := open(t, url)
	if err := b.Touch(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	exec(t, url, "insert into treeline_access.migration values (999, now())")
	later := open(t, url)
	if _, err := later.List(t.Context()); !errors.Is(err, pgdb.ErrSchema) {
		t.Errorf("a newer schema: %v", err)
	}
	if err := later.Add(t.Context(), access.Grant{Name: "x"}, access.KeysOf("x")); !errors.Is(err, pgdb.ErrSchema) {
		t.Errorf("a newer schema: %v", err)
	}
}

func exec(t *testing.T, url, sql string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	if _, err := c.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}
