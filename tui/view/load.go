package view

import (
	"iter"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/transcript"
)

// job is a load of the transcript.
type job struct {
	kind jobKind
	// entry is the entry to begin at or to extend from, by the Place of its block. In jobEnd, it is the entry on which the cursor stays
	// while it is visible.
	entry session.EntryID
}

type jobKind uint8

const (
	jobEnd    jobKind = iota // the end of the path
	jobBegin                 // the beginning of the path
	jobShow                  // an entry, at the top of the screen
	jobStay                  // what is shown, loaded again
	jobBefore                // more before the first item
	jobAfter                 // more after the last one
	jobWhole                 // one block with all of its texts
)

// Number of blocks that are loaded at once. Each load reads the whole context, so that is loaded in larger parts.
const (
	someBlocks  = 60
	modelBlocks = 300
)

// loaded is the message with the result of a job.
type loaded struct {
	job    job
	serial int
	mode   mode
	window *transcript.Window
	files  []transcript.FileChange
	err    error
}

// load starts a job. Earlier jobs are abandoned, except those for whole blocks, which are independent of the others.
func (v *viewer) load(j job) tea.Cmd {
	if j.kind != jobWhole {
		v.serial++
		v.job, v.loading = j, true
	}
	r := transcript.Request{Leaf: v.leaf, Mode: v.mode.request(), Limit: someBlocks}
	if v.mode == model {
		r.Limit = modelBlocks
		if at := v.at; at != "" {
			r.Leaf = &at
		}
	}
	switch j.kind {
	case jobBegin:
		r.First = true
	case jobShow:
		r.Around = j.entry
	case jobStay:
		r.Around, r.Limit = j.entry, max(r.Limit, 2*len(v.pane.items))
	case jobBefore:
		r.Before = j.entry
	case jobAfter:
		r.After = j.entry
	case jobWhole:
		r.Around, r.Limit, r.MaxText = j.entry, 1, -1
	}
	if j.entry == "" {
		r.Around = ""
	}
	done := loaded{job: j, serial: v.serial, mode: v.mode}
	src, ctx := v.src, v.ctx
	return func() tea.Msg {
		if done.mode == changes {
			done.files, done.err = src.changes(ctx, r.Leaf)
		} else {
			done.window, done.err = src.window(ctx, r)
		}
		return v.to(done)
	}
}

// loaded shows the result of a job.
func (v *viewer) loaded(m loaded) tea.Cmd {
	if m.mode != v.mode || m.serial != v.serial && m.job.kind != jobWhole {
		return nil
	}
	if m.job.kind == jobWhole {
		return v.loadedWhole(m)
	}
	v.loading = false
	if m.err != nil {
		v.note = "This cannot be shown."
		return v.failed(m.err)
	}
	v.note = ""
	if m.mode == changes {
		v.files = m.files
		v.showFiles(m.job)
		return nil
	}
	w := m.window
	items := v.items(w, m.job)
	switch m.job.kind {
	case jobBefore:
		v.pane.extend(items, false, w.Earlier)
		if n := len(items); n > 0 && n < len(v.pane.items) { // its predecessor is another block now
			v.pane.items[n] = v.remade(n)
			v.pane.settle()
		}
		return nil
	case jobAfter:
		v.pane.extend(items, true, w.Later)
		return nil
	}
	v.total, v.tokens = w.Total, w.Estimate
	for n, it := range items { // blocks that were loaded as a whole stay so
		if old := v.pane.find(it.key, ""); old >= 0 && v.pane.items[old].whole {
			items[n] = v.pane.items[old]
		}
	}
	v.pane.replace(items, w.Earlier, w.Later)
	switch m.job.kind {
	case jobEnd:
		cur := v.pane.cur // on the same item as before
		v.pane.toEnd()
		v.skipEnding()
		if from, _, _, _ := v.pane.rows(cur); m.job.entry != "" && from >= 0 {
			v.pane.cur = cur
		}
	case jobBegin:
		v.pane.toBegin()
	case jobShow:
		v.goTo(m.job.entry)
	}
	if len(items) == 0 {
		v.note = "(no entries yet)"
		if v.mode == model {
			v.note = "(the model sees nothing at this entry)"
		}
	}
	v.tree.follow(v)
	if v.want != "" {
		return v.showMatch()
	}
	return nil
}

