package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// treeFlags are the flags of tree.
type treeFlags struct {
	sessionFlags
	leaf string
	near int
}

// treeCommand shows what 'show' leaves out: every branch that was ever taken.
func (a *app) treeCommand() *cobra.Command {
	var f treeFlags
	cmd := &cobra.Command{
		Use:   "tree <session>",
		Short: "Draw all branches of a session",
		Long: "Draw every entry of a session, one per line: those on the way to the leaf as ●, those of abandoned branches as ○,\n" +
			"entries without a parent as ◆ and ◇. A branch is indented; the newest branch goes on in its parent's column.\n" +
			"Where an entry is named, it is drawn as if that was the leaf, with ◀ here behind it; --near leaves out what is drawn\n" +
			"further away." + sessionHelp + entryHelp,
		Example: "  treeline tree @last\n  treeline tree 01a1dcc8#5a60be28 --near 5\n" +
			"  treeline tree session.jsonl --json | jq -r '.[] | select(.leaf).id'",
		Args: args("<session>"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ref, leaf, err := oneLeaf(cmd, args[0], "leaf", f.leaf)
			if err == nil {
				err = f.check(cmd, leaf)
			}
			if err != nil {
				return err
			}
			s, err := a.open(cmd.Context(), cmd, ref, f.sessionFlags)
			if err != nil {
				return err
			}
			defer s.Close()
			at, err := treeAt(s, leaf)
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("near") {
				at.near = f.near
			}
			return a.tree(cmd.Context(), s, at, f.json)
		},
		ValidArgsFunction: a.completeSession,
	}
	f.add(cmd)
	addLeaf(cmd, &f.leaf)
	cmd.Flags().IntVarP(&f.near, "near", "n", 0, "draw no more than `N` entries before and after the one that is named")
	return cmd
}

// check refuses what contradicts itself.
func (f *treeFlags) check(cmd *cobra.Command, leaf string) error {
	wrong := ""
	switch {
	case !cmd.Flags().Changed("near"):
		return nil
	case f.near < 0:
		wrong = "--near is less than nothing"
	case leaf == "" || leaf == "none":
		wrong = "--near needs an entry to be near to: session#entry, or --leaf"
	case f.json:
		wrong = "--near is for the drawing; --json prints all entries"
	default:
		return nil
	}
	return usageError{errors.New(wrong), cmd}
}

// standpoint is where a tree is looked at from.
type standpoint struct {
	active []bool // by index: on the way there
	leaf   int    // index of the session's own leaf, -1 for none
	here   int    // index of the entry that was named, -1 for none
	near   int    // how many entries before and after it are drawn, -1 for all
}

// atLeaf looks from the session's own leaf.
func atLeaf(t *session.Tree) standpoint {
	at := standpoint{active: t.OnActivePath(), leaf: -1, here: -1, near: -1}
	if leaf, ok := t.Leaf(); ok {
		at.leaf = leaf.Index
	}
	return at
}

// treeAt looks from the place that someone named; "" is the session's own leaf.
func treeAt(s *store.Session, name string) (standpoint, error) {
	t := s.Tree()
	at := atLeaf(t)
	if name == "" {
		return at, nil
	}
	id, err := leafOf(s, name)
	if err != nil {
		return at, err
	}
	path, err := t.Path(id)
	if err != nil {
		return at, err
	}
	clear(at.active)
	for _, e := range path.Entries() {
		at.active[e.Index] = true
		at.here = e.Index // the last one is it
	}
	return at, nil
}

func (a *app) tree(ctx context.Context, s *store.Session, at standpoint, asJSON bool) error {
	err := a.page(ctx, func(ctx context.Context, out *output) error {
		if asJSON {
			return treeJSON(ctx, out, s, at)
		}
		for _, line := range a.about(s, out) {
			fmt.Fprintln(out, line)
		}
		return drawTree(ctx, out, s, at)
	})
	a.problems(s.Tree().Problems())
	return err
}

// treeText is how much of an entry a tree shows where no terminal limits it.
const treeText = 100

// treeJSON prints all entries in the order of the file; the tree is in their parents. Its members are those of
// entryJSON, with text cut at treeText columns.
func treeJSON(ctx context.Context, out *output, s *store.Session, at standpoint) error {
	t := s.Tree()
	list := arrayWriter{w: out}
	for e := range t.Entries() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		v, err := look(s.Dialect().Codec(), e)
		if err != nil {
			return err
		}
		j := newEntryJSON(t, v)
		j.Active, j.Leaf, j.Here = at.active[e.Index], e.Index == at.leaf, e.Index == at.here
		text := v.line(treeText)
		j.Text = &text
		if err := list.add(j); err != nil {
			return err
		}
	}
	return list.end()
}

// drawing is the state of drawing a tree.
type drawing struct {
	standpoint
	out   *output
	tree  *session.Tree
	codec session.Codec
	cwd   string
	// first and next link the children of each entry, by index: two entries may share an id.
	first, next []int32
	root        int32
}

// drawTree draws all entries, or those near to the one that was named.
func drawTree(ctx context.Context, out *output, s *store.Session, at standpoint) error {
	d := &drawing{standpoint: at, out: out, tree: s.Tree(), codec: s.Dialect().Codec(), cwd: s.Header().CWD}
	d.link()
	from, to := 0, d.tree.Len()
	if d.near >= 0 && d.here >= 0 {
		line := 0
		for p := range d.places() {
			if int(p.index) == d.here {
				break
			}
			line++
		}
		from, to = max(line-d.near, 0), min(line+d.near+1, to)
	}
	d.leftOut(from)
	line := 0
	for p := range d.places() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if line >= from && line < to {
			if err := d.entry(d.tree.At(int(p.index)), p.depth, p.branch, p.root); err != nil {
				return err
			}
		}
		line++
	}
	d.leftOut(line - to)
	if d.tree.Len() == 0 {
		fmt.Fprintln(out, out.style.dim("(no entries)"))
	}
	return nil
}

