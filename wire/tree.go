package wire

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/internal/shortid"
	"github.com/treeline-dev/treeline/session"
)

// Tree draws a session's tree as seen from an entry.
type Tree struct {
	tree  *session.Tree
	codec Codec
	dir   string

	active []bool        // by index: on the path to the entry
	leaf   int           // index of the session's leaf; -1 means none
	noter  session.Noter // nil: every entry is drawn
	here   int           // index of the entry that the caller named; -1 means none

	// first and next link the children of each entry by index, since two entries may have the same id.
	first, next []int32
	root        int32
	isRoot      []bool   // by index
	inline      []bool   // by index: does not begin a branch
	ids         []string // by index: ids as they are drawn; nil draws them whole
	idWidth     int      // columns of ids
}

// NewTree returns a Tree as seen from the session's own leaf. dir is the session's directory: paths below it are shown relative to it.
func NewTree(t *session.Tree, codec Codec, dir string) *Tree {
	v := &Tree{tree: t, codec: codec, dir: dir, active: t.OnActivePath(), leaf: -1, here: -1}
	if c, ok := codec.(session.Codec); ok {
		v.noter, _ = c.EntryCodec.(session.Noter)
	}
	if leaf, ok := t.Leaf(); ok {
		v.leaf = leaf.Index
	}
	return v
}

// All makes Draw draw every entry, including the notes that the agent's program writes for itself.
func (v *Tree) All() { v.noter = nil }

// isNote reports whether Draw leaves an entry out.
func (v *Tree) isNote(i int) bool {
	return v.noter != nil && i != v.leaf && i != v.here && v.noter.IsNote(v.tree.At(i))
}

// From makes id the entry that the tree is seen from; "" is the position before the first entry.
func (v *Tree) From(id session.EntryID) error {
	path, err := v.tree.Path(id)
	if err != nil {
		return err
	}
	clear(v.active)
	v.here = -1
	for _, e := range path.Entries() {
		v.active[e.Index] = true
		v.here = e.Index // after the loop, the last entry
	}
	return nil
}

// lineWidth is the number of columns of an entry's text in a tree without a width.
const lineWidth = 100

// WriteJSON prints all entries in the order of the log, as an array of Entry. The text is cut to 100 columns.
func (v *Tree) WriteJSON(ctx context.Context, p *Page) error {
	return WriteList(p, v.tree.Len(), func(i int) (Entry, error) {
		if ctx.Err() != nil {
			return Entry{}, context.Cause(ctx)
		}
		return v.Entry(i)
	})
}

// Entry returns the entry at an index of the log as WriteJSON prints it.
func (v *Tree) Entry(i int) (j Entry, err error) {
	entry, err := Look(v.codec, v.tree.At(i))
	if err != nil {
		return j, err
	}
	j = newEntry(entry, v.tree.Label(entry.ID))
	j.OnPath, j.Leaf, j.Here = v.active[i], i == v.leaf, i == v.here
	text := entry.Line(lineWidth)
	j.Text = &text
	return j, nil
}

// Draw draws the tree, one entry per line. If near is not negative and the caller named an entry, it draws only near entries before and
// after that one.
func (v *Tree) Draw(ctx context.Context, p *Page, near int) error {
	v.link()
	v.shorten(p.Width)
	from, to := 0, v.tree.Len()
	if near >= 0 && v.here >= 0 {
		line := 0
		for at := range v.drawn() {
			if int(at.index) == v.here {
				break
			}
			line++
		}
		from, to = max(line-near, 0), min(line+near+1, to)
	}
	omitted(p, from)
	line := 0
	for at := range v.drawn() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if line >= from && line < to {
			if err := v.draw(p, at); err != nil {
				return err
			}
		}
		line++
	}
	omitted(p, line-to)
	if v.tree.Len() == 0 {
		p.line(p.paint(StyleFaint, "(no entries)"))
	}
	return nil
}

