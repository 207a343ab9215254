// Package sorting sorts slices with code that all types share.
//
// slices.SortFunc and slices.SortStableFunc are compiled anew for each type, about 15 KB of the program each time, and treeline sorts some fifty types.
// By takes a few hundred bytes for each. It sorts numbers instead of elements, so it also moves large elements only twice.
package sorting

import (
	"reflect"
	"slices"
)

// By sorts a slice in ascending order. compare is negative if a comes before b, and positive if b comes before a. The sort is stable.
func By[S ~[]T, T any](list S, compare func(a, b T) int) {
	sort(list, len(list), func(i, j int) int { return compare(list[i], list[j]) })
}

// sort is the part of By that needs no code for each type.
func sort(list any, n int, compare func(i, j int) int) {
	from := places(n, compare)
	if from == nil {
		return
	}
	old := reflect.ValueOf(list)
	sorted := reflect.MakeSlice(old.Type(), n, n)
	for i, at := range from {
		sorted.Index(i).Set(old.Index(int(at)))
	}
	reflect.Copy(old, sorted)
}

// Large sorts a slice of large elements in place, and returns it. It moves each element once, along the cycles of the permutation. compare
// takes indexes of the slice as it was. The sort is stable.
func Large[T any](list []T, compare func(i, j int) int) []T {
	from := places(len(list), compare)
	for start := range from {
		if from[start] < 0 {
			continue
		}
		first, k := list[start], start
		for int(from[k]) != start {
			next := int(from[k])
			list[k], from[k] = list[next], -1
			k = next
		}
		list[k], from[k] = first, -1
	}
	return list
}

// places returns where each element of the sorted slice comes from; nil if they are in order.
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
