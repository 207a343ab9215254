package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

func (a *app) treeCommand() *cobra.Command {
	var f sessionFlags
	cmd := &cobra.Command{
		Use:   "tree <session>",
		Short: "Draw all branches of a session",
		Long: "Draw every entry of a session, one per line: those on the way to the leaf as ●, those of abandoned branches as ○,\n" +
			"entries without a parent as ◆ and ◇. A branch is indented; the newest branch goes on in its parent's column." + sessionHelp,
		Example: "  treeline tree @last\n  treeline tree session.jsonl --json | jq -r '.[] | select(.leaf).id'",
		Args:    args("<session>"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.open(cmd.Context(), cmd, args[0], f)
			if err != nil {
				return err
			}
			defer s.Close()
			return a.tree(cmd.Context(), s, f.json)
		},
		ValidArgsFunction: a.completeSession,
	}
	f.add(cmd)
	return cmd
}

func (a *app) tree(ctx context.Context, s *store.Session, asJSON bool) error {
	err := a.page(ctx, func(ctx context.Context, out *output) error {
		if asJSON {
			return treeJSON(ctx, out, s)
		}
		for _, line := range a.about(s, out) {
			fmt.Fprintln(out, line)
		}
		return drawTree(ctx, out, s)
	})
	a.problems(s.Tree().Problems())
	return err
}

// treeText is how much of an entry a tree shows where no terminal limits it.
const treeText = 100

func treeJSON(ctx context.Context, out *output, s *store.Session) error {
	t := s.Tree()
	active := t.OnActivePath()
	leaf, hasLeaf := t.Leaf()
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
		j.Active, j.Leaf = active[e.Index], hasLeaf && leaf.Index == e.Index
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
	out    *output
	tree   *session.Tree
	codec  session.Codec
	active []bool
	leaf   int // index, -1 for none
	cwd    string
	// first and next link the children of each entry, by index: two entries may share an id.
	first, next []int32
	root        int32
}

// drawTree draws all entries. It keeps its own stack: a session may be a million entries deep.
//
// The last child goes on in its parent's column; all children before it begin a branch, one level further in. So a
// conversation that was tried again a hundred times stays on the left.
func drawTree(ctx context.Context, out *output, s *store.Session) error {
	d := &drawing{out: out, tree: s.Tree(), codec: s.Dialect().Codec(), active: s.Tree().OnActivePath(), leaf: -1, cwd: s.Header().CWD}
	if leaf, ok := s.Tree().Leaf(); ok {
		d.leaf = leaf.Index
	}
	d.link()
	type sibling struct {
		index int32
		depth int
		root  bool
	}
	stack := []sibling{{index: d.root, root: true}}
	for len(stack) > 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		now := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if now.index < 0 {
			continue
		}
		depth, branch := now.depth, false
		if after := d.next[now.index]; after >= 0 {
			stack = append(stack, sibling{after, now.depth, now.root})
			if !now.root {
				depth, branch = depth+1, true
			}
		}
		if err := d.entry(d.tree.At(int(now.index)), depth, branch, now.root); err != nil {
			return err
		}
		stack = append(stack, sibling{index: d.first[now.index], depth: depth})
	}
	if d.tree.Len() == 0 {
		fmt.Fprintln(out, out.style.dim("(no entries)"))
	}
	return nil
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

// marks are what stands behind an entry: its label, and whether it is the leaf.
func (d *drawing) marks(e session.Entry) string {
	st := d.out.style
	s := ""
	if l := d.tree.Label(e.ID); l != "" {
		s += "  " + st.yellow("⚑ "+screen.OneLine(l, 40))
	}
	if e.Index == d.leaf {
		s += "  " + st.mark("1;32", "◀ leaf")
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
