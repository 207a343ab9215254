package file_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/file"
	"github.com/treeline-dev/treeline/internal/durable/killtest"
)

func TestMain(m *testing.M) { killtest.Main(m, childWriter) }

// mark is what a writer writes: who it is and how many it wrote before.
type mark struct {
	Writer string `json:"writer"`
	N      int    `json:"n"`
	Pad    string `json:"pad"`
}

// childWriter is "root seed name-of-the-log". It appends records of all sizes, now and then rewrites the whole log, and prints the number of each record
// after it was acknowledged.
func childWriter(args string) error {
	var root, name string
	var seed uint64
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

// rewrite replaces the log by what it holds and one more.
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

// Writers are killed at any moment. Nothing that one of them acknowledged is lost, nothing is there twice or in part.
func TestKill(t *testing.T) {
	t.Parallel()
	rounds := killtest.Rounds(40, 10, raceDetector)
	for _, writers := range []int{1, 2} {
		t.Run(fmt.Sprintf("writers=%d", writers), func(t *testing.T) {
			t.Parallel()
			k := killer{t: t, rnd: rand.New(rand.NewPCG(uint64(writers), 0)), root: t.TempDir()}
			acks := 0
			for round := range rounds {
				if round%3 == 0 { // a new log now and then, or checking it takes longer than writing it
					k.begin(round)
				}
				acks += k.round(writers)
				if t.Failed() {
					t.Fatalf("round %d", round)
				}
			}
			torn, _ := filepath.Glob(filepath.Join(k.root, "*.torn-*"))
			t.Logf("%d rounds, %d acknowledged, %d torn ends moved", rounds, acks, len(torn))
		})
	}
}

type killer struct {
	t     *testing.T
	rnd   *rand.Rand
	root  string
	name  string
	acked map[string]int // by writer: how many were acknowledged
}

func (k *killer) begin(round int) {
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

// round starts the writers, kills them one after the other at moments of chance, and looks.
func (k *killer) round(writers int) (acks int) {
	var group sync.WaitGroup
	var mu sync.Mutex
	for range writers {
		seed := k.rnd.Uint64() >> 1
		patience := time.Duration(k.rnd.IntN(8_000)) * time.Microsecond
		after := k.rnd.IntN(12)
		group.Go(func() {
			n, err := k.runAndKill(seed, after, patience)
			if err != nil {
				k.t.Error(err)
			}
			mu.Lock()
			k.acked[strconv.FormatUint(seed, 10)] = n
			acks += n
			mu.Unlock()
		})
	}
	group.Wait()
	k.check()
	return acks
}

// runAndKill kills a writer some time after some acknowledgements, and returns how many there were in the end.
func (k *killer) runAndKill(seed uint64, after int, patience time.Duration) (n int, err error) {
	lines, err := killtest.Run(killtest.Command(k.root, seed, k.name), after+1, patience)
	for n, line := range lines {
		if line != strconv.Itoa(n) {
			return n, fmt.Errorf("acknowledged %q, expected %d", line, n)
		}
	}
	return len(lines), err
}

// check reads the log: of each writer all that it acknowledged is there, in order, once; besides at most one more.
func (k *killer) check() {
	b, err := file.New(k.root, file.Options{ReadOnly: true})
	if err != nil {
		k.t.Fatal(err)
	}
	defer b.Close()
	at, err := b.Stat(k.t.Context(), k.name)
	if err != nil {
		k.t.Fatal(err)
	}
	found := map[string]int{}
	for r, err := range b.Read(k.t.Context(), at, 0) {
		if err != nil {
			k.t.Fatal(err)
		}
		var m mark
		if err := json.Unmarshal(r.Data, &m); err != nil {
			if !r.Torn {
				k.t.Fatalf("at %d: a line that is no record: %.80q", r.Offset, r.Data)
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
			k.t.Fatalf("writer %s acknowledged %d and %d are there", writer, n, found[writer])
		}
	}
}
