package view

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/treeline-dev/treeline/transcript"
	"github.com/treeline-dev/treeline/tui/look"
)

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
		return look.Send(look.Status{Text: "this session has no forks, sub-agents or parent"})
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

// copyText copies the text of a block, without calls and thinking.
func (v *viewer) copyText() tea.Cmd {
	it := v.current()
	if it == nil || it.block == nil {
		return nil
	}
	var texts []string
	what := "the text"
	for _, p := range it.block.Pieces {
		if t, ok := p.(transcript.Text); ok {
			texts = append(texts, t.Text)
			if t.Cut > 0 {
				what = "the beginning of the text (e loads the rest)"
			}
		}
	}
	if len(texts) == 0 {
		return look.Send(look.Status{Text: "this message has no text"})
	}
	return look.Send(look.Copy{Text: look.Text(strings.Join(texts, "\n\n")), What: what})
}

// enter performs the most obvious action: it goes into a branch or a sub-agent, shows the edits of a file, or unfolds.
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
