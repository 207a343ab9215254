package file_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/file"
	"github.com/treeline-dev/treeline/internal/durable/killtest"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

func TestMain(m *testing.M) { killtest.Main(m, childWriter) }

// mark is a record: its writer and its number.
type mark struct {
	Writer string `json:"writer"`
	N      int    `json:"n"`
	Pad    string `json:"pad"`
}

// childWriter runs in a child process; args are "root seed name-of-the-log". It appends records of all sizes, sometimes rewrites the whole
// log, and prints the number of each record after it was acknowledged.
func childWriter(args string) error {
	var root, name string
	var seed uint64
	var spell int
	if n, _ := fmt.Sscan(args, &name, &root, &spell); n == 3 && name == "foreign" {
		return foreignChild(root, spell)
	}
	if _, err := fmt.Sscan(args, &root, &seed, &name); err != nil {
		return err
	}
	rnd := rand.New(rand.NewPCG(seed, 0))
	b, err := file.New(root, file.Options{Durability: backend.DurabilityNone, TornWait: 20 * time.Millisecond})
	if err != nil {
		return err
	}
	ctx := context.Background()
	at, err := b.Stat(ctx, name)
	if err != nil {
		return err
	}
	for n := 0; ; {
		size := rnd.IntN(300)
		if rnd.IntN(8) == 0 {
			size = rnd.IntN(1 << 20) // long enough for a kill in the middle of the write
		}
		rec, err := json.Marshal(mark{strconv.FormatUint(seed, 10), n, strings.Repeat("x", size)})
		if err != nil {
			return err
		}
		var next backend.Log
		if at.Size < 1<<18 && rnd.IntN(10) == 0 {
			next, err = rewrite(ctx, b, at, rec)
		} else {
			next, err = b.Append(ctx, at, rec)
		}
		switch {
		case err == nil:
			at = next
			fmt.Println(n) // acknowledged
			n++
		case errors.Is(err, backend.ErrConflict) || errors.Is(err, backend.ErrChanged):
			if at, err = b.Stat(ctx, name); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

// rewrite replaces the log by its records and one more.
func rewrite(ctx context.Context, b *file.Backend, at backend.Log, rec []byte) (backend.Log, error) {
	var all [][]byte
	for r, err := range b.Read(ctx, at, 0) {
		if err != nil {
			return at, err
		}
		if r.Torn && !json.Valid(r.Data) {
			continue
		}
		all = append(all, bytes.Clone(r.Data))
	}
	return b.Replace(ctx, at, append(all, rec)...)
}

// Writers are killed at any moment. No acknowledged record is lost, and none is there twice or in part.
func TestKill(t *testing.T) {
	t.Parallel()
	for _, writers := range []int{1, 2} {
		t.Run(fmt.Sprintf("writers=%d", writers), func(t *testing.T) {
			t.Parallel()
			c := soaktest.Begin(t)
			k := killer{t: t, counts: c, rnd: rand.New(rand.NewPCG(c.Seed(uint64(writers)), 0)), root: t.TempDir()}
			for round := range c.Rounds(9, 9) {
				if round%3 == 0 { // a new log: checking a long one would take longer than writing it
					k.begin(round)
				}
				k.round(writers)
			}
		})
	}
}

type killer struct {
	t      *testing.T
	counts *soaktest.Counts
	rnd    *rand.Rand
	root   string
	name   string
	acked  map[string]int // number of acknowledged records by writer
}

func (k *killer) begin(round int) {
	if k.name != "" {
		_ = os.Remove(filepath.Join(k.root, k.name)) // a soak makes thousands of logs
	}
	k.name = fmt.Sprintf("%d.jsonl", round)
	k.acked = map[string]int{}
	b, err := file.New(k.root, file.Options{})
	if err == nil {
		_, err = b.Create(k.t.Context(), k.name)
	}
	if err == nil {
		err = b.Close()
	}
	if err != nil {
		k.t.Fatal(err)
	}
}

// round runs the writers, kills each at a random moment, and checks the log.
func (k *killer) round(writers int) {
	all, err := killtest.Round(k.rnd, writers, func(seed uint64) *exec.Cmd { return killtest.Command(k.root, seed, k.name) })
	if err != nil {
		k.t.Error(err)
	}
	for seed, lines := range all {
		for n, line := range lines {
			if line != strconv.Itoa(n) {
				k.t.Errorf("acknowledged %q, expected %d", line, n)
			}
		}
		k.acked[strconv.FormatUint(seed, 10)] = len(lines)
		k.counts.Acknowledged(len(lines))
	}
	k.check()
}

// check reads the log: it has all acknowledged records of each writer, in order, once, and at most one more of each.
func (k *killer) check() {
	b, err := file.New(k.root, file.Options{ReadOnly: true})
	if err != nil {
		k.t.Fatal(err)
	}
	defer b.Close()
	at, err := b.Stat(k.t.Context(), k.name)
	k.counts.Unreadable(k.name, err)
	found := map[string]int{}
	for r, err := range b.Read(k.t.Context(), at, 0) {
		k.counts.Unreadable(k.name, err)
		var m mark
		if err := json.Unmarshal(r.Data, &m); err != nil {
			if !r.Torn {
				k.counts.Unreadable(k.name, fmt.Errorf("at %d: a line that is not a record: %.80q", r.Offset, r.Data))
			}
			continue
		}
		if m.N != found[m.Writer] {
			k.t.Fatalf("at %d: number %d of writer %s, expected %d", r.Offset, m.N, m.Writer, found[m.Writer])
		}
		found[m.Writer]++
	}
	for writer, n := range k.acked {
		if found[writer] < n || found[writer] > n+1 {
			k.counts.Lost("writer %s acknowledged %d and %d are there", writer, n, found[writer])
		}
	}
}
