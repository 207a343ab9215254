package transcript

import (
	"context"
	"slices"
	"sort"

	"github.com/treeline-dev/treeline/session"
)

// Mode selects what of a path is shown.
type Mode uint8

// The modes.
const (
	// Everything is all that was said and done.
	Everything Mode = iota
	// Focused is prompts and final answers, without their tool calls and thinking.
	Focused
	// Model is what the model sees at the leaf.
	Model
)

// Request selects a part of a path. At most one of Around, After, From, Before and First is set; if none is, it is the end of the path.
type Request struct {
	// Leaf ends the path; nil means the leaf of the session, and the id "" the position before the first entry.
	Leaf *session.EntryID
	// Around puts the block of an entry into the middle. After begins after that block, From with it, and Before ends before it. An entry
	// that is not on the path stands for the nearest ancestor that is. An id that several entries have stands for the last of them on the
	// path.
	Around, After, From, Before session.EntryID
	// First begins at the start of the path.
	First bool
	// Limit is the largest number of blocks; 0 means 200. In mode Model, the messages of one entry stay together, up to four times as many,
	// because a window begins and ends at entries.
	Limit int
	Mode  Mode
	// All also shows notes, labels and what the agent hides from people.
	All bool
	// MaxText is the largest size of each text in bytes; 0 means 64 KB, and a negative value means no limit.
	MaxText int
}

// Window is a part of a path.
type Window struct {
	Blocks []Block
	// Leaf ends the path.
	Leaf session.EntryID
	// Earlier and Later report whether there are blocks before and after the window. First and Last are the first and last Block.Place, for
	// Request.Before and Request.After.
	Earlier, Later bool
	First, Last    session.EntryID
	// Total is the number of entries on the path or, in mode Model, of messages. Position is the number of them before the first block.
	Total, Position int
	// Onward is the fork after the end of the path; nil if nothing follows, or if Later is true.
	Onward *Fork
	// Estimate is the estimated number of tokens of all messages, including those outside of the window; only in mode Model.
	Estimate int64
	// Problems are the problems of the records that were read. Those of the log are in Tree.Problems.
	Problems []session.Problem
}

const (
	usualLimit = 200
	usualText  = 64 << 10
)

