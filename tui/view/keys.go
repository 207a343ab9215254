package view

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/transcript"
	"github.com/treeline-dev/treeline/tui/look"
)

// What a click does.
type (
	fold         struct{}                           // folds the block, or unfolds it
	switchBranch struct{ fork *transcript.Fork }    // to the branch before or after, by the side that is clicked
	openChild    struct{ child *transcript.Child }  // the conversation of a sub-agent
	goOn         struct{ branch transcript.Branch } // into a branch after the end of the path
)

func (fold) isAct()         {}
func (switchBranch) isAct() {}
func (openChild) isAct()    {}
func (goOn) isAct()         {}

// Keys implements look.Screen.
func (v *viewer) Keys() []look.Key {
	key := func(keys, name, help string, run func() tea.Cmd) look.Key {
		return look.Key{Keys: strings.Fields(keys), Name: name, Help: help, Run: func() tea.Cmd {
			cmd := run()
			return tea.Batch(cmd, v.more())
		}}
	}
	same := func(k look.Key, command string) look.Key {
		k.Command = func() string {
			t, _ := v.target()
			return strings.NewReplacer("‹s›", t.Ref, "‹e›", t.Entry).Replace(command)
		}
		return k
	}
	list := []look.Key{
		key("j down", "move", "the next message, or more of a long one; in the tree the next row", func() tea.Cmd { return v.step(1) }),
		key("k up", "", "the message before; in the tree the row before", func() tea.Cmd { return v.step(-1) }),
		key("J", "prompt", "the next prompt", func() tea.Cmd { return v.prompt(1) }),
		key("K", "", "the prompt before", func() tea.Cmd { return v.prompt(-1) }),
		key("] > right", "branch", "the next branch of the fork at or above the cursor", func() tea.Cmd { return v.branch(1) }),
		key("[ < left", "", "the branch before", func() tea.Cmd { return v.branch(-1) }),
		key("e", "fold", "unfold the message, or fold it; in the tree the branch", v.foldHere),
		key("tab", v.otherPane(), "between the tree and the transcript", v.switchPane),
		same(key("c", "context", "what the model sees at this entry; again: back", v.toggleModel), "treeline context ‹s› --leaf ‹e›"),
	}
	list = append(list, look.Actions(v.target, look.Label, look.BranchHere, look.ForkHere, look.CopyResume)...)
	list = append(list,
		key("/", "find", "find a text in this session", v.ask),
		key("n", "", "the next place where it is", func() tea.Cmd { return v.find(1, false) }),
		key("N", "", "the place before", func() tea.Cmd { return v.find(-1, false) }),
		key("m", "labels", "go to a label", v.chooseLabel),
		key("y", "copy id", "copy the id of the entry", v.copyID),
		key("Y", "", "copy the text of the message", v.copyText),
		key("enter", "", "open the sub-agent, unfold the message, or go to the last edit of the file", v.enter),
		key("a", "", "open a fork, a sub-agent, or the session that this one comes from", v.chooseRelative),
	)
	list = append(list, look.Actions(v.target, look.ResumeElsewhere, look.Export, look.Browse, look.Delete)...)
	rename := look.Actions(v.target, look.Rename)[0]
	rename.Keys = []string{"t"}
	list = append(list, rename,
		same(key("1", "", "everything that was said and done", func() tea.Cmd { return v.setMode(everything) }), "treeline show ‹s›"),
		key("2", "", "focused: prompts and answers", func() tea.Cmd { return v.setMode(focused) }),
		same(key("3", "", "what the model sees at this entry", func() tea.Cmd { return v.setMode(model) }), "treeline context ‹s› --leaf ‹e›"),
		key("4", "", "the changes of files", func() tea.Cmd { return v.setMode(changes) }),
		key("v", "", "the next mode", func() tea.Cmd { return v.setMode((v.mode + 1) % modes) }),
		key("E", "", "unfold everything, or fold it; in the tree the branches beside the path", v.foldAll),
		key("p", "", "in the tree: prompts, forks, labels and compactions alone, or all", v.toggleLandmarks),
		key("g home", "", "the beginning", func() tea.Cmd { return v.edge(jobBegin) }),
		key("G end", "", "the end, and follow it while the session goes on", func() tea.Cmd { return v.edge(jobEnd) }),
		key("pgdown space ctrl+f", "", "a page down", func() tea.Cmd { return v.page(1) }),
		key("pgup ctrl+b", "", "a page up", func() tea.Cmd { return v.page(-1) }),
		key("ctrl+d", "", "half a page down", func() tea.Cmd { return v.scroll(v.pane.height / 2) }),
		key("ctrl+u", "", "half a page up", func() tea.Cmd { return v.scroll(-v.pane.height / 2) }),
		key("ctrl+e", "", "a line down", func() tea.Cmd { return v.scroll(1) }),
		key("ctrl+y", "", "a line up", func() tea.Cmd { return v.scroll(-1) }),
	)
	if v.needle != "" || v.mode == model {
		list = append(list, key("esc", "", "end the search, or leave what the model sees", v.escape))
	}
	return list
}

