package store_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/durable/crashfs"
	"github.com/treeline-dev/treeline/internal/durable/faultfs"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

const crashHome = "/h"

// deskOn returns a desk on another file system; time and ids are the same in each run.
func deskOn(t *testing.T, fsys durable.FS, terminal string) *desk {
	return &desk{world.NewIn(t, crashHome, func(w *world.World) { w.FS, w.Quiet, w.Terminal = fsys, true, terminal })}
}

// story is a session that performs every kind of write, and what must be found of it whatever happens.
type story struct {
	d     *desk
	s     *store.Session
	level store.Durability
	brief bool // without the slow steps

	path    string
	mayLack bool              // the log need not exist
	lasting []session.EntryID // acknowledged, as lasting as was asked for
	written []session.EntryID // acknowledged, for as long as the machine lives
	titles  []string          // the session has one of these names
}

// append runs an append and notes what became of it.
func (y *story) append(do func() (store.Appended, error)) error {
	got, err := do()
	if err != nil {
		return err
	}
	y.written = append(y.written, got.ID)
	if got.Durable {
		y.mayLack = false
	}
	if y.level == store.DurabilityAlways && got.Durable {
		y.synced()
	}
	return nil
}

// synced notes that all that was written is lasting.
func (y *story) synced() { y.lasting = append(y.lasting[:0:0], y.written...) }

var picture1 = base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 900))

// steps returns all kinds of writes, one after the other. Each is run only if the ones before it succeeded.
func (y *story) steps(ctx context.Context) []struct {
	name string
	do   func() error
} {
	s := func() *store.Session { return y.s }
	say := func(role, text string) func() error {
		return func() error {
			return y.append(func() (store.Appended, error) { return s().AppendMessage(ctx, world.Message(role, text)) })
		}
	}
	image := func() error {
		m := fmt.Appendf(nil, `{"role":"user","content":[{"type":"image","data":%q}]}`, picture1)
		return y.append(func() (store.Appended, error) { return s().AppendMessage(ctx, m) })
	}
	return []struct {
		name string
		do   func() error
	}{
		{"create", func() error {
			opt := y.d.fill(store.CreateOptions{CWD: "/w", Write: store.WriteOptions{Durability: y.level, Defer: dialect.DeferAssistant}})
			made, err := y.d.Create(ctx, opt)
			if err == nil {
				y.s, y.path, y.mayLack = made, made.Path(), true
			}
			return err
		}},
		{"a question that waits", say("user", "question")},
		{"a picture that waits", image},
		{"the first answer", func() error {
			err := say("assistant", "answer")()
			if err == nil {
				y.synced() // a new log is durable at once
			}
			return err
		}},
		{"an append", say("user", "one")},
		{"a long append", say("user", strings.Repeat("long ", 2000))},
		{"a string that is cut", func() error {
			if y.brief {
				return nil
			}
			return say("user", strings.Repeat("x", 500_100))()
		}},
		{"a flush", func() error {
			err := s().Flush(ctx)
			if err == nil {
				y.synced()
			}
			return err
		}},
		{"a label", func() error {
			return y.append(func() (store.Appended, error) { return s().Label(ctx, y.written[0], "start") })
		}},
		{"a name", func() error {
			y.titles = []string{"", "named"}
			err := s().Rename(ctx, "named")
			if err == nil {
				y.titles = []string{"named"}
				y.synced()
			}
			return err
		}},
		{"a branch", func() error {
			return y.append(func() (store.Appended, error) {
				return s().Branch(ctx, y.written[1], store.BranchOptions{Durable: true})
			})
		}},
		{"an append behind it", say("assistant", "two")},
		{"closing", func() error {
			err := s().Close()
			if err == nil {
				y.synced()
			}
			return err
		}},
	}
}

// found opens the log as it was left, continues it, and compares.
func (y *story) found(fsys durable.FS) error {
	d := deskOn(y.d.T, fsys, "")
	ctx := context.Background()
	s, err := d.OpenWrite(ctx, y.path, d.fill(store.CreateOptions{Dialect: d.Format("omp")}))
	if errors.Is(err, backend.ErrNotExist) && y.mayLack {
		return nil
	}
	if err != nil {
		return err
	}
	defer s.Close()
	if err := y.compare(ctx, d, s); err != nil {
		return err
	}
	probe, err := s.AppendMessage(ctx, world.Message("user", "probe"))
	if err != nil {
		return fmt.Errorf("it cannot be gone on with: %w", err)
	}
	r, err := d.Open(ctx, y.path, store.OpenOptions{})
	if err != nil {
		return err
	}
	defer r.Close()
	if !r.Tree().Has(probe.ID) || r.Leaf() != probe.ID {
		return errors.New("what was appended afterwards is not there")
	}
	return y.compare(ctx, d, r)
}

