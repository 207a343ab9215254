package mcp

import "slices"

// filler takes as many of n items as fit into a result.
type filler[T any] struct {
	room *room
	kept int // room for what comes later
	n    int
	// make reads an item and gives a function that makes it with at most so many bytes of text.
	make func(i int) (func(most int) T, error)
	most int
}

// one makes an item. The first of a result is made smaller until it fits: a result without any would never end.
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

// forward takes items from a number on, and gives the number after the last.
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

// backward takes items before a number, and gives that of the first. They are in order.
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