// step moves the cursor by one.
func (v *viewer) step(n int) tea.Cmd {
	if v.onTree {
		return v.move(v.tree.cur + n)
	}
	if n > 0 {
		v.pane.down()
	} else {
		v.pane.up()
	}
	v.tree.follow(v)
	return nil
}

// scroll moves the lines; in the tree, the cursor.
func (v *viewer) scroll(n int) tea.Cmd {
	if v.onTree {
		return v.move(v.tree.cur + n)
	}
	v.pane.scroll(n)
	v.pane.follow()
	v.tree.follow(v)
	return nil
}

// page moves by a screen, less a line that stays in sight.
func (v *viewer) page(n int) tea.Cmd {
	if v.onTree {
		return v.move(v.tree.cur + n*max(v.tree.height-1, 1))
	}
	moved := v.pane.scroll(n * max(v.pane.height-1, 1))
	if v.pane.follow(); moved == 0 && len(v.pane.items) > 0 { // at an end
		if v.pane.cur = 0; n > 0 {
			v.pane.cur = len(v.pane.items) - 1
		}
	}
	v.tree.follow(v)
	return nil
}

// edge goes to the beginning or the end.
func (v *viewer) edge(kind jobKind) tea.Cmd {
	if v.onTree && v.tree.outline != nil {
		if kind == jobBegin {
			return v.move(0)
		}
		return v.move(v.tree.outline.Len() - 1)
	}
	switch {
	case kind == jobBegin && !v.pane.earlier:
		v.pane.toBegin()
	case kind == jobEnd && !v.pane.later:
		v.pane.toEnd()
		v.skipEnding()
	default:
		return v.load(job{kind: kind})
	}
	v.tree.follow(v)
	return nil
}

// prompt goes to the next prompt, or the one before. On the path it is found among the rows of the tree.
func (v *viewer) prompt(step int) tea.Cmd {
	t := &v.tree
	if v.mode == changes || t.outline == nil {
		return v.step(step)
	}
	row := -1
	var id session.EntryID
	v.src.read(func() {
		row = t.outline.Find(v.here())
		if row = t.outline.NextPrompt(row, step, !v.onTree); row >= 0 {
			id = t.outline.ID(row)
		}
	})
	if row < 0 {
		return look.Send(look.Status{Text: "there is no other prompt"})
	}
	if v.onTree {
		return v.move(row)
	}
	return v.show(id)
}

// show puts an entry at the top of the screen, in another branch if it is not on the path. What it gives loads what is missing.
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
	if !elsewhere && v.pane.find(string(id), id) >= 0 {
		v.goTo(id)
		if v.want != "" {
			v.showMatch()
		}
		v.tree.follow(v)
		return nil
	}
	if elsewhere {
		return tea.Batch(v.load(job{jobShow, id}), v.outline())
	}
	v.wantRow()
	return v.load(job{jobShow, id})
}