var refPattern = regexp.MustCompile(`blob:sha256:[0-9a-f]{64}`)

// compare looks for what must be there: all lasting entries, in order, and every blob that is named.
func (y *story) compare(ctx context.Context, d *desk, s *store.Session) error {
	next := 0
	seen := map[session.EntryID]bool{}
	blobs := blob.NewDirFS(d.blobDir(), d.FS)
	for e := range s.Tree().Entries() {
		if seen[e.ID] {
			return fmt.Errorf("entry %s is there twice", e.ID)
		}
		seen[e.ID] = true
		if next < len(y.lasting) && e.ID == y.lasting[next] {
			next++
		}
		raw, err := e.Raw()
		if err != nil {
			return err
		}
		for _, ref := range refPattern.FindAll(raw, -1) {
			r, err := blob.ParseRef(string(ref))
			if err == nil {
				_, err = blob.Get(ctx, blobs, r)
			}
			if err != nil {
				return fmt.Errorf("entry %s: %w", e.ID, err)
			}
		}
	}
	if next < len(y.lasting) {
		return fmt.Errorf("entry %s, number %d of %d, is lost", y.lasting[next], next, len(y.lasting))
	}
	if y.titles != nil {
		title, ok := s.Header().Title, false
		for _, want := range y.titles {
			ok = ok || title == want
		}
		if !ok {
			return fmt.Errorf("the name is %q, want one of %q", title, y.titles)
		}
	}
	return nil
}

// The machine crashes after each file operation of every kind of write, in many ways. What was acknowledged is there, a rewrite took place
// or did not, no entry names a missing blob, and the session can be continued.
func TestCrash(t *testing.T) {
	for _, level := range []store.Durability{store.DurabilityFlush, store.DurabilityAlways} {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			live, c := crashfs.New(crashHome), soaktest.Begin(t)
			y := &story{d: deskOn(t, live, "tty-1"), level: level}
			where, crashes := "", 0
			mixes := uint64(soaktest.Part(4, 1))
			live.OnOp(func(op string) {
				if t.Failed() || y.path == "" || reads(op) {
					return
				}
				fates := []crashfs.Fate{crashfs.Lost, crashfs.Kept}
				for seed := range mixes {
					fates = append(fates, crashfs.Mixed(c.Seed(seed+uint64(crashes))))
				}
				for i, fate := range fates {
					crashes++
					c.Did(1)
					if err := y.found(live.Crash(fate)); err != nil {
						c.Lost("%s, crash %d after %q: %v", where, i, op, err)
						return
					}
					c.Acknowledged(len(y.lasting))
				}
			})
			for _, step := range y.steps(t.Context()) {
				where = step.name
				if err := step.do(); err != nil {
					t.Fatalf("%s: %v", where, err)
				}
				if y.path != "" {
					if err := y.found(live.Crash(crashfs.Lost)); err != nil {
						t.Errorf("after %s: %v", where, err)
					}
				}
			}
			t.Logf("%d crashes", crashes)
		})
	}
}

// reads reports whether an operation changes nothing, so that a crash after it equals a crash before it.
func reads(op string) bool {
	for _, prefix := range []string{"stat ", "fstat ", "read ", "open ", "close ", "lock ", "unlock ", "readdir "} {
		if strings.HasPrefix(op, prefix) {
			return true
		}
	}
	return false
}

