package codex_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/durable/killtest"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

func TestMain(m *testing.M) { killtest.Main(m, childWriter) }

// childWriter takes "home seed path". It opens the session, appends turns, and now and then rolls back the last one. It
// prints each text that the store has acknowledged.
func childWriter(args string) error {
	var home, path string
	var seed uint64
	if _, err := fmt.Sscan(args, &home, &seed, &path); err != nil {
		return err
	}
	rnd, ctx := rand.New(rand.NewPCG(seed, 0)), context.Background()
	s, err := world.Store(home).OpenWrite(ctx, path, store.CreateOptions{Write: store.WriteOptions{Durability: store.DurabilityNone}})
	if err != nil {
		return err
	}
	var last session.EntryID
	for n := 0; ; n++ {
		text := fmt.Sprintf("<%d-%d>", seed, n)
		if n%2 == 0 && last != "" && rnd.IntN(4) == 0 {
			_, err := s.Branch(ctx, last, store.BranchOptions{Durable: rnd.IntN(2) == 0})
			if err != nil && !errors.Is(err, dialect.ErrUnsupported) && !errors.Is(err, store.ErrForeign) {
				return err
			}
		}
		role := []session.Role{session.RoleUser, session.RoleAssistant}[n%2]
		a, err := s.AppendText(ctx, role, text+strings.Repeat("x", rnd.IntN(50_000)))
		if errors.Is(err, store.ErrForeign) {
			continue // another writer was faster, and the branch would have rolled back its turn
		}
		if err != nil {
			return err
		}
		if n%2 == 1 && rnd.IntN(4) == 0 {
			last = a.ID
		}
		fmt.Println(text)
	}
}

// Writers are killed at any moment. What was acknowledged is there once, every whole line of a paginated log has its
// ordinal, and the session can be continued.
func TestKill(t *testing.T) {
	for name, header := range map[string]*written{
		"legacy": begin(t, "", ""), "paginated": begin(t, `,"history_mode":"paginated"`, `,"ordinal":0`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := soaktest.Begin(t)
			home, rnd := t.TempDir(), rand.New(rand.NewPCG(c.Seed(uint64(len(name))), 1))
			path := filepath.Join(home, "rollout-2026-05-01T10-00-00-"+thread+".jsonl")
			for round := range c.Rounds(soaktest.Part(6, 2), 2) {
				if round%6 == 0 { // a new log now and then: checking a long one takes longer than writing it
					if err := os.WriteFile(path, []byte(header.lines[0]+"\n"), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				told, err := killtest.Round(rnd, 1+round%2, func(seed uint64) *exec.Cmd { return killtest.Command(home, seed, path) })
				if err != nil {
					t.Fatal(err)
				}
				checkKilled(t, c, home, path, told, name == "paginated")
			}
		})
	}
}

func checkKilled(t *testing.T, c *soaktest.Counts, home, path string, told map[uint64][]string, paginated bool) {
	t.Helper()
	s, err := world.Store(home).OpenWrite(t.Context(), path, store.CreateOptions{})
	c.Unreadable(path, err)
	defer s.Close()
	for _, p := range s.Tree().Problems() {
		if p.Kind != session.ProblemTorn && !strings.Contains(p.Message, "ordinal") { // a torn last line has no ordinal
			c.Unreadable(path, errors.New(p.String()))
		}
	}
	a, err := s.AppendText(t.Context(), session.RoleUser, "go on")
	if err != nil || a.ID != s.Leaf() {
		t.Fatalf("%+v, %v; want no error, a.ID == s.Leaf()", a, err)
	}
	log, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	items := map[string]int{}
	for l := range bytes.Lines(log) {
		if !rawjson.Valid(bytes.TrimSpace(l)) {
			c.Unreadable(path, fmt.Errorf("not a record: %.200s", l))
		}
		if paginated && !dialect.IsNumber(rawjson.Get(l, "ordinal")) {
			t.Fatalf("no ordinal: %.200s", l)
		}
		if rawjson.Str(l, "type") == "response_item" {
			text, _, _ := strings.Cut(dialect.TextOf(s.MessageParts(rawjson.Get(l, "payload"))), "x")
			items[text]++
		}
	}
	for _, texts := range told {
		c.Acknowledged(len(texts))
		for _, text := range texts {
			if items[text] != 1 {
				c.Lost("%s was acknowledged and is there %d times", text, items[text])
			}
		}
	}
}