func omitted(p *Page, n int) {
	if n > 0 {
		p.line(p.paint(StyleFaint, "⋮ "+Count(n, "entry", "entries")))
	}
}

// drawn yields the entries that are drawn. If notes that are left out begin a branch or the tree, the next entry begins it instead.
func (v *Tree) drawn() iter.Seq[placed] {
	return func(yield func(placed) bool) {
		var note placed
		for at := range v.places() {
			if v.isNote(int(at.index)) {
				note = placed{depth: at.depth, branch: at.branch || note.branch && note.depth == at.depth, root: at.root || note.root && note.depth == at.depth}
				continue
			}
			if note.depth == at.depth {
				at.branch, at.root = at.branch || note.branch, at.root || note.root
			}
			note = placed{}
			if !yield(at) {
				return
			}
		}
	}
}

// placed is an entry and its place in the drawing.
type placed struct {
	index        int32
	depth        int
	branch, root bool // it begins a branch; it has no parent
}

// places yields all entries in drawing order. The stack is explicit: a session may be a million entries deep.
//
// The last child continues in its parent's column; each child before it begins a branch, one level further in. So a conversation that was
// retried a hundred times stays on the left. Entries that begin no branch come first, in the same column, so that parallel calls of an
// agent do not split the conversation.
func (v *Tree) places() iter.Seq[placed] {
	return func(yield func(placed) bool) {
		stack := []placed{{index: v.root, root: true}}
		for len(stack) > 0 {
			now := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if now.index < 0 {
				continue
			}
			if after := v.next[now.index]; after >= 0 {
				stack = append(stack, placed{index: after, depth: now.depth, root: now.root})
				if !now.root && !v.inline[now.index] {
					now.depth, now.branch = now.depth+1, true
				}
			}
			if !yield(now) {
				return
			}
			stack = append(stack, placed{index: v.first[now.index], depth: now.depth})
		}
	}
}

// link finds the children of all entries, in the order of the log. Those that begin no branch come first.
func (v *Tree) link() {
	n := v.tree.Len()
	v.first, v.next, v.root = make([]int32, n), make([]int32, n), -1
	v.isRoot = make([]bool, n)
	for _, e := range v.tree.Roots() {
		v.isRoot[e.Index] = true
	}
	for i := range n {
		v.first[i], v.next[i] = -1, -1
	}
	v.inline = v.tree.Inline()
	for _, inline := range []bool{false, true} {
		for i := n - 1; i >= 0; i-- { // backwards, because each entry is inserted before its siblings
			head := &v.root
			if !v.isRoot[i] {
				if parent, ok := v.tree.Lookup(v.tree.At(i).Parent); ok {
					head = &v.first[parent.Index]
				}
			}
			if head == &v.root && !inline || head != &v.root && v.inline[i] == inline {
				v.next[i], *head = *head, int32(i)
			}
		}
	}
}

// wordWidth is the width of the column of words; leastText is the smallest width that a text is drawn in.
const (
	wordWidth = 10
	leastText = 4
)

// shorten shortens long ids to prefixes that still differ, if a line would have little room for the text.
func (v *Tree) shorten(width int) {
	const enough, blanks = 40, 6
	v.ids, v.idWidth = nil, shortid.Least
	if width == 0 {
		return
	}
	ids, longest := make([]string, v.tree.Len()), 0
	for i := range ids {
		ids[i] = string(v.tree.At(i).ID)
		longest = max(longest, len(ids[i]))
	}
	if width < longest+wordWidth+blanks+enough {
		v.ids = shortid.All(ids)
		for _, id := range v.ids {
			v.idWidth = max(v.idWidth, min(len(id), 2*shortid.Least))
		}
	}
}

// id returns the id of an entry as it is drawn.
func (v *Tree) id(e session.Entry) string {
	id := string(e.ID)
	if v.ids != nil {
		id = v.ids[e.Index]
	}
	return screen.Pad(screen.OneLine(id, 40), v.idWidth, false)
}

