// Package view is the screen of one session: its tree on the left, and on the right one of four modes: everything that was said and done,
// only prompts and answers, what the model sees at an entry, and the changes of files.
//
// The screen (view.go) has two lists. A pane (pane.go) is scrolled line by line and has a part of the transcript. Its items (item.go,
// tool.go) are laid out part by part when they are shown, so that neither a session of a hundred thousand entries nor a text of ten
// megabytes is ever laid out as a whole. The tree (tree.go) has an outline of all entries, and the texts of the rows near the visible ones.
// Both are loaded by commands (load.go) from the session (source.go), which grows while a program writes to it.
//
// All text of a session passes through package look before it is part of a line (line.go). A line has no escape sequences until it is
// drawn: then each run gets those of its role.
package view

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/transcript"
	"github.com/treeline-dev/treeline/tui/look"
	"github.com/treeline-dev/treeline/wire"
)

// Options are the options of the screen.
type Options struct {
	// Store reports what is written to the session, opens it again if its log was replaced, and knows its forks and sub-agents. nil shows
	// the session on its own, without updates.
	Store *treeline.Store
	// Palette has the colours; nil means a palette without colours.
	Palette *look.Palette
	// Zone is the time zone; nil means the local one.
	Zone *time.Location
	// Home is the user's home directory, which is shown as ~.
	Home string
	// Entry is the entry at which the screen opens; "" means the end.
	Entry session.EntryID
	// Context opens the screen with what the model sees there.
	Context bool
}

// mode selects what the right side shows.
type mode uint8

const (
	everything mode = iota
	focused
	model
	changes
	modes // number of modes
)

// String returns the name of the mode.
func (m mode) String() string {
	return [...]string{"everything", "focused", "what the model sees", "changes"}[m]
}

// request returns the corresponding mode of a transcript.
func (m mode) request() transcript.Mode {
	return [...]transcript.Mode{transcript.Everything, transcript.Focused, transcript.Model, transcript.Everything}[m]
}

// twoPanes is the width from which the tree and the transcript are shown side by side.
const twoPanes = 100

// viewer is the screen of one session.
type viewer struct {
	ctx    context.Context
	cancel context.CancelFunc
	src    *source
	opt    Options
	paint  *paint
	told   chan struct{} // has a value after the session was written to

	facts facts
	mode  mode
	// leaf ends the path; nil means the leaf of the session. at is the end of the path in mode model.
	leaf *session.EntryID
	at   session.EntryID

	pane pane
	tree tree
	// onTree means that keys move the cursor in the tree.
	onTree bool
	// opened says of some items whether they are unfolded. allOpen says it of all others, except files, which are unfolded.
	opened  map[string]bool
	allOpen bool

	job     job    // what the transcript is being loaded for
	serial  int    // number of the last load; results of earlier ones are ignored
	loading bool   // a load is in progress
	note    string // shown instead of the transcript if there is none
	total   int    // entries or messages on the path
	tokens  int64  // in what the model sees
	files   []transcript.FileChange
	back    *session.EntryID // the reader's position before mode model

	needle   string          // what is looked for, in lower case; "" is nothing
	want     session.EntryID // the entry whose line with the needle is to be shown
	hit      session.EntryID // the entry that was found last
	gone     string          // why the session can no longer be read
	toLeaf   bool            // the reader moved the leaf, which is shown once the session was read again
	stopFind context.CancelFunc
	// searching counts the searches in progress.
	searching int

	width int
}

// New returns the screen of a session that is open for reading. The screen closes the session.
func New(ctx context.Context, s *treeline.Session, opt Options) look.Screen {
	if opt.Palette == nil {
		opt.Palette = look.Colours(false)
	}
	if opt.Zone == nil {
		opt.Zone = time.Local
	}
	ctx, cancel := context.WithCancel(ctx)
	v := &viewer{
		ctx: ctx, cancel: cancel, src: newSource(s, opt), opt: opt, paint: newPaint(opt.Palette),
		told: make(chan struct{}, 1), opened: map[string]bool{}, width: 80, stopFind: func() {},
	}
	v.facts = v.src.facts()
	v.tree.folded = map[session.EntryID]bool{}
	v.job = job{kind: jobEnd}
	if opt.Entry != "" && v.src.knows(opt.Entry) {
		v.show(opt.Entry) // Init loads what it requests
	}
	if opt.Context {
		at := opt.Entry
		if at == "" {
			at = v.facts.leaf
		}
		v.mode, v.at, v.back, v.job = model, at, &at, job{kind: jobEnd}
	}
	return v
}