// wantRow puts the cursor of the tree on the row that is wanted.
func (v *viewer) wantRow() {
	if t := &v.tree; t.outline != nil {
		v.src.read(func() { t.goTo(t.want) })
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

// branch switches to another branch of the fork at the cursor or above it, or else of the next one.
func (v *viewer) branch(step int) tea.Cmd {
	var f *transcript.Fork
	for n := min(v.pane.cur, len(v.pane.items)-1); n >= 0 && f == nil; n-- {
		f = forkOf(v.pane.items[n])
	}
	for n := v.pane.cur; n < len(v.pane.items) && f == nil; n++ {
		f = forkOf(v.pane.items[n])
	}
	if f == nil {
		return look.Send(look.Status{Text: "there is no fork near here; the tree has all of them"})
	}
	return v.switchTo(f, step)
}

// forkOf is the fork of an item at which there is a choice, nil for none.
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

// remade makes an item anew from what it shows.
func (v *viewer) remade(n int) *item {
	it := v.pane.items[n]
	switch {
	case it.file != nil:
		return v.fileItem(it.file)
	case it.block != nil:
		var before *transcript.Block
		if n > 0 {
			before = v.pane.items[n-1].block
		}
		made := v.blockItem(it.block, before)
		made.whole = it.whole
		return made
	}
	return it
}

// layOut makes an item anew, after it was folded or unfolded. A block whose texts were cut is loaded with all of them.
func (v *viewer) layOut(n int) tea.Cmd {
	it := v.remade(n)
	v.pane.items[n] = it
	if v.pane.top.item == n { // its beginning is what is known of it
		v.pane.top = v.pane.begin(n)
	}
	v.pane.settle()
	if from, to, _, ends := v.pane.rows(n); from < 0 || to-from < 3 && !ends {
		v.pane.reveal()
	}
	if it.block != nil && v.isOpen(it.key) && isCut(it.block) && it.id != "" && v.mode != model {
		return v.load(job{jobWhole, it.id})
	}
	return nil
}

// isCut reports whether texts of a block are not loaded to their end.
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

// otherPane is the name of the pane that the keys do not move in.
func (v *viewer) otherPane() string {
	if v.onTree {
		return "transcript"
	}
	return "tree"
}

func (v *viewer) switchPane() tea.Cmd {
	v.onTree = !v.onTree
	v.tree.follow(v)
	return nil
}

func (v *viewer) toggleLandmarks() tea.Cmd {
	v.tree.landmarks = !v.tree.landmarks
	return v.outline()
}

// toggleModel shows what the model sees at the cursor, or what was shown before.
func (v *viewer) toggleModel() tea.Cmd {
	if v.mode != model {
		return v.setMode(model)
	}
	return v.setMode(everything)
}

// setMode changes what the right side shows. The entry under the cursor stays in sight.
func (v *viewer) setMode(m mode) tea.Cmd {
	if m == v.mode {
		return nil
	}
	here := v.here()
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

// enterMode forgets what was shown in another mode.
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

// ask asks for a text to find.
func (v *viewer) ask() tea.Cmd {
	return look.Send(look.Ask{Question: "Find in this session", Value: v.needle, Then: func(text string) tea.Cmd {
		v.needle = strings.ToLower(strings.TrimSpace(text))
		return v.find(1, true)
	}})
}

// showMatch shows the line with the needle of the block that was found, which is unfolded if its line is not to be seen.
func (v *viewer) showMatch() tea.Cmd {
	n := v.pane.find(string(v.want), v.want)
	v.want = ""
	if n < 0 || v.needle == "" {
		return nil
	}
	v.pane.cur = n
	at, ok := v.lineWith(n)
	if !ok && !v.isOpen(v.pane.items[n].key) {
		v.opened[v.pane.items[n].key] = true
		if cmd := v.layOut(n); cmd != nil {
			v.want = v.pane.items[n].id // it is shown when the whole text is there
			return cmd
		}
		at, ok = v.lineWith(n)
	}
	if !ok {
		v.pane.top = v.pane.begin(n)
		v.pane.settle()
		return nil
	}
	v.pane.top = at
	v.pane.scroll(-min(v.pane.height/3, 5)) // with what stands before it
	v.pane.settle()
	return nil
}

// lineWith gives the first line of an item that has the needle.
func (v *viewer) lineWith(n int) (spot, bool) {
	for at, ok := v.pane.begin(n), true; ok && at.item == n; at, ok = v.pane.next(at) {
		if v.pane.valid(at) && contains(v.pane.lines(at)[at.line].text(), v.needle) {
			return at, true
		}
	}
	return spot{}, false
}

func (v *viewer) chooseLabel() tea.Cmd {
	if len(v.facts.labels) == 0 {
		return look.Send(look.Status{Text: "this session has no labels"})
	}
	options := make([]look.Option, len(v.facts.labels))
	for n, l := range v.facts.labels {
		options[n] = look.Option{Name: l.name, Note: string(l.entry)}
	}
	labels := v.facts.labels
	return look.Send(look.Choose{Question: "Go to which label?", Options: options, Then: func(n int) tea.Cmd {
		if v.mode == changes {
			v.enterMode(everything)
		}
		return v.show(labels[n].entry)
	}})
}

func (v *viewer) chooseRelative() tea.Cmd {
	if len(v.facts.relatives) == 0 {
		return look.Send(look.Status{Text: "no other session belongs to this one"})
	}
	list := v.facts.relatives
	options := make([]look.Option, len(list))
	for n := range list {
		options[n] = look.Option{Name: list[n].row.Heading(), Note: list[n].what}
	}
	return look.Send(look.Choose{Question: "Open which session?", Options: options, Then: func(n int) tea.Cmd {
		return look.Send(look.Open{Path: list[n].row.Path})
	}})
}

func (v *viewer) copyID() tea.Cmd {
	return look.Send(look.Copy{Text: look.Line(string(v.here()), 200), What: "the id of the entry"})
}

// copyText copies what was said, without calls and thoughts.
func (v *viewer) copyText() tea.Cmd {
	it := v.current()
	if it == nil || it.block == nil {
		return nil
	}
	var texts []string
	for _, p := range it.block.Pieces {
		if t, ok := p.(transcript.Text); ok {
			texts = append(texts, t.Text)
		}
	}
	if len(texts) == 0 {
		return look.Send(look.Status{Text: "this message has no text"})
	}
	return look.Send(look.Copy{Text: look.Text(strings.Join(texts, "\n\n")), What: "the text"})
}

// enter does what lies nearest: it goes into a branch or a sub-agent, to the edit of a file, or unfolds.
func (v *viewer) enter() tea.Cmd {
	it := v.current()
	switch {
	case v.onTree:
		v.onTree = false
		return nil
	case it == nil:
		return nil
	case it.file != nil && it.id != "":
		v.enterMode(everything)
		return v.show(it.id)
	case it.block == nil && it.fork != nil && len(it.fork.Branches) > 0:
		return v.enterBranch(it.fork.Branches[0])
	case it.block == nil:
		return nil
	}
	for _, p := range it.block.Pieces {
		if t, ok := p.(transcript.Tools); ok {
			for _, c := range t.Calls {
				if c.Child != nil {
					return v.openChild(c.Child)
				}
			}
		}
	}
	return v.foldHere()
}

// openChild opens the conversation of a sub-agent on a screen of its own.
func (v *viewer) openChild(c *transcript.Child) tea.Cmd {
	switch {
	case c.Session == "":
		return look.Send(look.Open{Path: v.facts.path, Entry: string(c.Tip)})
	case c.Path != "":
		return look.Send(look.Open{Path: c.Path})
	}
	return look.Send(look.Status{Text: "the session of this sub-agent is not here", Error: true})
}