// mostLevels limits the levels that are drawn; on a terminal, they also take at most a third of its width. Deeper entries are drawn at the
// limit, with the number of their level: otherwise the output would grow with the square of the number of nested branches.
const mostLevels = 24

// draw writes one line. To make room, it cuts the text first, then the word, but never the id.
func (v *Tree) draw(p *Page, at placed) error {
	e := v.tree.At(int(at.index))
	entry, err := Look(v.codec, e)
	if err != nil {
		return err
	}
	active := v.active[e.Index]
	var b strings.Builder
	depth, levels := at.depth, mostLevels
	if p.Width > 0 {
		levels = min(levels, max(p.Width/6, 1))
	}
	if depth > levels {
		b.WriteString(p.paint(StyleFaint, fmt.Sprintf("⋯%d ", depth-levels)))
		depth = levels
	}
	if at.branch {
		b.WriteString(p.paint(StyleFaint, strings.Repeat("│ ", depth-1)+"├─"))
	} else {
		b.WriteString(p.paint(StyleFaint, strings.Repeat("│ ", depth)))
	}
	b.WriteString(sign(p, active, at.root) + " ")
	id, end := v.id(e), v.marks(p, e)
	word := screen.Pad(screen.OneLine(entry.Word(), 24), wordWidth, false)
	most := lineWidth
	if p.Width > 0 {
		left := max(p.Width-columnsOf(b.String()+id+"  ")-columnsOf(end), 0)
		if left < wordWidth {
			word = screen.OneLine(word, max(left, 1))
		}
		most = left - columnsOf(word+"  ")
	}
	if active {
		word = paintWord(p, e, word)
	} else {
		id, word = p.paint(StyleFaint, id), p.paint(StyleFaint, word)
	}
	b.WriteString(id + "  " + word)
	if most < leastText {
		p.line(b.String() + end)
		return nil
	}
	b.WriteString("  ")
	text := screen.Cut(relative(entry.Line(most+2*len(v.dir)), v.dir), most)
	if _, ok := v.tree.Lookup(e.Parent); at.root && e.Parent != "" && (!ok || v.isRoot[e.Index]) {
		why := "(parent " + screen.OneLine(string(e.Parent), 40) + " is missing) "
		if _, ok := v.tree.Lookup(e.Parent); ok {
			why = "(its ancestors form a cycle) "
		}
		text = screen.Cut(why+text, most)
	}
	if !active {
		text = p.paint(StyleFaint, text)
	}
	p.line(b.String() + text + end)
	_, err = p.Write(nil)
	return err
}

// sign returns the mark of an entry: filled on the active path, angular for a root.
func sign(p *Page, active, root bool) string {
	switch {
	case root && active:
		return p.paint(StyleStrong, "◆")
	case root:
		return p.paint(StyleFaint, "◇")
	case active:
		return p.paint(StyleStrong, "●")
	}
	return p.paint(StyleFaint, "○")
}

// marks returns an entry's label and whether it is the leaf, or the entry that the caller named.
func (v *Tree) marks(p *Page, e session.Entry) string {
	s := ""
	if l := v.tree.Label(e.ID); l != "" {
		most := 40
		if p.Width > 0 {
			most = min(most, max(p.Width/4, 1))
		}
		s += "  " + p.paint(StyleLabel, "⚑ "+screen.OneLine(l, most))
	}
	if e.Index == v.leaf {
		s += "  " + p.paint(StyleAssistant, "◀ leaf")
	}
	if e.Index == v.here {
		s += "  " + p.paint(StyleAlert, "◀ here")
	}
	return s
}

// paintWord paints a speaker in the style that it has in a transcript.
func paintWord(p *Page, e session.Entry, word string) string {
	switch {
	case e.Role == session.RoleUser:
		return p.paint(StyleUser, word)
	case e.Role == session.RoleAssistant:
		return p.paint(StyleAssistant, word)
	case e.Kind == session.KindCompaction, e.Kind == session.KindBranchSummary:
		return p.paint(StyleSummary, word)
	}
	return word
}
