package litefile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Kinds of pages and the largest depth of a tree: one page has at least two children, and pages are counted in 32 bits.
const (
	leafPage  = 13
	innerPage = 5
	deepest   = 40
)

var errDamaged = errors.New("the database is damaged")

// Table calls visit with each row of the table whose tree begins at page root, in the order of row ids. It reads only what visit asks for
// and, for long rows, where their other pages are. The Row is valid until visit returns. The error is errors.ErrUnsupported for a database
// that is read from a copy, or whose texts are not UTF-8.
func (s *Snapshot) Table(root uint32, visit func(*Row) error) error {
	if text, err := s.utf8(); err != nil || !text {
		return errors.Join(err, errors.ErrUnsupported)
	}
	return s.tree(root, deepest, &Row{s: s}, visit)
}

func (s *Snapshot) tree(page uint32, depth int, r *Row, visit func(*Row) error) error {
	b, err := s.pageIn(&r.pages[max(depth-1, 0)], page)
	if err != nil {
		return err
	}
	head := pageHead(page)
	if r.visited++; depth == 0 || r.visited > s.count || len(b) < head+12 {
		return fmt.Errorf("page %d: %w", page, errDamaged)
	}
	if b[head] == leafPage {
		return r.cells(b, head, visit)
	}
	below, ok := children(b, head)
	if !ok {
		return fmt.Errorf("page %d: %w", page, errDamaged)
	}
	for _, child := range below {
		if err := s.tree(child, depth-1, r, visit); err != nil {
			return err
		}
	}
	return nil
}

// LeafRows calls visit with each row on a page, if it is a leaf of a table. A page that only looks like one yields rows that do not exist;
// visit must tolerate them.
func (s *Snapshot) LeafRows(page uint32, visit func(*Row)) {
	if page == 0 || page > s.count || s.copied != nil {
		return
	}
	b, err := s.page(page)
	if head := pageHead(page); err == nil && len(b) > head+8 && b[head] == leafPage {
		r := &Row{s: s}
		_ = r.cells(b, head, func(r *Row) error { visit(r); return nil })
	}
}

// IsLeaf reports whether a page is a leaf of a table.
func (s *Snapshot) IsLeaf(page uint32) bool {
	if page == 0 || page > s.count || s.copied != nil {
		return false
	}
	var kind [1]byte
	_, err := s.ReadAt(kind[:], s.offset(page)+int64(pageHead(page)))
	return err == nil && kind[0] == leafPage
}

// RowsOn calls visit with each row on those of the given pages that are leaves of the table whose tree begins at root. The pages must be
// sorted. It reads the inner pages of the tree, which are few.
func (s *Snapshot) RowsOn(root uint32, pages []uint32, visit func(*Row) error) error {
	r := &Row{s: s}
	return s.leaves(root, deepest, func(leaf uint32) error {
		if r.visited++; r.visited > s.count {
			return fmt.Errorf("page %d: %w", leaf, errDamaged)
		}
		if _, ok := slices.BinarySearch(pages, leaf); !ok {
			return nil
		}
		b, err := s.page(leaf)
		if err != nil || b[pageHead(leaf)] != leafPage {
			return errors.Join(err, fmt.Errorf("page %d: %w", leaf, errDamaged))
		}
		return r.cells(b, pageHead(leaf), visit)
	})
}