// Target implements look.Pointer.
func (v *viewer) Target() (look.Target, bool) { return v.target() }

// Init implements look.Screen.
func (v *viewer) Init() tea.Cmd {
	return tea.Batch(v.load(v.job), v.outline(), v.relate(), v.watch())
}

// Close implements look.Closer.
func (v *viewer) Close() error {
	v.cancel()
	return v.src.close()
}

// Title implements look.Screen.
func (v *viewer) Title() (left, right string) {
	title := cmp.Or(v.facts.title, "(no messages)")
	if v.facts.title == "" && v.facts.speaks {
		title = "(no title)"
	}
	words := []string{v.facts.agent}
	if v.facts.cwd != "" {
		words = append(words, wire.Tilde(look.Line(v.facts.cwd, 60), v.opt.Home))
	}
	words = append(words, wire.Count(v.facts.entries, "entry", "entries"))
	if n := v.tree.branches; n > 1 {
		words = append(words, wire.Count(n, "branch", "branches"))
	}
	if n := len(v.facts.problems); n > 0 {
		words = append(words, wire.Count(n, "problem", "problems"))
	}
	return look.Line(title, 200), strings.Join(words, " · ")
}

// setting returns what the layout of items depends on.
func (v *viewer) setting() setting {
	return setting{cwd: v.facts.cwd, zone: v.opt.Zone, isTask: v.facts.isTask, mode: v.mode}
}

// isOpen reports whether an item is unfolded. Files in mode changes are unfolded by default.
func (v *viewer) isOpen(key string) bool {
	if on, ok := v.opened[key]; ok {
		return on
	}
	return v.allOpen || v.mode == changes
}

// here returns the entry under the cursor, or "".
func (v *viewer) here() session.EntryID {
	if v.onTree && v.tree.id != "" {
		return v.tree.id
	}
	if it := v.current(); it != nil && it.id != "" {
		return it.id
	}
	if v.leaf != nil {
		return *v.leaf
	}
	return v.facts.leaf
}

func (v *viewer) current() *item {
	if v.pane.cur < len(v.pane.items) {
		return v.pane.items[v.pane.cur]
	}
	return nil
}

// target returns the target of actions.
func (v *viewer) target() (look.Target, bool) {
	t := look.Target{
		Path: v.facts.path, ID: string(v.facts.id), Agent: v.facts.agent, Title: v.facts.title, Entry: string(v.here()),
		Ref: wire.ShellLine("", nil, []string{cmp.Or(string(v.facts.id), v.facts.path)}),
	}
	for _, l := range v.facts.labels {
		if string(l.entry) == t.Entry {
			t.Label = l.name
		}
	}
	return t, t.Path != ""
}

// spelled returns the target for a command line, where an id may contain any character.
func (v *viewer) spelled() (look.Target, bool) {
	t, ok := v.target()
	if t.Entry != "" {
		t.Entry = wire.ShellLine("", nil, []string{t.Entry})
	}
	return t, ok
}

// Update implements look.Screen.
func (v *viewer) Update(msg tea.Msg) (look.Screen, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.MouseWheelMsg:
		v.wheel(tea.Mouse(msg))
	case tea.MouseClickMsg:
		cmd = v.click(tea.Mouse(msg))
	case look.Done:
		v.toLeaf = v.toLeaf || msg.Action == look.BranchHere && msg.Target.Path == v.facts.path
		cmd = v.renew()
	case loaded:
		cmd = v.loaded(msg)
	case outlined:
		cmd = v.outlined(msg)
	case described:
		v.tree.described(msg)
	case renewed:
		cmd = v.renewed(msg)
	case related:
		cmd = v.related(msg)
	case told:
		cmd = tea.Batch(v.renew(), v.wait())
	case prompted:
		cmd = v.prompted(msg)
	case found:
		cmd = v.found(msg)
	}
	return v, tea.Batch(cmd, v.more())
}

// to returns a message for this screen.
func (v *viewer) to(msg tea.Msg) tea.Msg { return look.To{Screen: v, Msg: msg} }

// failed returns the status for an error. It ignores errors that are caused by closing the screen.
func (v *viewer) failed(err error) tea.Cmd {
	if err == nil || v.ctx.Err() != nil || errors.Is(err, context.Canceled) {
		return nil
	}
	return look.Send(look.Status{Text: err.Error(), Error: true})
}