// loadedWhole replaces a block that was cut by one with all of its texts.
func (v *viewer) loadedWhole(m loaded) tea.Cmd {
	if m.err != nil {
		return v.failed(m.err)
	}
	n := v.pane.find(string(m.job.entry), m.job.entry)
	items := v.items(m.window, m.job)
	if n < 0 || len(items) == 0 {
		return nil
	}
	items[0].whole = true
	v.pane.items[n] = items[0]
	v.pane.settle()
	if v.want != "" {
		return v.showMatch()
	}
	return nil
}

// skipEnding puts the cursor on the last block, not on the ending after it.
func (v *viewer) skipEnding() {
	if n := len(v.pane.items); n > 1 && v.pane.items[n-1].block == nil && v.pane.items[n-1].file == nil {
		v.pane.cur = n - 2
	}
}

// items returns the items of a window.
func (v *viewer) items(w *transcript.Window, j job) []*item {
	list := make([]*item, 0, len(w.Blocks)+1)
	var before *transcript.Block
	var said last
	switch j.kind {
	case jobAfter:
		before, said = v.before(len(v.pane.items))
	case jobWhole:
		before, said = v.before(v.pane.find(string(j.entry), j.entry))
	}
	for n := range w.Blocks {
		b := &w.Blocks[n]
		list = append(list, v.blockItem(b, before, said))
		before, said = b, said.after(b)
	}
	if j.kind != jobBefore && j.kind != jobWhole && !w.Later {
		if it := v.ending(w.Onward); it != nil {
			list = append(list, it)
		}
	}
	return list
}

// before returns the block before an item, or nil, and what the headings before it have shown.
func (v *viewer) before(n int) (block *transcript.Block, said last) {
	const far = 30 // the last answer is rarely further away
	for k := max(n-far, 0); k < n; k++ {
		block = v.pane.items[k].block
		said = said.after(block)
	}
	return block, said
}

func (v *viewer) blockItem(b, before *transcript.Block, said last) *item {
	s := v.setting()
	s.open, s.last = v.isOpen(string(b.Place)), said
	return blockItem(b, before, s)
}

// showFiles shows the changes that were loaded.
func (v *viewer) showFiles(j job) {
	items := make([]*item, len(v.files))
	for n := range v.files {
		items[n] = v.fileItem(&v.files[n])
	}
	v.total = len(items)
	v.pane.replace(items, false, false)
	if j.kind != jobStay {
		v.pane.toBegin()
		for n, f := range v.files {
			if slices.Contains(f.Entries, j.entry) {
				v.pane.cur = n
				v.pane.top = spot{item: n}
				break
			}
		}
		v.pane.settle()
	}
	if len(items) == 0 {
		v.note = "No file was changed on this branch."
	}
}

func (v *viewer) fileItem(f *transcript.FileChange) *item {
	s := v.setting()
	s.open = v.isOpen("file " + f.Path)
	return fileItem(f, s)
}

// more loads more when the screen comes near an end.
func (v *viewer) more() tea.Cmd {
	var cmds []tea.Cmd
	if n := len(v.pane.items); !v.loading && n > 0 && v.mode != changes {
		switch {
		case v.pane.near(true):
			cmds = append(cmds, v.load(job{jobAfter, firstPlace(slices.Backward(v.pane.items))}))
		case v.pane.near(false):
			cmds = append(cmds, v.load(job{jobBefore, firstPlace(slices.All(v.pane.items))}))
		}
	}
	return tea.Batch(append(cmds, v.tree.load(v))...)
}