// leftOut says that entries are not drawn.
func (d *drawing) leftOut(n int) {
	if n > 0 {
		fmt.Fprintln(d.out, d.out.style.dim("⋮ "+counted(n, "entry", "entries")))
	}
}

// placed is an entry and where it is drawn.
type placed struct {
	index        int32
	depth        int
	branch, root bool // it begins a branch; it has no parent
}

// places gives all entries in the order of the drawing. It keeps its own stack: a session may be a million entries deep.
//
// The last child goes on in its parent's column; all children before it begin a branch, one level further in. So a
// conversation that was tried again a hundred times stays on the left.
func (d *drawing) places() iter.Seq[placed] {
	return func(yield func(placed) bool) {
		stack := []placed{{index: d.root, root: true}}
		for len(stack) > 0 {
			now := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if now.index < 0 {
				continue
			}
			if after := d.next[now.index]; after >= 0 {
				stack = append(stack, placed{index: after, depth: now.depth, root: now.root})
				if !now.root {
					now.depth, now.branch = now.depth+1, true
				}
			}
			if !yield(now) {
				return
			}
			stack = append(stack, placed{index: d.first[now.index], depth: now.depth})
		}
	}
}

// link finds the children of all entries, in file order.
func (d *drawing) link() {
	n := d.tree.Len()
	d.first, d.next, d.root = make([]int32, n), make([]int32, n), -1
	isRoot := make([]bool, n)
	for _, e := range d.tree.Roots() {
		isRoot[e.Index] = true
	}
	for i := range n {
		d.first[i], d.next[i] = -1, -1
	}
	for i := n - 1; i >= 0; i-- { // from the end, so that each is put before its siblings
		head := &d.root
		if !isRoot[i] {
			if parent, ok := d.tree.Lookup(d.tree.At(i).Parent); ok {
				head = &d.first[parent.Index]
			}
		}
		d.next[i], *head = *head, int32(i)
	}
}

// mostLevels is how many columns of branches are drawn. What is deeper is marked, and drawn as if it began there: a tree
// of branches inside branches would otherwise cost the square of its size.
const mostLevels = 24

// entry prints one line. The text gives way to the columns before it, never the id.
func (d *drawing) entry(e session.Entry, depth int, branch, root bool) error {
	v, err := look(d.codec, e)
	if err != nil {
		return err
	}
	st := d.out.style
	var b strings.Builder
	if depth > mostLevels {
		fmt.Fprintf(&b, "%s", st.dim(fmt.Sprintf("⋯%d ", depth-mostLevels)))
		depth = mostLevels
	}
	if branch {
		b.WriteString(st.dim(strings.Repeat("│ ", depth-1) + "├─"))
	} else {
		b.WriteString(st.dim(strings.Repeat("│ ", depth)))
	}
	b.WriteString(d.sign(e, root) + " ")
	id := screen.Pad(screen.OneLine(string(e.ID), 40), 8, false)
	word := screen.Pad(screen.OneLine(v.word(), 24), 10, false)
	if !d.active[e.Index] {
		id, word = st.dim(id), st.dim(word)
	} else {
		word = colourOf(st, e, word)
	}
	b.WriteString(id + "  " + word + "  ")
	end := d.marks(e)
	most := treeText
	if d.out.width > 0 {
		most = max(d.out.width-displayWidth(b.String())-displayWidth(end), 10)
	}
	text := screen.Cut(fromHere(v.line(most+2*len(d.cwd)), d.cwd), most)
	if root && e.Parent != "" {
		why := "(parent " + screen.OneLine(string(e.Parent), 40) + " is missing) "
		if _, ok := d.tree.Lookup(e.Parent); ok {
			why = "(its parents run in a circle) "
		}
		text = screen.Cut(why+text, most)
	}
	if !d.active[e.Index] {
		text = st.dim(text)
	}
	_, err = fmt.Fprintln(d.out, strings.TrimRight(b.String()+text+end, " "))
	return err
}

// sign stands for an entry.
func (d *drawing) sign(e session.Entry, root bool) string {
	st := d.out.style
	switch active := d.active[e.Index]; {
	case root && active:
		return st.bold("◆")
	case root:
		return st.dim("◇")
	case active:
		return st.bold("●")
	}
	return st.dim("○")
}

// marks are what stands behind an entry: its label, and whether it is the leaf, or the one that was named.
func (d *drawing) marks(e session.Entry) string {
	st := d.out.style
	s := ""
	if l := d.tree.Label(e.ID); l != "" {
		s += "  " + st.yellow("⚑ "+screen.OneLine(l, 40))
	}
	if e.Index == d.leaf {
		s += "  " + st.mark("1;32", "◀ leaf")
	}
	if e.Index == d.here {
		s += "  " + st.mark("1;31", "◀ here")
	}
	return s
}

// colourOf gives the words for those who speak the colours that they have in a transcript.
func colourOf(st style, e session.Entry, word string) string {
	switch {
	case e.Role == session.RoleUser:
		return st.mark("1;36", word)
	case e.Role == session.RoleAssistant:
		return st.mark("1;32", word)
	case e.Kind == session.KindCompaction, e.Kind == session.KindBranchSummary:
		return st.mark("1;35", word)
	}
	return word
}
