package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// flaky fails appends and syncs before they do anything, as its faults say.
type flaky struct {
	backend.Backend
	*faults
}

type faults struct{ append, sync func() error }

func (b flaky) Append(ctx context.Context, at backend.Log, records ...[]byte) (backend.Log, error) {
	if b.faults.append != nil {
		return backend.Log{}, b.faults.append()
	}
	return b.Backend.Append(ctx, at, records...)
}

func (b flaky) Sync(ctx context.Context, at backend.Log) error {
	if b.sync != nil {
		return b.sync()
	}
	return backend.Sync(ctx, b.Backend, at)
}

// busy is flaky, and another program appends to each log before it is removed.
type busy struct {
	flaky
	record []byte
}

func (b busy) ReplaceShared(ctx context.Context, at backend.Log, opt backend.RewriteOptions, records ...[]byte) (backend.Log, backend.Late, error) {
	return backend.Replace(ctx, b.Backend, at, opt, records...)
}

func (b busy) RemoveShared(ctx context.Context, at backend.Log, opt backend.RewriteOptions) (backend.Late, error) {
	if _, err := b.Backend.Append(ctx, at, b.record); err != nil {
		return backend.Late{}, err
	}
	return backend.Remove(ctx, b.Backend, at, opt)
}

// A leaf that was moved is still moved after an append that wrote nothing: the next one goes where the session says.
func TestMovedLeafAfterFailure(t *testing.T) {
	for _, fails := range []error{backend.ErrLocked, context.Canceled} {
		d := newDesk(t)
		var f faults
		st := d.wrapping(func(b backend.Backend) backend.Backend { return flaky{b, &f} })
		s := d.Closing(st.Create(t.Context(), d.fill(store.CreateOptions{Dialect: d.Format("codex"), CWD: "/w"})))
		say := func(text, answer string) session.EntryID {
			_, err := s.AppendUser(t.Context(), text)
			d.Must(err)
			got, err := s.AppendAssistant(t.Context(), []session.Part{session.Text{Text: answer}}, store.Answer{})
			d.Must(err)
			return got.ID
		}
		first := say("one", "two")
		say("three", "four")
		_, err := s.Branch(t.Context(), first, store.BranchOptions{})
		d.Must(err)

		ctx, cancel := context.WithCancel(t.Context())
		f.append = func() error {
			if errors.Is(fails, context.Canceled) {
				cancel()
			}
			return fails
		}
		if _, err := s.AppendUser(ctx, "lost"); !errors.Is(err, fails) {
			t.Fatalf("got %v, want %v", err, fails)
		}
		cancel()
		f.append = nil
		say("five", "six")
		d.Same(d.Texts(s), d.Seen(s.Path()))
		if text := strings.Join(d.Seen(s.Path()), " "); strings.Contains(text, "three") || !strings.Contains(text, "two") {
			t.Errorf("after %v the model sees %q", fails, text)
		}
	}
}

// A branch of a linear log is refused if another program writes to the log. Once an entry is on the branch, other programs may write again.
func TestMovedLeafBesideWriter(t *testing.T) {
	d := newDesk(t)
	st := d.Store
	s := d.Closing(st.Create(t.Context(), d.fill(store.CreateOptions{Dialect: d.Format("codex"), CWD: "/w"})))
	one, err := s.AppendUser(t.Context(), "one")
	d.Must(err)
	_, err = s.AppendUser(t.Context(), "two")
	d.Must(err)
	theirs := func(text string) {
		other := d.Closing(st.OpenWrite(t.Context(), s.Path(), store.CreateOptions{}))
		_, err := other.AppendUser(t.Context(), text)
		d.Must(err)
	}
	_, err = s.Branch(t.Context(), one.ID, store.BranchOptions{})
	d.Must(err)
	theirs("three")
	if _, err := s.AppendUser(t.Context(), "four"); !errors.Is(err, store.ErrForeign) {
		t.Fatalf("the first entry of the branch: %v, want %v", err, store.ErrForeign)
	}
	_, err = s.Branch(t.Context(), one.ID, store.BranchOptions{})
	d.Must(err)
	_, err = s.AppendUser(t.Context(), "five")
	d.Must(err)
	theirs("six")
	if _, err := s.AppendUser(t.Context(), "seven"); err != nil {
		t.Errorf("the second entry of the branch: %v, want no error", err)
	}
}