// firstPlace returns the Place of the first block that has one.
func firstPlace(items iter.Seq2[int, *item]) session.EntryID {
	for _, it := range items {
		if it.block != nil && it.block.Place != "" {
			return it.block.Place
		}
	}
	return ""
}

// lastBlock returns the last entry that has a block.
func (v *viewer) lastBlock() session.EntryID {
	for _, it := range slices.Backward(v.pane.items) {
		if it.block != nil {
			return it.id
		}
	}
	return ""
}

// told means that the session was written to.
type told struct{}

// watch watches the session until the screen is closed.
func (v *viewer) watch() tea.Cmd {
	if v.opt.Store == nil || v.facts.path == "" {
		return nil
	}
	store, ctx, path, tell := v.opt.Store, v.ctx, v.facts.path, v.told
	go func() {
		for change, err := range store.Watch(ctx, treeline.WatchOptions{Path: path}) {
			if err != nil {
				return // it cannot be watched, so the screen is not updated
			}
			if change.Kind != treeline.ChangeProblem {
				select {
				case tell <- struct{}{}:
				default: // already signalled
				}
			}
		}
	}()
	return v.wait()
}

// wait waits for the next change.
func (v *viewer) wait() tea.Cmd {
	return func() tea.Msg {
		if v.ctx.Err() != nil {
			return nil
		}
		select {
		case <-v.told:
			return v.to(told{})
		case <-v.ctx.Done():
			return nil
		}
	}
}

// renewed is the result of reading the session again.
type renewed struct {
	changed bool
	err     error
}

func (v *viewer) renew() tea.Cmd {
	src, ctx := v.src, v.ctx
	return func() tea.Msg {
		changed, err := src.renew(ctx)
		return v.to(renewed{changed, err})
	}
}

// renewed shows what is new. If the screen was at the end, it stays there, and so does the cursor if it was at the end. Otherwise the
// screen shows the same as before.
func (v *viewer) renewed(m renewed) tea.Cmd {
	if m.err != nil {
		if text := m.err.Error(); v.gone != text {
			v.gone = text
			return v.failed(m.err)
		}
		return nil
	}
	v.gone = ""
	if v.toLeaf {
		v.toLeaf, v.leaf, v.facts = false, nil, v.src.facts()
		if v.mode != everything && v.mode != focused {
			v.enterMode(everything)
		}
		v.tree.want = v.facts.leaf
		return tea.Batch(v.load(job{kind: jobEnd}), v.outline())
	}
	if !m.changed {
		return nil
	}
	follow := v.mode != changes && v.pane.atEnd() && (v.mode != model || v.at == "")
	was := v.facts.leaf
	v.facts = v.src.facts()
	if v.leaf == nil && !follow && was != v.facts.leaf && was != "" {
		v.leaf = &was // the session may continue in another branch
	}
	if v.leaf != nil {
		leaf := v.src.through(*v.leaf)
		if v.leaf = &leaf; leaf == v.facts.leaf {
			v.leaf = nil
		}
	}
	j := job{kind: jobStay, entry: v.here()}
	if follow {
		j.kind = jobEnd
		if j.entry == v.lastBlock() {
			j.entry = "" // the cursor follows, too
		}
	}
	return tea.Batch(v.load(j), v.outline())
}

// related means that the related sessions are known.
type related struct{ err error }

func (v *viewer) relate() tea.Cmd {
	if v.opt.Store == nil {
		return nil
	}
	src, ctx, store := v.src, v.ctx, v.opt.Store
	return func() tea.Msg { return v.to(related{src.relate(ctx, store)}) }
}

func (v *viewer) related(m related) tea.Cmd {
	if m.err != nil {
		return v.failed(m.err)
	}
	v.facts = v.src.facts()
	if v.mode == changes {
		return nil
	}
	if len(v.pane.items) == 0 {
		return v.load(v.job)
	}
	return v.load(job{kind: jobStay, entry: v.here()})
}
