package page

import (
	"io"
	"net/url"
	"time"

	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/transcript"
	"github.com/treeline-dev/treeline/wire"
)

// Mode is what a page shows of a session. Its values are those of the parameter "mode".
type Mode string

// The modes.
const (
	Everything Mode = "everything" // the default
	Focused    Mode = "focused"    // prompts and final answers
	Model      Mode = "model"      // what the model sees at the leaf
	Changes    Mode = "changes"    // all edits of files on the path, one diff for each file
)

// ParseMode parses the parameter; any unknown value means Everything.
func ParseMode(s string) Mode {
	switch m := Mode(s); m {
	case Focused, Model, Changes:
		return m
	}
	return Everything
}

// SessionPage is one session. These are its parameters in an address: mode is the Mode; leaf is the entry that ends the path; at is an
// entry in the middle of the window; before and after are those of transcript.Request; first=1 begins at the start of the path; file is a
// path, in mode Changes.
type SessionPage struct {
	Head
	Mode Mode
	// Leaf is the parameter of the address; "" means the leaf of the session.
	Leaf session.EntryID
	// At is the entry that the reader asked for; "" for none.
	At session.EntryID
	// Window is the part of the path that is shown, in all modes but Changes.
	Window *transcript.Window
	// Files is what mode Changes shows. File is the parameter of the address: the path of the only file that is shown, or "" for all.
	Files []transcript.FileChange
	File  string
	// Rail is the tree; nil means that none is drawn.
	Rail *transcript.Rail
	// Here is the state at the leaf; nil if it was not computed.
	Here *Here
	// Problems are the problems of the log and of the window.
	Problems []session.Problem
	// Parent is the session that this one was forked from, or whose sub-agent it is. IsTask means the latter. Forks were forked from this
	// session, and Tasks are its sub-agents. Of these rows, only Key, Title and Dialect are shown, and the usage of sub-agents.
	Parent       *Row
	IsTask       bool
	Forks, Tasks []Row
	Runs         []RunRow
	// Resume is the command that continues the session, or "" if its agent has none. ResumeIn are the commands for other agents.
	Resume   string
	ResumeIn []Command
	// Exports are the formats that the server offers.
	Exports []Export
	// Events is the address of the events that report new entries; "" for a page that is not updated.
	Events string
	// Image returns the address of a picture: a path of the server, or a data URL in an export. For "", only the type and size are shown.
	// nil stands for a function that returns "".
	Image func(transcript.Image) string
	// SessionKey returns the key of a sub-agent's session, or "" if that is not available. nil stands for a function that returns "".
	SessionKey func(session.ID) string
	// Sections are the branches of an export that are not on the path; see Section.
	Sections []Section
}

// Head is shown on every page of a session.
type Head struct {
	// Key identifies the session in addresses; ID is the session's own id.
	Key, ID string
	// Title is the heading; "" means that there is none.
	Title        string
	Dialect, CWD string
	// Origin is the machine that a session of an archive comes from, or "".
	Origin string
	// Path is the path of the log.
	Path    string
	Created time.Time
	// Entries, Messages, Tokens and Cost count all branches. Branches is the number of their tips.
	Entries, Messages, Branches int
	Tokens                      wire.Tokens
	Cost                        float64
	// Live means that an entry was written within the last minutes.
	Live bool
}

// Here is the state at a leaf.
type Here struct {
	// Messages and Tokens are the size of the context; Tokens is an estimate.
	Messages int
	Tokens   int64
	Model    string
	// Thinking is the thinking level; "" means off.
	Thinking string
}

// Command is the command that continues a session in an agent.
type Command struct{ Agent, Command string }

// Section is a branch of an export. The file has all entries of the session once: the path of SessionPage.Window, then each other branch
// from its fork on, after the branch that it leaves. The script shows one path at a time; without it, all are shown one below the other.
type Section struct {
	// From is the entry before the fork; "" if the branch begins with a root.
	From session.EntryID
	// Branch is the number of the branch at the fork, and Of the number of branches. Both are 0 for the conversation of a sub-agent that
	// the entry From started.
	Branch, Of int
	Label      string
	Window     *transcript.Window
}

// TasksUsed returns the usage of the sub-agents that have sessions of their own. The numbers of this session do not include it.
func (p SessionPage) TasksUsed() (sum wire.Known) {
	for _, t := range p.Tasks {
		if t.Known != nil {
			sum.Tokens.Total += t.Known.Tokens.Total
			sum.Cost += t.Known.Cost
		}
	}
	return sum
}

// Session writes the page of a session.
func (s *Site) Session(w io.Writer, p SessionPage) error {
	return s.write(w, "session.html", view{Section: "sessions", Title: p.Heading(), Page: newSessionView(s, p)})
}

// Fragment writes the parts that change while a session grows: the blocks, the rail and the details. The script replaces them in the page.
func (s *Site) Fragment(w io.Writer, p SessionPage) error {
	v := newSessionView(s, p)
	v.part = true
	return s.write(w, "fragment", view{Section: "sessions", Page: v})
}

