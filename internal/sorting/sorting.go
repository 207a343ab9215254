// Package sorting sorts slices with code that all types share.
//
// slices.SortFunc and slices.SortStableFunc are compiled anew for each type, about 15 KB of the program each time, and treeline sorts some fifty types.
// By takes 1 KB for each. It sorts numbers instead of elements, so it also moves large elements only twice.
package sorting

import "slices"

// By sorts a slice in ascending order, as compare says: it is negative if a comes before b, and positive if b comes before a. Elements that are equal
// stay in their order.
func By[S ~[]T, T any](list S, compare func(a, b T) int) {
	from := places(len(list), func(i, j int) int { return compare(list[i], list[j]) })
	if from == nil {
		return
	}
	sorted := make(S, len(list))
	for i, at := range from {
		sorted[i] = list[at]
	}
	copy(list, sorted)
}

// places says from where each element of the sorted slice comes; nil if they are in order.
//
//go:noinline
func places(n int, compare func(i, j int) int) []int32 {
	i := 1
	for i < n && compare(i-1, i) <= 0 {
		i++
	}
	if i >= n {
		return nil
	}
	from := make([]int32, n)
	for i := range from {
		from[i] = int32(i)
	}
	slices.SortFunc(from, func(a, b int32) int {
		if c := compare(int(a), int(b)); c != 0 {
			return c
		}
		return int(a - b)
	})
	return from
}