// A migration crashes after each operation: the old log is there, or the new one and the old one beside it.
func TestCrashInMigration(t *testing.T) {
	t.Parallel()
	old := `{"type":"session","id":"s","timestamp":"2025-12-01T00:00:00.000Z","cwd":"/w"}` + "\n" +
		`{"type":"message","timestamp":"2025-12-01T00:00:01.000Z","message":{"role":"user","content":"one"}}` + "\n"
	live := crashfs.New(crashHome)
	d := deskOn(t, live, "")
	path := filepath.Join(crashHome, "a.jsonl")
	if _, err := durable.Create(live, path, 0o600, strings.NewReader(old)); err != nil {
		t.Fatal(err)
	}
	crashes := 0
	live.OnOp(func(op string) {
		if t.Failed() || reads(op) {
			return
		}
		for seed := range uint64(10) {
			crashes++
			after := deskOn(t, live.Crash(crashfs.Mixed(seed)), "")
			r, err := after.Open(t.Context(), path, store.OpenOptions{})
			if err != nil {
				t.Errorf("after %q: %v", op, err)
				return
			}
			version := r.Header().Version
			after.Same(after.Texts(r), []string{"one"})
			r.Close()
			if version == 3 {
				kept, err := after.Open(t.Context(), path+".v1.bak", store.OpenOptions{})
				if err != nil || kept.Header().Version != 1 {
					t.Errorf("after %q: migrated, and the original is not kept: %v", op, err)
					return
				}
				kept.Close()
			}
			s := after.Edit(path, store.WriteOptions{})
			after.User(s, "two")
			after.Same(after.Seen(path), []string{"one", "two"})
		}
	})
	d.Must(d.Edit(path, store.WriteOptions{Durability: store.DurabilityNone}).Close())
	t.Logf("%d crashes", crashes)
}

// Every operation fails, in every way: an error comes back and is repeated by every later write, it is logged once, the tree has nothing
// that is not in the log, and opening the session again recovers.
func TestFaults(t *testing.T) {
	for _, level := range []store.Durability{store.DurabilityFlush, store.DurabilityAlways} {
		for i, fault := range faultfs.Faults {
			t.Run(string(level)+"/"+fault.Name, func(t *testing.T) {
				t.Parallel()
				c, failures := soaktest.Begin(t), 0
				step := soaktest.Part(1, 3) // each operation fails in one way at least
				for n := 1 + i%step; !t.Failed(); n += step {
					inner := crashfs.New(crashHome)
					fsys := faultfs.New(inner, n, fault)
					y := &story{d: deskOn(t, fsys, "tty-1"), level: level, brief: true}
					failed := y.run(fmt.Sprintf("operation %d", n))
					if fsys.Count() < n {
						if failed {
							t.Error("an error without a fault")
						}
						t.Logf("%d operations, %d failures", fsys.Count(), failures)
						return
					}
					if failed {
						failures++
					}
					if y.path == "" {
						continue
					}
					// The machine lives: everything acknowledged is there, except what still waited for its log.
					if !y.mayLack {
						y.synced()
					}
					c.Did(1)
					c.Acknowledged(len(y.lasting))
					if err := y.found(inner); err != nil {
						c.Lost("operation %d: %v", n, err)
					}
				}
			})
		}
	}
}

// run performs the steps up to the first that fails, and looks at the session then.
func (y *story) run(where string) (failed bool) {
	ctx := context.Background()
	t := y.d.T
	for _, step := range y.steps(ctx) {
		acknowledged := len(y.written)
		err := step.do()
		if err == nil {
			continue
		}
		where += ", " + step.name
		if y.s == nil || step.name == "closing" {
			return true
		}
		got, again := y.s.AppendMessage(ctx, world.Message("user", "again"))
		if step.name == "a name" && (again == nil || again.Error() != err.Error()) {
			// The log could not be read for the rewrite: nothing was written, and nothing is wrong with it.
			if again == nil {
				y.written = append(y.written, got.ID)
				return true
			}
			err = again
			_, again = y.s.AppendMessage(ctx, world.Message("user", "again"))
		}
		if again == nil || again.Error() != err.Error() {
			t.Errorf("%s: %v; then %v", where, err, again)
		}
		if logged := strings.Count(y.d.Logged(), "could not be written"); logged != 1 {
			t.Errorf("%s: logged %d times", where, logged)
		}
		if got := y.s.Tree().Len(); got != acknowledged {
			t.Errorf("%s: %d entries in the tree, %d acknowledged", where, got, acknowledged)
		}
		if got := y.s.Leaf(); acknowledged > 0 && got != y.written[acknowledged-1] {
			t.Errorf("%s: the leaf is %s", where, got)
		}
		if closed := y.s.Close(); closed == nil {
			t.Errorf("%s: Close does not tell of %v", where, err)
		}
		return true
	}
	return false
}
