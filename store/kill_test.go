package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/durable/killtest"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

func TestMain(m *testing.M) { killtest.Main(m, childWriter) }

// childWriter runs in a child process; args are "home seed path". It opens the session, or begins it, and performs every kind of write. It
// prints the id of each entry when the store has acknowledged it.
func childWriter(args string) error {
	var home, path string
	var seed uint64
	if _, err := fmt.Sscan(args, &home, &seed, &path); err != nil {
		return err
	}
	rnd := rand.New(rand.NewPCG(seed, 0))
	ctx := context.Background()
	var err error
	opt := store.CreateOptions{Write: store.WriteOptions{Durability: store.DurabilityNone, Create: true, Defer: dialect.DeferMessage}}
	if opt.Dialect, err = killDialect(home, path); err != nil {
		return err
	}
	s, err := world.Store(home).OpenWrite(ctx, path, opt)
	if err != nil {
		return err
	}
	for {
		got, err := childStep(ctx, s, rnd)
		if errors.Is(err, backend.ErrExist) {
			// The other writer created the log first, and our entries are not in it.
			if s, err = world.Store(home).OpenWrite(ctx, path, opt); err != nil {
				return err
			}
			continue
		}
		if errors.Is(err, backend.ErrHeld) {
			continue // nothing was written: the system may not have closed the log of a writer that was just killed
		}
		if err != nil {
			return err
		}
		if got.Durable {
			fmt.Println(got.ID)
		}
	}
}

// killDialect returns the format of the log at a path: its folder is named after the dialect.
func killDialect(home, path string) (dialect.Dialect, error) {
	if name := filepath.Base(filepath.Dir(path)); name == "claude" {
		return world.Store(home).Dialect(name)
	}
	return nil, nil
}

func childStep(ctx context.Context, s *store.Session, rnd *rand.Rand) (store.Appended, error) {
	switch n := rnd.IntN(40); {
	case n == 0:
		return store.Appended{}, s.Rename(ctx, strconv.Itoa(rnd.IntN(1000)))
	case n == 1 && s.Tree().Len() > 0:
		target := s.Tree().At(rnd.IntN(s.Tree().Len()))
		if target.Aside() { // a line beside the tree cannot be the leaf
			return store.Appended{}, nil
		}
		return s.Branch(ctx, target.ID, store.BranchOptions{Durable: true})
	case n == 2:
		return store.Appended{}, s.Flush(ctx)
	case n < 8: // long enough for a kill in the middle of the write
		return s.AppendMessage(ctx, world.Message("user", strings.Repeat("x", rnd.IntN(300_000))))
	case n == 8:
		m := fmt.Appendf(nil, `{"role":"user","content":[{"type":"image","data":"%s"}]}`, strings.Repeat("AAAA", 300+rnd.IntN(1000)))
		return s.AppendMessage(ctx, m)
	}
	return s.AppendMessage(ctx, world.Message("assistant", strings.Repeat("y", rnd.IntN(400))))
}

// Writers are killed at any moment. No acknowledged entry is lost or there twice, and every log can be read and continued.
func TestKill(t *testing.T) {
	for _, test := range []struct {
		writers, rounds int
		format          string
	}{{1, 12, "omp"}, {2, 12, "omp"}, {2, 4, "claude"}} {
		t.Run(fmt.Sprintf("%s/writers=%d", test.format, test.writers), func(t *testing.T) {
			t.Parallel()
			c := soaktest.Begin(t)
			k := killer{T: t, counts: c, rnd: rand.New(rand.NewPCG(c.Seed(uint64(test.writers)), 1)), home: t.TempDir()}
			for round := range c.Rounds(test.rounds, test.rounds/2) {
				if round%4 == 0 { // a new log now and then: checking a long one would take longer than writing it
					k.path = filepath.Join(k.home, test.format, fmt.Sprintf("00000000-0000-4000-8000-%012d.jsonl", round))
					k.ids = map[session.EntryID]bool{}
				}
				k.round(test.writers)
			}
			torn, _ := filepath.Glob(filepath.Join(k.home, "*", "*.torn-*"))
			t.Logf("%d torn ends moved", len(torn))
		})
	}
}

type killer struct {
	*testing.T
	counts     *soaktest.Counts
	rnd        *rand.Rand
	home, path string
	ids        map[session.EntryID]bool // acknowledged
}

// round runs the writers, kills each at a random moment, and checks the log.
func (k *killer) round(writers int) {
	ids, err := killtest.Round(k.rnd, writers, func(seed uint64) *exec.Cmd { return killtest.Command(k.home, seed, k.path) })
	if err != nil {
		k.Error(err)
	}
	for _, ids := range ids {
		for _, id := range ids {
			k.ids[session.EntryID(id)] = true
		}
		k.counts.Acknowledged(len(ids))
	}
	k.check()
}

// check reads the log: every acknowledged entry is there once, and only the end may be damaged.
func (k *killer) check() {
	s, err := world.Store(k.home).Open(k.Context(), k.path, store.OpenOptions{})
	k.counts.Unreadable(k.path, err)
	defer s.Close()
	for id := range k.ids {
		if !s.Tree().Has(id) {
			k.counts.Lost("entry %s was acknowledged and is lost", id)
		}
	}
	torn := false
	for _, p := range check(k.T, s) {
		torn = torn || p.Kind == session.ProblemTorn
		// The line that names the leaf may be the one that was cut off.
		if p.Kind != session.ProblemTorn && !(torn && p.Kind == session.ProblemUnseen) {
			k.counts.Unreadable(k.path, errors.New(p.String()))
		}
	}
}
