package sorting_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/sorting"
)

type item struct {
	Key, Place int
	Rest       [10]int
}

func byKey(a, b item) int { return a.Key - b.Key }

func items(r *rand.Rand, n, keys int) []item {
	list := make([]item, n)
	for i := range list {
		list[i] = item{Key: r.IntN(keys), Place: i}
	}
	return list
}

// By and Large return the same as slices.SortStableFunc.
func TestBy(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 60 {
		for _, keys := range []int{1, 3, 1000} {
			list := items(r, n, keys)
			if n%7 == 0 {
				slices.SortFunc(list, byKey)
			}
			want, large := slices.Clone(list), slices.Clone(list)
			slices.SortStableFunc(want, byKey)
			if diff := difftest.Diff(want, sorting.Large(large, func(i, j int) int { return byKey(large[i], large[j]) })); diff != "" {
				t.Fatalf("%d large elements, %d keys (-slices +sorting):\n%s", n, keys, diff)
			}
			sorting.By(list, byKey)
			if diff := difftest.Diff(want, list); diff != "" {
				t.Fatalf("%d elements, %d keys (-slices +sorting):\n%s", n, keys, diff)
			}
		}
	}
	sorting.By([]string(nil), func(a, b string) int { panic("nothing to compare") })
}

// Sorting a sorted slice allocates nothing.
func TestSorted(t *testing.T) {
	list := items(rand.New(rand.NewPCG(1, 2)), 100, 50)
	sorting.By(list, byKey)
	if n := testing.AllocsPerRun(10, func() { sorting.By(list, byKey) }); n > 1 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkBy(b *testing.B) {
	list := items(rand.New(rand.NewPCG(1, 2)), 10_000, 1e6)
	for _, way := range []struct {
		name string
		sort func([]item)
	}{
		{"sorting", func(l []item) { sorting.By(l, byKey) }},
		{"stable", func(l []item) { slices.SortStableFunc(l, byKey) }},
		{"unstable", func(l []item) { slices.SortFunc(l, byKey) }},
	} {
		b.Run(way.name, func(b *testing.B) {
			for b.Loop() {
				way.sort(slices.Clone(list))
			}
		})
	}
}