// Window returns a part of a path as blocks. It reads only the entries that it shows, the first texts of the branches at their forks, and
// results beyond the window that belong to its calls.
func (d *Document) Window(ctx context.Context, r Request) (*Window, error) {
	if r.Limit <= 0 {
		r.Limit = usualLimit
	}
	if r.MaxText == 0 {
		r.MaxText = usualText
	}
	path, err := d.route(r.Leaf)
	if err != nil {
		return nil, err
	}
	if r.Mode == Model {
		return d.modelWindow(ctx, path, r)
	}
	v := &view{d: d, r: r, route: path, steps: path.shown(d.k, r)}
	w, err := v.window(ctx)
	if err != nil {
		return nil, err
	}
	w.Leaf, w.Total = path.leaf, len(path.index)
	if !w.Later {
		if w.Onward, err = d.onward(ctx, path); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// onward returns the fork after the end of a route, or nil if nothing follows.
func (d *Document) onward(ctx context.Context, r *route) (*Fork, error) {
	end := d.k.root()
	for _, i := range slices.Backward(r.index) {
		if d.k.class[i]&aside != 0 && d.k.class[i]&speaks == 0 {
			return nil, nil // not in the main conversation
		}
		if d.k.class[i]&speaks != 0 {
			end = i
			break
		}
	}
	if d.k.first[end] < 0 {
		return nil, nil
	}
	return d.fork(ctx, d.reader(ctx), end, -1)
}

// shown returns the positions of the entries that may be shown. They are kept for the next window.
func (r *route) shown(k *Skeleton, q Request) []int32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	what := shape{q.Mode == Focused, q.All}
	if list, ok := r.steps[what]; ok {
		return list
	}
	list := make([]int32, 0, len(r.index))
	if what.focused {
		list = r.focused(k, list)
	} else {
		for p, i := range r.index {
			if q.All || k.class[i]&(note|about) == 0 {
				list = append(list, int32(p))
			}
		}
	}
	if r.steps == nil {
		r.steps = map[shape][]int32{}
	}
	r.steps[what] = list
	return list
}

// focused returns the positions of the user's messages, and of those of the model that follow the last result before the user's next
// message. Summaries stay, too.
func (r *route) focused(k *Skeleton, list []int32) []int32 {
	for p, i := range r.index {
		c := k.class[i]
		switch {
		case c&(note|about) != 0:
		case c&byTool != 0:
			// What the model wrote between the last prompt and this result was not the final answer.
			for n := len(list); n > 0 && k.class[r.index[list[n-1]]]&byModel != 0; n-- {
				list = list[:n-1]
			}
		case c&speaks != 0:
			list = append(list, int32(p))
		}
	}
	return list
}

// view makes the blocks of one request.
type view struct {
	d     *Document
	r     Request
	route *route
	steps []int32
}

// begins reports whether a block certainly begins at a step. For an answer of several records, this is known without reading them.
func (v *view) begins(s int) bool {
	k := v.d.k
	if s == 0 {
		return true
	}
	i, before := v.route.index[v.steps[s]], v.route.index[v.steps[s-1]]
	switch c := k.class[i]; {
	case c&byTool != 0:
		return false
	case c&byUser != 0: // may be the summary of a compaction
		return k.class[before]&(byUser|byModel|byTool) != 0 || k.t.At(int(before)).Kind != session.KindCompaction
	case c&byModel == 0:
		return true
	}
	return k.class[before]&byModel == 0 && k.class[i]&later == 0
}

// longest is the largest number of records of a block, since a log may consist only of answers.
const longest = 64

// cut reports whether a block ends before a step because it would become too long. The positions are fixed, so that all windows have the
// same blocks.
func (v *view) cut(s int) bool {
	if s == 0 || s%longest != 0 {
		return false
	}
	for before := s - longest + 1; before <= s; before++ {
		if v.begins(before) {
			return false
		}
	}
	return true
}

// safe reports whether blocks can be made starting at a step.
func (v *view) safe(s int) bool { return v.begins(s) || v.cut(s) }

// back returns the nth safe step, counted backwards from a step, or 0.
func (v *view) back(s, n int) int {
	for ; s > 0; s-- {
		if v.safe(s) {
			if n--; n <= 0 {
				return s
			}
		}
	}
	return 0
}

// forth returns the nth safe step after a step, or the number of steps.
func (v *view) forth(s, n int) int {
	for s++; s < len(v.steps); s++ {
		if v.safe(s) {
			if n--; n <= 0 {
				return s
			}
		}
	}
	return len(v.steps)
}

// window finds the blocks around the anchor of the request. Since the number of blocks that the entries make is not known, it takes more
// and more entries until there are enough blocks.
func (v *view) window(ctx context.Context) (*Window, error) {
	if len(v.steps) == 0 {
		return &Window{}, nil
	}
	anchor, before, after := v.anchor()
	for n := 1; ; n *= 4 {
		lo, hi := v.forkNear(v.back(anchor, n*(before+1))), v.forth(anchor, n*(after+1))
		b, err := v.build(ctx, lo, hi)
		if err != nil {
			return nil, err
		}
		from, to := v.stretch(b, anchor)
		if from < 0 && lo > 0 || to > len(b.made) && hi < len(v.steps) {
			continue
		}
		from, to = max(from, 0), min(to, len(b.made))
		w, err := b.finish(from, to)
		if err != nil {
			return nil, err
		}
		w.Earlier, w.Later = lo > 0 || from > 0, hi < len(v.steps) || to < len(b.made)
		return w, nil
	}
}

// nearSteps is how far before a window a fork is searched for.
const nearSteps = 8

// forkNear returns an earlier step if there is a fork shortly before a step. The entry after the fork may have no block; the fork is then
// shown before the next entry that has one.
func (v *view) forkNear(s int) int {
	if s == 0 {
		return 0
	}
	near := max(s-nearSteps, 0)
	if fork, ok := v.route.forkBefore(int(v.steps[near]), int(v.steps[s])-1); ok {
		return v.back(v.stepAt(int(fork.position)), 1)
	}
	return s
}

// anchor returns the step that the request refers to, and how many blocks are needed before and after its block.
func (v *view) anchor() (step, before, after int) {
	r := v.r
	switch {
	case r.First:
		return 0, 0, r.Limit
	case r.After != "":
		return v.step(r.After), 0, r.Limit
	case r.From != "":
		return v.step(r.From), 0, r.Limit
	case r.Before != "":
		return v.step(r.Before), r.Limit, 0
	case r.Around != "":
		return v.step(r.Around), r.Limit / 2, r.Limit - r.Limit/2
	}
	return len(v.steps) - 1, r.Limit, 0
}

// stretch returns the range of the request's blocks. It may exceed the blocks that exist.
func (v *view) stretch(b *builder, anchor int) (from, to int) {
	r, at := v.r, b.find(int(v.steps[anchor]))
	switch {
	case r.First:
		return 0, r.Limit
	case r.After != "":
		return at + 1, at + 1 + r.Limit
	case r.From != "":
		return at, at + r.Limit
	case r.Before != "":
		return at - r.Limit, at
	case r.Around != "":
		return at - r.Limit/2, at - r.Limit/2 + r.Limit
	}
	return len(b.made) - r.Limit, len(b.made)
}

// step returns the last step at or before an entry.
func (v *view) step(id session.EntryID) int {
	k := v.d.k
	e, at, ok := v.route.named(k, id)
	if !ok {
		return len(v.steps) - 1
	}
	i := int32(e.Index)
	for n := 0; at < 0 && i != k.root() && n <= len(k.order); n++ {
		i = k.up[i]
		at = v.route.at(i)
	}
	switch {
	case at >= 0:
		return v.stepAt(at)
	case i == k.root():
		return 0
	}
	return len(v.steps) - 1
}

// stepAt returns the last step at or before a position.
func (v *view) stepAt(position int) int {
	s := sort.Search(len(v.steps), func(s int) bool { return int(v.steps[s]) > position })
	return max(s-1, 0)
}
