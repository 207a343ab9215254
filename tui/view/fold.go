package view

import (
	tea "charm.land/bubbletea/v2"

	"github.com/treeline-dev/treeline/transcript"
)

// foldHere folds what is under the cursor.
func (v *viewer) foldHere() tea.Cmd {
	if v.onTree {
		return v.foldBranch()
	}
	it := v.current()
	if it == nil {
		return nil
	}
	v.opened[it.key] = !v.isOpen(it.key)
	return v.layOut(v.pane.cur)
}

// remade makes an item again from its content.
func (v *viewer) remade(n int) *item {
	it := v.pane.items[n]
	switch {
	case it.file != nil:
		return v.fileItem(it.file)
	case it.block != nil:
		before, said := v.before(n)
		made := v.blockItem(it.block, before, said)
		made.whole = it.whole
		return made
	}
	return it
}

// layOut makes an item again after it was folded or unfolded. If the texts of its block were cut, the whole block is loaded.
func (v *viewer) layOut(n int) tea.Cmd {
	it := v.remade(n)
	v.pane.items[n] = it
	if v.pane.top.item == n { // only its beginning has a known position
		v.pane.top = v.pane.begin(n)
	}
	v.pane.settle()
	if from, to, _, ends := v.pane.rows(n); from < 0 || to-from < 3 && !ends {
		v.pane.reveal()
	}
	if it.block != nil && v.isOpen(it.key) && isCut(it.block) && it.id != "" && v.mode != model {
		return v.load(job{jobWhole, it.block.Place})
	}
	return nil
}

// isCut reports whether the texts of a block were cut.
func isCut(b *transcript.Block) bool {
	for _, p := range b.Pieces {
		switch p := p.(type) {
		case transcript.Text:
			if p.Cut > 0 {
				return true
			}
		case transcript.Thinking:
			if p.Cut > 0 {
				return true
			}
		case transcript.Compacted:
			if p.Summary.Cut > 0 {
				return true
			}
		case transcript.Raw:
			if p.Cut > 0 {
				return true
			}
		case transcript.Tools:
			for _, c := range p.Calls {
				if c.InputCut > 0 || isCut(&transcript.Block{Pieces: c.Output}) {
					return true
				}
			}
		}
	}
	return false
}

// foldAll unfolds everything, or folds it again.
func (v *viewer) foldAll() tea.Cmd {
	if v.onTree {
		return v.foldBranches()
	}
	if v.mode == changes {
		open := false
		for _, it := range v.pane.items {
			open = open || v.isOpen(it.key)
		}
		for _, it := range v.pane.items {
			v.opened[it.key] = !open
		}
	} else {
		v.opened, v.allOpen = map[string]bool{}, !v.allOpen
	}
	for n := range v.pane.items {
		v.pane.items[n] = v.remade(n)
	}
	if n := v.pane.cur; n < len(v.pane.items) {
		v.pane.top = v.pane.begin(n)
	}
	v.pane.settle()
	return nil
}
