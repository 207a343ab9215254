package mcp

import "slices"

// filler adds as many of n items as fit into a result.
type filler[T any] struct {
	room *room
	kept int // bytes that are reserved for later
	n    int
	// make reads an item. It returns a function that makes the item with at most the given number of bytes of text.
	make func(i int) (func(most int) T, error)
	most int
}

// one makes an item. The first item of a result is shortened until it fits: pages without any item would never come to an end.
func (f *filler[T]) one(i int, first bool) (item T, ok bool, err error) {
	shorten, err := f.make(i)
	if err != nil {
		return item, false, err
	}
	for most := f.most; ; most /= 2 {
		item = shorten(most)
		if ok, err = f.room.take(item); ok || err != nil || !first {
			return item, ok, err
		}
		if most == 0 {
			f.room.left = 0
			return item, true, nil
		}
	}
}

// forward adds items from a number on, and returns the number after the last one.
func (f *filler[T]) forward(from int) (list []T, to int, err error) {
	list = []T{}
	for to = from; to < f.n; to++ {
		item, ok, err := f.one(to, to == from)
		if err != nil {
			return nil, 0, err
		}
		if !ok {
			break
		}
		list = append(list, item)
	}
	return list, to, nil
}

// backward adds items before a number, and returns the number of the first one. They are in order.
func (f *filler[T]) backward(to int) (list []T, from int, err error) {
	list = []T{}
	for from = min(to, f.n); from > 0; from-- {
		item, ok, err := f.one(from-1, from == to && f.kept == 0)
		if err != nil {
			return nil, 0, err
		}
		if !ok {
			break
		}
		list = append(list, item)
	}
	slices.Reverse(list)
	return list, from, nil
}