// An entry that moves the leaf, written while another process writes, leaves the leaf where it points.
func TestInterleavedLeaf(t *testing.T) {
	d := newDesk(t)
	var inner *interleaving
	st := d.wrapping(func(b backend.Backend) backend.Backend {
		inner = &interleaving{Backend: b}
		return inner
	})
	s := d.Closing(st.Create(t.Context(), d.fill(store.CreateOptions{Dialect: d.Format("operator"), CWD: "/w"})))
	one, err := s.AppendUser(t.Context(), "one")
	d.Must(err)
	_, err = s.AppendUser(t.Context(), "two")
	d.Must(err)
	theirs := strings.ReplaceAll(d.ReadLines(s.Path())[1], string(one.ID), "theirs01")
	inner.before = func() { d.AppendPlain(s.Path(), theirs+"\n") }
	inner.after = func() {}
	_, err = s.Branch(t.Context(), one.ID, store.BranchOptions{Durable: true})
	d.Must(err)
	if s.Leaf() != one.ID {
		t.Errorf("leaf %s, want %s", s.Leaf(), one.ID)
	}
	three, err := s.AppendUser(t.Context(), "three")
	d.Must(err)
	if e, err := s.Tree().Get(three.ID); err != nil || e.Parent != one.ID {
		t.Errorf("the next entry follows %q, %v", e.Parent, err)
	}
	d.MemoryEqualsDisk(s)
}

// A move that fails before the old log is removed leaves the session only where it was.
func TestMoveFails(t *testing.T) {
	d := newDesk(t)
	var f faults
	st := d.wrapping(func(b backend.Backend) backend.Backend { return flaky{b, &f} })
	s := d.Closing(st.Create(t.Context(), d.fill(store.CreateOptions{Dialect: d.Format("omp"), CWD: "/a"})))
	d.Answer(s, "one")
	old := s.Path()
	broken := errors.New("broken")
	f.sync = func() error { return broken }
	if err := s.Move(t.Context(), "/b"); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	f.sync = nil
	if s.Path() != old || d.Exists(strings.ReplaceAll(old, "--a--", "--b--")) {
		t.Errorf("the session is at %s, and there is a copy", s.Path())
	}
	d.Must(s.Move(t.Context(), "/b"))
	d.Same(d.Texts(s), []string{"one"})
}

// A move fails because the late records of another program cannot be kept: the error says so, and the copy is removed.
func TestMoveOfGrownFails(t *testing.T) {
	d := newDesk(t)
	var f faults
	st := d.wrapping(func(b backend.Backend) backend.Backend { return busy{flaky{b, &f}, []byte(`{"type":"custom"}`)} })
	s := d.Closing(st.Create(t.Context(), d.fill(store.CreateOptions{Dialect: d.Format("omp"), CWD: "/a"})))
	d.Answer(s, "one")
	old := s.Path()
	full := errors.New("no space")
	f.append = func() error { return full }
	if err := s.Move(t.Context(), "/b"); !errors.Is(err, full) {
		t.Errorf("the move fails with %v, want %v", err, full)
	}
	f.append = nil
	if s.Path() != old || d.Exists(strings.ReplaceAll(old, "--a--", "--b--")) {
		t.Errorf("the session is at %s, and there is a copy", s.Path())
	}
	d.Must(s.Move(t.Context(), "/b"))
	if d.Same(d.Texts(s), []string{"one"}); d.Exists(old) {
		t.Error("the session is at both places")
	}
}
