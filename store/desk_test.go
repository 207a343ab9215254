package store_test

import (
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/repair"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// desk is a world with what only these tests need.
type desk struct{ *world.World }

func newDesk(t *testing.T, change ...func(*world.World)) *desk {
	t.Helper()
	return &desk{world.New(t, change...)}
}

// fill adds the world's clock, ids and observer.
func (d *desk) fill(opt store.CreateOptions) store.CreateOptions {
	opt.Write = d.Write(opt.Write)
	return opt
}

// wrapping returns a store of the desk whose backends for writing are wrapped.
func (d *desk) wrapping(wrap func(backend.Backend) backend.Backend) *store.Store {
	d.Wrap = wrap
	defer func() { d.Wrap = nil }()
	s := d.Reopen()
	return s
}

// check lists the problems of a session.
func check(t *testing.T, s *store.Session) []session.Problem {
	t.Helper()
	var problems []session.Problem
	err := s.Read(func(l *logtree.Log, blobs logtree.Blobs) (err error) {
		problems, err = repair.Check(t.Context(), l, blobs)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return problems
}