// param is a parameter of an address.
type param struct{ name, value string }

// address returns the address of the session in the same mode with other parameters. Those without a value are omitted.
func (v *sessionView) address(params ...param) string { return v.inMode(v.Mode, params...) }

func (v *sessionView) inMode(m Mode, params ...param) string {
	values := url.Values{}
	if m != Everything && m != "" {
		values.Set("mode", string(m))
	}
	for _, p := range params {
		if p.value != "" {
			values.Set(p.name, p.value)
		}
	}
	return with(v.site.Link("s", v.Key), values)
}

// transcriptLink returns the link to an entry on the same path in mode Everything.
func (v *sessionView) transcriptLink(entry session.EntryID) string {
	if v.site.Export {
		return Anchor(entry)
	}
	return v.inMode(Everything, param{"leaf", string(v.Leaf)}, param{"at", string(entry)}) + Anchor(entry)
}

// Modes returns the links to the modes.
func (v *sessionView) Modes() []item {
	words := []struct {
		m    Mode
		text string
	}{{Everything, "Everything"}, {Focused, "Focused"}, {Model, "What the model sees"}, {Changes, "Changes"}}
	list := make([]item, len(words))
	for i, w := range words {
		list[i] = item{Text: w.text, On: w.m == v.Mode || v.Mode == "" && w.m == Everything, Href: v.inMode(w.m, param{"leaf", string(v.Leaf)})}
	}
	return list
}

// Earlier returns the link to the blocks before the window, or "".
func (v *sessionView) Earlier() string {
	if v.Window == nil || !v.Window.Earlier || v.site.Export {
		return ""
	}
	return v.address(param{"leaf", string(v.Leaf)}, param{"before", string(v.Window.First)})
}

// Later returns the link to the blocks after the window, or "".
func (v *sessionView) Later() string {
	if v.Window == nil || !v.Window.Later || v.site.Export {
		return ""
	}
	return v.address(param{"leaf", string(v.Leaf)}, param{"after", string(v.Window.Last)})
}

// live reports whether the path ends at the session's own leaf. Then the page is updated as the session grows.
func (v *sessionView) live() bool { return v.Leaf == "" || v.Leaf == v.own }

// LeafLink returns the link to the session's own leaf, or "" if that is shown.
func (v *sessionView) LeafLink() string {
	if v.live() || v.site.Export {
		return ""
	}
	return v.address()
}

// FragmentLink returns the address from which the script loads new blocks.
func (v *sessionView) FragmentLink() string {
	if v.site.Export || v.Mode == Changes {
		return ""
	}
	values := url.Values{}
	for _, p := range []param{{"mode", string(v.Mode)}, {"leaf", string(v.Leaf)}} {
		if p.name == "leaf" && v.live() {
			continue
		}
		if p.value != "" {
			values.Set(p.name, p.value)
		}
	}
	return with(v.site.Link("s", v.Key, "fragment"), values)
}

// Export is a format in which the server offers a session. Safe means that secrets are replaced.
type Export struct {
	Format string
	Safe   bool
}

// ExportLinks returns the links of the downloads.
func (v *sessionView) ExportLinks() []item {
	if v.site.Export {
		return nil
	}
	list := make([]item, len(v.Exports))
	for i, e := range v.Exports {
		values := url.Values{"format": {e.Format}}
		if v.Leaf != "" {
			values.Set("leaf", string(v.Leaf))
		}
		list[i] = item{Text: e.Format, Href: with(v.site.Link("s", v.Key, "export"), values), On: e.Safe}
	}
	return list
}

// Onward returns the links to the branches after the leaf.
func (v *sessionView) Onward() []item {
	if v.Window == nil || v.Window.Onward == nil {
		return nil
	}
	var list []item
	for _, b := range v.Window.Onward.Branches {
		text := screen.OneLine(b.Label, 80)
		if text == "" {
			text = "(no text)"
		}
		list = append(list, item{Text: text, Count: b.Entries, Href: v.EntryLink(b.Tip, b.First)})
	}
	return list
}

// SectionViews returns the other branches of an export.
func (v *sessionView) SectionViews() []*sectionView {
	list := make([]*sectionView, len(v.Sections))
	for i, s := range v.Sections {
		list[i] = &sectionView{s, v}
	}
	return list
}

type sectionView struct {
	Section
	v *sessionView
}

// Switch reports whether the section begins with the switch between the branches of its fork.
func (s *sectionView) Switch() bool {
	return len(s.Window.Blocks) > 0 && s.v.fork(s.Window.Blocks[0].Fork) != nil
}

// Blocks returns the blocks of the branch.
func (s *sectionView) Blocks() []*blockView { return s.v.blocks(s.Window) }

// Heading returns the title of the session or, if it has none, a replacement.
func (h Head) Heading() string {
	if h.Title == "" {
		return "(no title)"
	}
	return h.Title
}
