package postgres

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/treeline-dev/treeline/internal/difftest"
)

// someKeys makes chunks with random keys, some of them in many chunks. It returns the keys as pairs, and the chunks by key.
func someKeys(r *rand.Rand, chunks, keys int) (ids []int64, p pairs, want map[uint32][]int64) {
	want = map[uint32][]int64{}
	id := int64(r.IntN(1 << 40))
	for n := range chunks {
		id += 1 + int64(r.IntN(3))*int64(r.IntN(1000))
		ids = append(ids, id)
		for range keys {
			key := r.Uint32()
			if r.IntN(2) == 0 {
				key = key % 50 * 0x05555555 // common keys, the first and the last possible one among them
			}
			if list := want[key]; len(list) == 0 || list[len(list)-1] != id {
				want[key] = append(list, id)
			}
			p = append(p, uint64(key)<<32|uint64(n))
		}
	}
	return ids, p, want
}

// TestInvert: each key is found with its chunks, and without others.
func TestInvert(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, size := range [][2]int{{1, 1}, {1, 3000}, {300, 100}, {40, 0}} {
		ids, p, want := someKeys(r, size[0], size[1])
		list, width := invert(p, ids)
		got := map[uint32][]int64{}
		for i := range list {
			err := list[i].runs(ids[0], width, func(r run) bool {
				got[r.key] = r.ids(nil)
				return true
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if diff := difftest.Diff(want, got, difftest.EmptyIsNil); diff != "" {
			t.Fatalf("%d chunks (-want +got):\n%s", size[0], diff)
		}
		for key := range want {
			at, ok := slices.BinarySearchFunc(list, int32(uint64(key)>>(32-width)), func(b bucket, n int32) int { return int(b.number - n) })
			if !ok {
				t.Fatalf("key %x has no bucket", key)
			}
			found, err := list[at].find(ids[0], width, key, nil)
			if err != nil || !slices.Equal(found, want[key]) {
				t.Fatalf("key %x: %v, %v, want %v", key, found, err, want[key])
			}
			if found, _ := list[at].find(ids[0], width, key+1, nil); len(found) > 0 && want[key+1] == nil {
				t.Fatalf("key %x is in %v", key+1, found)
			}
		}
		for i := range list {
			if len(list[i].data) > 4*rowBytes && len(list) > 1 {
				t.Errorf("a row has %d bytes", len(list[i].data))
			}
		}
	}
}

// TestDamagedPosting: bytes that are not a bucket cause an error or yield other keys, and nothing worse.
func TestDamagedPosting(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	ids, p, _ := someKeys(r, 20, 20)
	list, width := invert(p, ids)
	refused := 0
	for range 2000 {
		b := bucket{data: slices.Clone(list[0].data)}
		b.data = b.data[:r.IntN(len(b.data))]
		for range r.IntN(3) {
			if len(b.data) > 0 {
				b.data[r.IntN(len(b.data))] = byte(r.Uint32())
			}
		}
		err := b.runs(ids[0], width, func(r run) bool {
			r.ids(nil)
			return true
		})
		if errors.Is(err, errPosting) {
			refused++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if refused == 0 {
		t.Error("nothing was refused")
	}
	b := bucket{data: binary.AppendUvarint([]byte{1}, 1<<40)}
	if err := b.runs(0, 0, func(run) bool { return true }); !errors.Is(err, errPosting) {
		t.Errorf("a list that ends early: %v", err)
	}
}

// TestBoth: both returns the same as a loop over both lists.
func TestBoth(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		some := func(n int) (list []int64) {
			for id := range int64(200) {
				if r.IntN(200) < n {
					list = append(list, id)
				}
			}
			return list
		}
		a, b := some(r.IntN(200)), some(r.IntN(200))
		var want []int64
		for _, id := range a {
			if slices.Contains(b, id) {
				want = append(want, id)
			}
		}
		if got := both(slices.Clone(a), b); !slices.Equal(got, want) {
			t.Fatalf("%v and %v: %v, want %v", a, b, got, want)
		}
	}
}
