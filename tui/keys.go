package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/treeline-dev/treeline/tui/look"
)

// typing reports whether characters are text.
func (p *program) typing() bool {
	t, ok := p.top().(look.Typist)
	return ok && t.Typing()
}

// key handles a key press: for the dialog, as text, or as an action.
func (p *program) key(msg tea.KeyPressMsg) tea.Cmd {
	if msg.String() == "ctrl+c" {
		return tea.Quit
	}
	p.status = look.Status{}
	if p.dialog != nil {
		cmd, done := p.dialog.key(msg)
		if done {
			p.dialog = nil
		}
		return cmd
	}
	if p.typing() {
		return p.update(msg)
	}
	if k, ok := look.Press(p.keys(), msg); ok {
		return k.Run()
	}
	return p.update(msg)
}

// keys returns the actions of the screen, then those of the program.
func (p *program) keys() []look.Key {
	keys := p.top().Keys()
	if at, ok := p.top().(look.Pointer); ok && p.Pick {
		keys = append([]look.Key{{Keys: []string{"enter"}, Name: "pick", Help: "print the session and this entry, and quit", Run: func() tea.Cmd {
			t, ok := at.Target()
			if !ok {
				return nil
			}
			return look.Send(pick{Choice{Path: t.Path, ID: t.ID, Entry: t.Entry}})
		}}}, keys...)
	}
	n := len(keys)
	for _, k := range p.own() {
		taken := func(key string) bool {
			return slices.ContainsFunc(keys[:n], func(of look.Key) bool { return slices.Contains(of.Keys, key) })
		}
		if k.Keys = slices.DeleteFunc(k.Keys, taken); len(k.Keys) > 0 {
			keys = append(keys, k)
		}
	}
	return keys
}

// own returns the actions that every screen has. A screen may use their keys for its own actions.
func (p *program) own() []look.Key {
	on := func(key, name, help string, command func() string, make func() look.Screen) look.Key {
		return look.Key{Keys: []string{key}, Name: name, Help: help, Command: command, Run: func() tea.Cmd { return p.push(make()) }}
	}
	keys := []look.Key{
		on("S", "search", "search all sessions", func() string { return "treeline search WORDS" }, func() look.Screen { return newSearch(p.desk) }),
		on("U", "usage", "what sessions used: messages, tokens and cost", func() string { return "treeline stats" }, func() look.Screen { return newUsage(p.desk) }),
		{Keys: []string{"?"}, Name: "all keys", Help: "find an action, and the command that does the same", Run: func() tea.Cmd {
			p.dialog = newKeyList(p)
			return nil
		}},
		{Keys: []string{"esc"}, Help: "go back; never quits", Run: p.back},
		{Keys: []string{"q"}, Help: "close this screen; quit on the first one", Run: func() tea.Cmd {
			if len(p.stack) == 1 {
				return tea.Quit
			}
			return p.back()
		}},
		{Keys: []string{"ctrl+c"}, Help: "quit", Run: func() tea.Cmd { return tea.Quit }},
		{Keys: []string{"ctrl+z"}, Help: "suspend; fg brings it back", Run: func() tea.Cmd {
			p.canvas.leave()
			return tea.Suspend
		}},
		{Keys: []string{"ctrl+l"}, Help: "redraw the screen", Run: func() tea.Cmd {
			p.canvas.forget()
			return nil
		}},
	}
	// One search screen, and one page of usage, are enough.
	for _, s := range p.stack {
		switch s.(type) {
		case *search:
			keys = slices.DeleteFunc(keys, func(k look.Key) bool { return k.Name == "search" })
		case *usageScreen:
			keys = slices.DeleteFunc(keys, func(k look.Key) bool { return k.Name == "usage" })
		}
	}
	return keys
}
