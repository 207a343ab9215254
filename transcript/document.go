// Package transcript is a session as a person reads it: blocks with their pieces, calls with their results, forks, edits, and a drawing of
// the tree. A Document is one session; it returns the Blocks of a path, an Outline or Rail of the tree, and the changes of files. The
// package makes values; other packages make HTML, Markdown or text of them. Texts come from the log unchanged: code that shows them must
// treat them as hostile.
package transcript

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/wire"
)

// Document is one session that is open for reading. It may be used concurrently, as long as nothing is appended to the session. It caches
// what it computed, in bounded memory.
type Document struct {
	s *store.Session
	k *Skeleton

	rewrite  func(e session.Entry, record []byte) []byte
	children atomic.Pointer[children]

	mu     sync.Mutex
	routes []*route          // the most recently used one is last
	room   room              // for the next route
	lines  map[int32]string  // entries on one line
	labels map[int32]string  // labels of branches, by first entry
	after  map[int32]int64   // estimates of compactions
	kids   map[int32][]int32 // see listed

	idle func() []atomic.Bool // by index: the entry was read and reports no usage

	estimates int // number of estimates of compactions so far
}

// New returns the document of a session. k is the skeleton of its tree; nil means that New makes it.
func New(s *store.Session, k *Skeleton) *Document {
	if k == nil {
		k = NewSkeleton(s.Tree())
	}
	idle := sync.OnceValue(func() []atomic.Bool { return make([]atomic.Bool, len(k.class)) })
	return &Document{s: s, k: k, idle: idle}
}

// Rewrite sets a function that changes records before they are used for blocks, titles, labels and edits (see wire.Reader.Rewrite). It must
// be called before the document is used. Mode Model shows records unchanged.
func (d *Document) Rewrite(f func(e session.Entry, record []byte) []byte) { d.rewrite = f }

// Session returns the session.
func (d *Document) Session() *store.Session { return d.s }

// Skeleton returns the shape of the tree.
func (d *Document) Skeleton() *Skeleton { return d.k }

const (
	labelWidth  = 80 // columns of the label of a branch
	lineWidth   = 60 // columns of an entry in a rail
	labelDepth  = 8  // entries of a branch that are read to find a text
	mostCached  = 1 << 14
	mostLabeled = 20 // branches of a fork that are listed
)

// remember caches a value. A table that has become too large is cleared.
func remember[K comparable, V any](d *Document, table *map[K]V, key K, value V) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if *table == nil || len(*table) >= mostCached {
		*table = map[K]V{}
	}
	(*table)[key] = value
}

func recall[K comparable, V any](d *Document, table *map[K]V, key K) (V, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	v, ok := (*table)[key]
	return v, ok
}

// fork returns the fork after an entry. branch is the first entry of the branch that is shown; -1 means none.
func (d *Document) fork(ctx context.Context, r *wire.Reader, at, branch int32) (*Fork, error) {
	f := &Fork{At: d.k.id(at)}
	f.Count = int(d.k.kids[at])
	if branch >= 0 {
		f.Current = int(d.k.number[branch])
	}
	from := max(1, min(f.Current-mostLabeled/2, f.Count-mostLabeled+1))
	for _, c := range d.listed(at, from) {
		label, err := d.label(ctx, r, c)
		if err != nil {
			return nil, err
		}
		f.Branches = append(f.Branches, Branch{
			Number: int(d.k.number[c]), First: d.k.id(c), Tip: d.k.id(d.k.end(c)), Entries: int(d.k.weight[c]), Label: label,
		})
	}
	return f, nil
}

// listed returns the branches of a fork that are listed, from a number on. Many forks of an export are the same one, seen from each of its
// branches.
func (d *Document) listed(at int32, from int) []int32 {
	list, known := recall(d, &d.kids, at)
	if !known {
		list = make([]int32, 0, d.k.kids[at])
		for c := d.k.first[at]; c >= 0; c = d.k.next[c] {
			list = append(list, c)
		}
		if len(list) > mostLabeled {
			remember(d, &d.kids, at, list)
		}
	}
	return list[from-1 : min(from-1+mostLabeled, len(list))]
}

// reader returns a reader of entries for one call.
func (d *Document) reader(ctx context.Context) *wire.Reader {
	r := wire.NewReader(ctx, d.s)
	r.Rewrite = d.rewrite
	return r
}