// leaves calls visit with the numbers of the leaves of a tree. All leaves are at the same depth, so one of several siblings shows whether
// the others are leaves.
func (s *Snapshot) leaves(page uint32, depth int, visit func(uint32) error) error {
	b, err := s.page(page)
	if err != nil {
		return err
	}
	head := pageHead(page)
	if b[head] == leafPage {
		return visit(page)
	}
	children, ok := children(b, head)
	if depth == 0 || !ok {
		return fmt.Errorf("page %d: %w", page, errDamaged)
	}
	first, err := s.page(children[0])
	if err != nil {
		return err
	}
	for _, child := range children {
		if first[pageHead(children[0])] == leafPage {
			err = visit(child)
		} else {
			err = s.leaves(child, depth-1, visit)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// children returns the pages below an inner page. ok is false if the page is not an inner page.
func children(b []byte, head int) (list []uint32, ok bool) {
	count := int(binary.BigEndian.Uint16(b[head+3:]))
	if b[head] != innerPage || head+12+2*count > len(b) {
		return nil, false
	}
	for i := range count {
		cell := int(binary.BigEndian.Uint16(b[head+12+2*i:]))
		if cell+4 > len(b) {
			return nil, false
		}
		list = append(list, binary.BigEndian.Uint32(b[cell:]))
	}
	return append(list, binary.BigEndian.Uint32(b[head+8:])), true
}

// pageHead returns where the header of a page begins: on the first page it follows the header of the file.
func pageHead(page uint32) int {
	if page == 1 {
		return 100
	}
	return 0
}

// page reads a page.
func (s *Snapshot) page(page uint32) ([]byte, error) {
	var room []byte
	return s.pageIn(&room, page)
}

// pageIn is page with reused memory.
func (s *Snapshot) pageIn(room *[]byte, page uint32) ([]byte, error) {
	if page == 0 || page > s.count {
		return nil, fmt.Errorf("page %d: %w", page, errDamaged)
	}
	if *room == nil {
		*room = make([]byte, s.pageSize)
	}
	_, err := s.ReadAt(*room, s.offset(page))
	return *room, err
}

// Moves reports whether the program moves pages of rows that it does not change, to keep the file short.
func (s *Snapshot) Moves() (bool, error) {
	var largest [4]byte
	_, err := s.ReadAt(largest[:], 52)
	return largest != [4]byte{}, err
}

// utf8 reports whether the texts of the database are UTF-8, and whether its pages can be read.
func (s *Snapshot) utf8() (bool, error) {
	var encoding [4]byte
	if s.copied != nil {
		return false, nil
	}
	_, err := s.ReadAt(encoding[:], 56)
	return binary.BigEndian.Uint32(encoding[:]) <= 1, err
}

// usable returns how many bytes of a page hold content.
func (s *Snapshot) usable() (int, error) {
	var reserved [1]byte
	_, err := s.ReadAt(reserved[:], 20)
	return s.pageSize - int(reserved[0]), err
}

// Row is a row of a table.
type Row struct {
	// ID is the row id.
	ID int64

	s        *Snapshot
	size     int      // of the payload
	local    []byte   // its beginning, which is on the page
	overflow uint32   // first page with the rest
	chain    []uint32 // known pages with the rest
	aheadAt  int      // position of ahead in the payload
	ahead    []byte   // the part of the rest that was read last
	columns  []column
	room     int    // usable bytes of a page
	visited  uint32 // pages of the tree so far; more than the database has means that some were visited twice
	pages    [deepest][]byte
}

type column struct {
	typ uint64
	at  int // position in the payload
	len int
}

// cells visits the rows of a leaf.
func (r *Row) cells(b []byte, head int, visit func(*Row) error) (err error) {
	if r.room == 0 {
		if r.room, err = r.s.usable(); err != nil {
			return err
		}
	}
	for i := range int(binary.BigEndian.Uint16(b[head+3:])) {
		at := head + 8 + 2*i
		if at+2 > len(b) {
			return errDamaged
		}
		cell := int(binary.BigEndian.Uint16(b[at:]))
		if cell >= len(b) || !r.parse(b[cell:]) {
			return errDamaged
		}
		if err := visit(r); err != nil {
			return err
		}
	}
	return nil
}

// parse reads a cell: the length of the payload, the row id, and the types of the columns.
func (r *Row) parse(cell []byte) bool {
	size, n := varint(cell)
	id, k := varint(cell[n:])
	if n == 0 || k == 0 || size > math.MaxInt32 || int64(size) > r.s.Size() {
		return false
	}
	cell = cell[n+k:]
	r.ID, r.size, r.chain, r.ahead, r.overflow = int64(id), int(size), r.chain[:0], nil, 0
	local := r.size
	// The part of a long payload that is on the page, according to the file format.
	if most := r.room - 35; local > most {
		least := (r.room-12)*32/255 - 23
		if local = least + (r.size-least)%(r.room-4); local > most {
			local = least
		}
		if local < 0 || local+4 > len(cell) {
			return false
		}
		r.overflow = binary.BigEndian.Uint32(cell[local:])
	}
	if local > len(cell) {
		return false
	}
	r.local = cell[:local]
	head, n := varint(r.local)
	if n == 0 || head > uint64(len(r.local)) {
		return false // a header longer than a page: no table of an agent has so many columns
	}
	r.columns = r.columns[:0]
	at := int(head)
	for p := n; p < int(head); {
		typ, k := varint(r.local[p:head])
		if k == 0 {
			return false
		}
		length := typeLen(typ)
		r.columns = append(r.columns, column{typ, at, length})
		at, p = at+length, p+k
	}
	return at <= r.size
}

// varint reads a varint of SQLite; n is 0 if it is cut off.
func varint(b []byte) (v uint64, n int) {
	for n = range min(len(b), 9) {
		if n == 8 {
			return v<<8 | uint64(b[n]), 9
		}
		v = v<<7 | uint64(b[n]&0x7f)
		if b[n] < 0x80 {
			return v, n + 1
		}
	}
	return 0, 0
}

// typeLen returns how many bytes a value of a type takes.
func typeLen(typ uint64) int {
	switch {
	case typ >= 12 && typ < 1<<32:
		return int(typ-12) / 2
	case typ == 5:
		return 6
	case typ == 6 || typ == 7:
		return 8
	case typ <= 4:
		return int(typ)
	}
	return 0
}

// ValueKind is the kind of a value in a database.
type ValueKind int

// The kinds of values.
const (
	Null ValueKind = iota
	Int
	Real
	Text
	Blob
)

// Columns returns how many columns the row has. A column that was added to the table later may be missing.
func (r *Row) Columns() int { return len(r.columns) }

// Len returns the kind of a value and, of a text or blob, its length in bytes. It reads nothing.
func (r *Row) Len(i int) (ValueKind, int) {
	if i >= len(r.columns) {
		return Null, 0
	}
	c := r.columns[i]
	switch {
	case c.typ == 0 || c.typ == 10 || c.typ == 11:
		return Null, 0
	case c.typ == 7:
		return Real, 0
	case c.typ < 10:
		return Int, 0
	case c.typ%2 == 0:
		return Blob, c.len
	}
	return Text, c.len
}

// Near reports whether a value lies on the page of its row.
func (r *Row) Near(i int) bool {
	return i >= len(r.columns) || r.columns[i].at+r.columns[i].len <= len(r.local)
}

// Value returns a value: int64, float64, the bytes of a text or blob, which are valid until the next row, or nil.
func (r *Row) Value(i int) (any, error) {
	if i >= len(r.columns) {
		return nil, nil
	}
	c := r.columns[i]
	var b []byte
	if r.Near(i) {
		b = r.local[c.at : c.at+c.len]
	} else {
		var err error
		if b, err = r.far(c.at, c.len); err != nil {
			return nil, err
		}
	}
	switch {
	case c.typ == 0 || c.typ == 10 || c.typ == 11:
		return nil, nil
	case c.typ == 8 || c.typ == 9:
		return int64(c.typ - 8), nil
	case c.typ == 7:
		return math.Float64frombits(binary.BigEndian.Uint64(b)), nil
	case c.typ < 7:
		v := int64(int8(b[0]))
		for _, x := range b[1:] {
			v = v<<8 | int64(x)
		}
		return v, nil
	}
	return b, nil
}

// far returns some bytes of the payload. Of the overflow pages before them it reads only the link to the next page: reading a number behind
// a long text does not mean reading the text. It reads some bytes ahead, since these are usually asked for next.
func (r *Row) far(at, size int) ([]byte, error) {
	if from := at - r.aheadAt; from >= 0 && from+size <= len(r.ahead) {
		return r.ahead[from : from+size], nil
	}
	const ahead = 256
	b, err := r.behind(at, min(max(size, ahead), r.size-at))
	if err != nil {
		return nil, err
	}
	r.aheadAt, r.ahead = at, b
	return b[:size], nil
}

// behind reads bytes of the payload that are on overflow pages.
func (r *Row) behind(at, size int) ([]byte, error) {
	if int64(size) > r.s.Size() {
		return nil, errDamaged
	}
	out := make([]byte, 0, size)
	if at < len(r.local) {
		out = append(out, r.local[at:min(len(r.local), at+size)]...)
	}
	each := r.room - 4
	for len(out) < size {
		behind := at + len(out) - len(r.local)
		page, err := r.chained(behind / each)
		if err != nil {
			return nil, err
		}
		in := behind % each
		n := min(size-len(out), each-in)
		if _, err := r.s.ReadAt(out[len(out):len(out)+n], r.s.offset(page)+4+int64(in)); err != nil {
			return nil, err
		}
		out = out[:len(out)+n]
	}
	return out, nil
}

// Pages appends to a list the pages besides the row's own that hold a value.
func (r *Row) Pages(list []uint32, i int) ([]uint32, error) {
	if r.Near(i) {
		return list, nil
	}
	from, end := max(r.columns[i].at-len(r.local), 0), r.columns[i].at+r.columns[i].len-len(r.local)
	for n := from / (r.room - 4); n*(r.room-4) < end; n++ {
		page, err := r.chained(n)
		if err != nil {
			return list, err
		}
		list = append(list, page)
	}
	return list, nil
}

// chained returns the nth overflow page of the payload.
func (r *Row) chained(n int) (uint32, error) {
	if len(r.chain) == 0 {
		r.chain = append(r.chain, r.overflow)
	}
	for {
		last := r.chain[len(r.chain)-1]
		if last == 0 || last > r.s.count {
			return 0, fmt.Errorf("page %d: %w", last, errDamaged)
		}
		if n < len(r.chain) {
			return r.chain[n], nil
		}
		var next [4]byte
		if _, err := r.s.ReadAt(next[:], r.s.offset(last)); err != nil {
			return 0, err
		}
		r.chain = append(r.chain, binary.BigEndian.Uint32(next[:]))
	}
}

// offset returns where a page begins.
func (s *Snapshot) offset(page uint32) int64 { return int64(page-1) * int64(s.pageSize) }
