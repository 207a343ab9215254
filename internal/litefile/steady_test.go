package litefile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/treeline-dev/treeline/internal/durable"
)

// A read during a change is repeated, and its error is ignored.
func TestSteadyReadsAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	grow := func(n int) {
		if err := os.WriteFile(path, []byte(strings.Repeat("x", n)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	grow(1)
	var sizes []int64
	err := Steady(t.Context(), durable.OS{}, path, func(s Stamp) (bool, error) {
		sizes = append(sizes, s.DB.Size)
		if len(sizes) < 3 {
			grow(len(sizes) + 1)
			return false, errors.New("half of it")
		}
		return false, nil
	})
	if err != nil || len(sizes) != 3 || sizes[2] != 3 {
		t.Errorf("%v; sizes %v", err, sizes)
	}
}

func TestSteadyEnds(t *testing.T) {
	t.Parallel()
	no, gone := errors.New("no"), errors.New("gone")
	path := filepath.Join(t.TempDir(), "a.db")
	n := 0
	write := func() {
		n++
		if err := os.WriteFile(path, []byte(strings.Repeat("x", n)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	for _, c := range []struct {
		name string
		read func() (bool, error)
		want error
	}{
		{"an error without a change", func() (bool, error) { return false, no }, no},
		{"of one moment anyway", func() (bool, error) { write(); return true, nil }, nil},
		{"removed", func() (bool, error) { return false, os.Remove(path) }, fs.ErrNotExist},
		{"cancelled", func() (bool, error) { write(); cancel(gone); return false, nil }, gone},
	} {
		write()
		calls := 0
		err := Steady(ctx, durable.OS{}, path, func(Stamp) (bool, error) { calls++; return c.read() })
		if !errors.Is(err, c.want) || calls != 1 {
			t.Errorf("%s: %v after %d calls, want %v after one", c.name, err, calls, c.want)
		}
	}
}

// Steady gives up if the database never stops changing. The clock is fake.
func TestSteadyGivesUp(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	synctest.Test(t, func(t *testing.T) {
		n := 0
		write := func() {
			n++
			if err := os.WriteFile(path, []byte(strings.Repeat("x", n)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write()
		err := Steady(t.Context(), durable.OS{}, path, func(Stamp) (bool, error) { write(); return false, nil })
		if !errors.Is(err, ErrRestless) || !strings.Contains(err.Error(), path) {
			t.Error(err)
		}
	})
}

// Several connections may write at once. A copier runs alone, and goes before later writers.
func TestClaims(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, id := newClaims(), fileID{1, 2}
		first, second := c.write(id), c.write(id)
		if _, ok := c.copy(id, false); ok {
			t.Fatal("a copy was made during a write")
		}
		if release, ok := c.copy(fileID{1, 3}, false); !ok {
			t.Fatal("another file cannot be copied")
		} else {
			release()
		}
		var order []string
		for _, name := range []string{"copy", "copy again"} {
			go func() {
				release, _ := c.copy(id, true)
				order = append(order, name)
				release()
			}()
			synctest.Wait()
		}
		go func() {
			release := c.write(id)
			order = append(order, "write")
			release()
		}()
		synctest.Wait()
		first()
		synctest.Wait()
		if len(order) > 0 || !c.written(id) {
			t.Fatalf("before the last writer is done: %q", order)
		}
		second()
		synctest.Wait()
		if len(order) != 3 || order[2] != "write" {
			t.Errorf("order %q, want the copies first", order)
		}
		if len(c.files) > 0 {
			t.Errorf("claims are left: %v", c.files)
		}
	})
}
