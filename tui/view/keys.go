package view

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/transcript"
	"github.com/treeline-dev/treeline/tui/look"
)

// The actions of clicks.
type (
	fold         struct{}                           // folds the block, or unfolds it
	switchBranch struct{ fork *transcript.Fork }    // to the previous or next branch, depending on the side that is clicked
	openChild    struct{ child *transcript.Child }  // the conversation of a sub-agent
	goOn         struct{ branch transcript.Branch } // into a branch after the end of the path
)

func (fold) isAct()         {}
func (switchBranch) isAct() {}
func (openChild) isAct()    {}
func (goOn) isAct()         {}

// Keys implements look.Screen.
func (v *viewer) Keys() []look.Key {
	list := []look.Key{
		v.key("j down", "move", "next message or row; scrolls a long message", func() tea.Cmd { return v.step(1) }),
		v.key("k up", "", "previous message or row", func() tea.Cmd { return v.step(-1) }),
		v.key("J", "prompt", "next prompt", func() tea.Cmd { return v.prompt(1) }),
		v.key("K", "", "previous prompt", func() tea.Cmd { return v.prompt(-1) }),
		v.key("] > right", "branch", "next branch of the fork at or above the cursor", func() tea.Cmd { return v.branch(1) }),
		v.key("[ < left", "", "previous branch", func() tea.Cmd { return v.branch(-1) }),
		v.key("e", "fold", "fold or unfold the message; in the tree the branch", v.foldHere),
		v.key("tab", v.otherPane(), "switch between tree and transcript", v.switchPane),
		v.same(v.key("c", "context", "what the model sees at this entry, or back", v.toggleModel), "treeline context ‹s› --leaf ‹e›"),
	}
	list = append(list, v.actions(look.Label, look.BranchHere, look.ForkHere, look.CopyResume)...)
	list = append(list,
		v.key("/", "find", "find text in this session", v.ask),
		v.key("n", "", "next match", func() tea.Cmd { return v.find(1, false) }),
		v.key("N", "", "previous match", func() tea.Cmd { return v.find(-1, false) }),
		v.key("m", "labels", "go to a label", v.chooseLabel),
		v.key("y", "copy id", "copy the id of the entry", v.copyID),
		v.key("Y", "", "copy the text of the message", v.copyText),
		v.key("enter", "", "open the sub-agent, fold the message, or go to the edit", v.enter),
		v.key("a", "", "open a fork, a sub-agent, or the parent session", v.chooseRelative),
	)
	list = append(list, v.actions(look.ResumeElsewhere, look.Export, look.Browse, look.Delete)...)
	rename := v.actions(look.Rename)[0]
	rename.Keys = []string{"t"}
	list = append(list, rename,
		v.same(v.key("1", "", "everything: all messages and tool calls", func() tea.Cmd { return v.setMode(everything) }), "treeline show ‹s›"),
		v.key("2", "", "focused: prompts and answers", func() tea.Cmd { return v.setMode(focused) }),
		v.same(v.key("3", "", "what the model sees at this entry", func() tea.Cmd { return v.setMode(model) }), "treeline context ‹s› --leaf ‹e›"),
		v.key("4", "", "file changes", func() tea.Cmd { return v.setMode(changes) }),
		v.key("v", "", "next mode", func() tea.Cmd { return v.setMode((v.mode + 1) % modes) }),
		v.key("E", "", "fold or unfold all; in the tree the other branches", v.foldAll),
		v.key("p", "", "in the tree only prompts, forks, labels, compactions", v.toggleLandmarks),
		v.key("g home", "", "go to the beginning", func() tea.Cmd { return v.edge(jobBegin) }),
		v.key("G end", "", "go to the end and follow new entries", func() tea.Cmd { return v.edge(jobEnd) }),
		v.key("pgdown space ctrl+f", "", "page down", func() tea.Cmd { return v.page(1) }),
		v.key("pgup ctrl+b", "", "page up", func() tea.Cmd { return v.page(-1) }),
		v.key("ctrl+d", "", "half a page down", func() tea.Cmd { return v.scroll(v.pane.height / 2) }),
		v.key("ctrl+u", "", "half a page up", func() tea.Cmd { return v.scroll(-v.pane.height / 2) }),
		v.key("ctrl+e", "", "one line down", func() tea.Cmd { return v.scroll(1) }),
		v.key("ctrl+y", "", "one line up", func() tea.Cmd { return v.scroll(-1) }),
	)
	if v.needle != "" || v.mode == model || v.mode == changes {
		list = append(list, v.key("esc", "", "end the search, or go back to everything", v.escape))
	}
	return list
}

// key returns a key after which the screen may need to load more of the session.
//
//go:noinline // its copies took 12 KB
func (v *viewer) key(keys, name, help string, run func() tea.Cmd) look.Key {
	return look.Key{Keys: strings.Fields(keys), Name: name, Help: help, Run: func() tea.Cmd {
		cmd := run()
		return tea.Batch(cmd, v.more())
	}}
}

// same adds to a key the command that does the same.
func (v *viewer) same(k look.Key, command string) look.Key {
	k.Command = func() string {
		t, _ := v.spelled()
		return strings.NewReplacer("‹s›", t.Ref, "‹e›", t.Entry).Replace(command)
	}
	return k
}

// actions returns the keys of actions on the entry under the cursor.
func (v *viewer) actions(wanted ...look.Action) []look.Key {
	keys := look.Actions(v.target, wanted...)
	for n, a := range wanted {
		keys[n].Command = func() string { return a.Command(v.spelled()) }
	}
	return keys
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

// page moves by a screen minus one line, which remains visible.
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

// prompt goes to the next or previous prompt. On the path, it is found among the rows of the tree.
func (v *viewer) prompt(step int) tea.Cmd {
	t := &v.tree
	if v.mode == changes && !v.onTree || t.outline == nil {
		return v.step(step)
	}
	src, ctx, o, from, active := v.src, v.ctx, t.outline, v.here(), !v.onTree
	return func() tea.Msg {
		id, err := src.prompt(ctx, o, from, step, active)
		return v.to(prompted{id, err})
	}
}

// prompted is the result of a search for a prompt; "" means none.
type prompted struct {
	entry session.EntryID
	err   error
}

func (v *viewer) prompted(m prompted) tea.Cmd {
	switch {
	case m.err != nil:
		return v.failed(m.err)
	case m.entry == "":
		return look.Send(look.Status{Text: "there is no other prompt"})
	}
	return v.show(m.entry)
}

// otherPane returns the name of the pane without the cursor.
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
