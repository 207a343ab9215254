package view

import (
	tea "charm.land/bubbletea/v2"

	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/transcript"
	"github.com/treeline-dev/treeline/tui/look"
)

// show puts an entry at the top of the screen, if necessary in another branch. The command that it returns loads what is missing.
func (v *viewer) show(id session.EntryID) tea.Cmd {
	leaf := v.facts.leaf
	if v.leaf != nil {
		leaf = *v.leaf
	}
	elsewhere := !v.src.leads(id, leaf)
	v.tree.want = id
	if elsewhere {
		leaf = v.src.through(id)
		if v.leaf = &leaf; leaf == v.facts.leaf {
			v.leaf = nil
		}
	}
	if v.mode == model {
		v.at = id
		return tea.Batch(v.load(job{kind: jobEnd}), v.outline())
	}
	if v.mode == changes {
		if elsewhere {
			return tea.Batch(v.load(job{kind: jobBegin}), v.outline())
		}
		v.wantRow()
		return nil
	}
	if elsewhere {
		return tea.Batch(v.load(job{jobShow, id}), v.outline())
	}
	v.wantRow()
	if v.pane.find(string(id), id) < 0 {
		return v.load(job{jobShow, id})
	}
	v.goTo(id)
	v.tree.follow(v)
	if v.want != "" {
		return v.showMatch()
	}
	return nil
}

// wantRow puts the cursor of the tree on the row in want.
func (v *viewer) wantRow() {
	if t := &v.tree; t.outline != nil {
		v.src.use(t.outline, func() { t.goTo(t.want) })
		t.want = ""
		t.settle()
	}
}

// goTo puts the item of an entry, or the nearest one before it, at the top.
func (v *viewer) goTo(id session.EntryID) {
	n := v.pane.find(string(id), id)
	if n < 0 {
		n = v.src.nearest(v.pane.items, id)
	}
	if n < 0 || n >= len(v.pane.items) {
		return
	}
	v.pane.cur = n
	v.pane.top = v.pane.begin(n)
	v.pane.settle()
}

// branch switches to another branch of the fork at the cursor or above it or, if there is none, of the next fork.
func (v *viewer) branch(step int) tea.Cmd {
	var f *transcript.Fork
	for n := min(v.pane.cur, len(v.pane.items)-1); n >= 0 && f == nil; n-- {
		f = forkOf(v.pane.items[n])
	}
	for n := v.pane.cur; n < len(v.pane.items) && f == nil; n++ {
		f = forkOf(v.pane.items[n])
	}
	if f == nil {
		return look.Send(look.Status{Text: "there is no fork near here; the tree shows all forks"})
	}
	return v.switchTo(f, step)
}

// forkOf returns the fork of an item that has several branches, or nil.
func forkOf(it *item) *transcript.Fork {
	if it.fork == nil || it.block != nil && it.fork.Count < 2 {
		return nil
	}
	return it.fork
}

func (v *viewer) switchTo(f *transcript.Fork, step int) tea.Cmd {
	number := f.Current + step
	for _, b := range f.Branches {
		if b.Number == number {
			return v.enterBranch(b)
		}
	}
	if number < 1 {
		return look.Send(look.Status{Text: "this is the first branch"})
	}
	return look.Send(look.Status{Text: "this is the last branch"})
}

func (v *viewer) enterBranch(b transcript.Branch) tea.Cmd {
	leaf := b.Tip
	if v.leaf = &leaf; leaf == v.facts.leaf {
		v.leaf = nil
	}
	if v.mode == model {
		v.enterMode(everything)
	}
	v.tree.want = b.First
	return tea.Batch(v.load(job{jobShow, b.First}), v.outline())
}

// toggleModel shows what the model sees at the cursor, or returns to what was shown before.
func (v *viewer) toggleModel() tea.Cmd {
	if v.mode != model {
		return v.setMode(model)
	}
	return v.setMode(everything)
}

// setMode changes what the right side shows. The entry under the cursor remains visible.
func (v *viewer) setMode(m mode) tea.Cmd {
	here := v.here()
	if v.width < twoPanes {
		v.onTree = false // it would hide the new mode
	}
	if m == v.mode {
		return nil
	}
	if v.back != nil {
		here = *v.back
	}
	v.enterMode(m)
	switch m {
	case model:
		v.at, v.back = here, &here
		return v.load(job{kind: jobEnd})
	case changes:
		v.back = &here
	}
	return v.load(job{jobShow, here})
}

// enterMode discards what another mode showed.
func (v *viewer) enterMode(m mode) {
	v.mode, v.at, v.back = m, "", nil
	v.pane = pane{width: v.pane.width, height: v.pane.height}
	v.note = "reading …"
}

func (v *viewer) escape() tea.Cmd {
	if v.needle != "" {
		v.needle, v.want = "", ""
		v.stopFind()
		return nil
	}
	return v.setMode(everything)
}
