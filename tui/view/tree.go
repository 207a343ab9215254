package view

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/transcript"
	"github.com/treeline-dev/treeline/tui/look"
	"github.com/treeline-dev/treeline/wire"
)

// tree is the left side: the outline, and the texts of the rows near the visible ones.
type tree struct {
	outline   *transcript.Outline
	branches  int
	folded    map[session.EntryID]bool
	landmarks bool
	cur, top  int
	height    int
	id        session.EntryID // entry of the row under the cursor
	want      session.EntryID // entry of the row to which the cursor goes once the outline is there

	rows    []transcript.OutlineRow // rows from index first on
	first   int
	serial  int
	loading bool
}

// outlined is the message with a new outline.
type outlined struct {
	outline *transcript.Outline
	serial  int
	err     error
}

// outline makes a new outline.
func (v *viewer) outline() tea.Cmd {
	t := &v.tree
	t.serial++
	t.loading = false
	r := transcript.OutlineRequest{Leaf: v.leaf, Folded: map[session.EntryID]bool{}, Landmarks: t.landmarks}
	for id := range t.folded {
		r.Folded[id] = true
	}
	src, serial := v.src, t.serial
	return func() tea.Msg {
		o, err := src.outline(r)
		return v.to(outlined{o, serial, err})
	}
}

func (v *viewer) outlined(m outlined) tea.Cmd {
	t := &v.tree
	if m.serial != t.serial {
		return nil
	}
	if m.err != nil {
		return v.failed(m.err)
	}
	row := t.cur - t.top // the row under the cursor keeps its place on the screen
	t.outline, t.rows, t.branches = m.outline, nil, m.outline.Branches
	if t.want == "" {
		t.want = t.id
	}
	v.src.use(t.outline, func() { t.goTo(t.want) })
	t.want = ""
	t.top = t.cur - row
	t.settle()
	t.follow(v)
	return nil
}

// goTo puts the cursor on the row of an entry. The tree must not grow meanwhile.
func (t *tree) goTo(id session.EntryID) {
	if n := t.outline.Find(id); n >= 0 {
		t.cur, t.id = n, t.outline.ID(n)
	}
}

// settle makes sure that the cursor is on a row and visible.
func (t *tree) settle() {
	n := 0
	if t.outline != nil {
		n = t.outline.Len()
	}
	t.cur = min(max(t.cur, 0), max(n-1, 0))
	height := max(t.height, 1)
	t.top = min(t.top, t.cur, max(n-height, 0))
	t.top = max(t.top, t.cur-height+1, 0)
}

// follow moves the cursor to the current entry of the transcript, unless keys move the cursor in the tree.
func (t *tree) follow(v *viewer) {
	if t.outline == nil || v.onTree {
		return
	}
	id := v.here()
	v.src.use(t.outline, func() { t.goTo(id) })
	t.settle()
}

// described is the message with the texts of rows.
type described struct {
	first  int
	rows   []transcript.OutlineRow
	serial int
	err    error
}

// load reads the rows near the visible ones, unless they are loaded.
func (t *tree) load(v *viewer) tea.Cmd {
	if t.outline == nil || t.loading {
		return nil
	}
	height := max(t.height, 24)
	from, to := max(t.top, 0), min(t.top+height, t.outline.Len())
	if from >= t.first && to <= t.first+len(t.rows) && t.rows != nil || from >= to {
		return nil
	}
	t.loading = true
	from, to = max(from-2*height, 0), to+2*height
	src, ctx, o, serial := v.src, v.ctx, t.outline, t.serial
	return func() tea.Msg {
		rows, err := src.outlineRows(ctx, o, from, to)
		return v.to(described{from, rows, serial, err})
	}
}

func (t *tree) described(m described) {
	if m.serial != t.serial {
		return
	}
	t.loading = false
	if m.err == nil {
		t.first, t.rows = m.first, m.rows
	}
}

// row returns a row if its text is loaded.
func (t *tree) row(n int) (transcript.OutlineRow, bool) {
	if n < t.first || n >= t.first+len(t.rows) {
		return transcript.OutlineRow{}, false
	}
	return t.rows[n-t.first], true
}

// move moves the cursor in the tree to a row. The transcript follows.
func (v *viewer) move(row int) tea.Cmd {
	t := &v.tree
	if t.outline == nil || t.outline.Len() == 0 {
		return nil
	}
	t.cur = min(max(row, 0), t.outline.Len()-1)
	t.settle()
	v.src.use(t.outline, func() { t.id = t.outline.ID(t.cur) })
	return v.show(t.id)
}

// foldBranch folds the branch of the row under the cursor, or unfolds it.
func (v *viewer) foldBranch() tea.Cmd {
	t := &v.tree
	if t.outline == nil || t.outline.Len() == 0 {
		return nil
	}
	v.src.use(t.outline, func() {
		if id := t.outline.ID(t.cur); t.folded[id] {
			delete(t.folded, id)
			return
		}
		t.cur = t.outline.Head(t.cur)
		t.id = t.outline.ID(t.cur)
		t.folded[t.id] = true
	})
	return v.outline()
}

// foldBranches folds all branches that are not on the path, or unfolds everything.
func (v *viewer) foldBranches() tea.Cmd {
	t := &v.tree
	if t.outline == nil {
		return nil
	}
	if len(t.folded) > 0 {
		t.folded = map[session.EntryID]bool{}
		return v.outline()
	}
	v.src.use(t.outline, func() {
		for _, id := range t.outline.Aside() {
			t.folded[id] = true
		}
	})
	return v.outline()
}

// treeLine returns a row of the tree: bars of the branches that continue further below, a symbol, and the entry in a few words.
func (v *viewer) treeLine(n, width int) line {
	r, ok := v.tree.row(n)
	if !ok {
		return newLine(run{" " + "…", faint})
	}
	mark := run{" ", plain}
	if n == v.tree.cur {
		mark = run{"▌", accent}
	}
	column := r.Column
	bars := strings.Repeat("│ ", max(column, 0))
	if r.Begins && column > 0 {
		bars = strings.Repeat("│ ", column-1) + "├─"
	}
	sign, text, words := signOf(r), "", plain
	switch {
	case r.Block == transcript.Compaction:
		text, words = "compaction", faint
	case r.Block == transcript.Summary:
		text, words = "summary: "+r.Text, faint
	default:
		text = r.Text
	}
	if text == "" {
		text = "(no text)"
	}
	if !r.Active {
		words = faint
	} else if r.Role == session.RoleUser && words == plain {
		words = strong
	}
	if n == v.tree.cur && v.onTree {
		words = selected
	}
	var right []run
	if r.Folded {
		right = append(right, run{" ▸" + wire.Number(int64(r.Hidden)), accent})
	}
	if r.Label != "" {
		right = append(right, run{" ⚑ " + look.Line(r.Label, max(width/3, 6)), label})
	}
	if r.Leaf {
		right = append(right, run{" ◀", live})
	}
	left := []run{mark, {bars, faint}, sign, {" " + look.Line(text, width), words}}
	return ends(left, right, width)
}

// signOf returns the symbol of a row, which is filled on the path.
func signOf(r transcript.OutlineRow) run {
	role := faint
	if r.Active {
		role = accent
	}
	switch {
	case r.Block == transcript.Compaction:
		return run{"═", role}
	case r.Fork && r.Active:
		return run{"◆", role}
	case r.Fork:
		return run{"◇", role}
	case r.Active:
		return run{"●", role}
	}
	return run{"○", role}
}
