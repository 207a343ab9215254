package look

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// Key is an action of a screen and the keys that trigger it.
type Key struct {
	// Keys have the names of Bubble Tea: "enter", "ctrl+d", "J". The first one is shown. An action without keys is only in the list of all
	// actions.
	Keys []string
	// Name is the word at the bottom of the screen. With "", the action is only in the list of all actions.
	Name string
	// Help is one line for the list of all actions.
	Help string
	// Command returns the treeline command that does the same; nil if there is none.
	Command func() string
	// Run performs the action.
	Run func() tea.Cmd
}

// Press returns the action that a key press triggers.
func Press(keys []Key, msg tea.KeyPressMsg) (Key, bool) {
	name := msg.String()
	for _, k := range keys {
		if slices.Contains(k.Keys, name) {
			return k, true
		}
	}
	return Key{}, false
}

// Shown returns the symbol of a key for people.
func Shown(key string) string {
	switch key {
	case "left":
		return "←"
	case "right":
		return "→"
	case "up":
		return "↑"
	case "down":
		return "↓"
	case "pgup":
		return "page up"
	case "pgdown":
		return "page down"
	}
	return strings.Replace(key, "ctrl+", "^", 1)
}

// Action is something that can be done to a session from more than one screen.
type Action int

// The actions.
const (
	Label Action = iota
	Rename
	BranchHere
	ForkHere
	CopyResume
	ResumeElsewhere
	Export
	Browse
	Delete
	actions // number of actions
)

// action is one row of the table of actions.
type action struct {
	key, name, help string
	// command has ‹s› for the session and ‹e› for the entry.
	command string
}

func (a Action) row() action {
	return [actions]action{
		Label:           {"l", "label", "label the entry, or remove its label", "treeline label ‹s› ‹e› LABEL"},
		Rename:          {"n", "rename", "rename the session", "treeline rename ‹s› TITLE"},
		BranchHere:      {"b", "branch here", "continue from this entry: the leaf moves here", "treeline branch ‹s› ‹e›"},
		ForkHere:        {"f", "fork here", "copy the path to this entry into a new session", "treeline fork ‹s› --leaf ‹e›"},
		CopyResume:      {"r", "resume", "copy the command that resumes the session", "treeline resume ‹s›"},
		ResumeElsewhere: {"R", "resume elsewhere", "resume the session in another agent", "treeline resume ‹s› --in AGENT"},
		Export:          {"x", "export", "export the session to a file to share, without secrets", "treeline export ‹s› -o FILE"},
		Browse:          {"o", "browser", "open the session in the browser", "treeline serve --open"},
		Delete:          {"d", "delete", "move the session to the trash", "treeline rm ‹s›"},
	}[a]
}

// Actions returns the keys of actions on a target. Without a target, as in an empty list, they do nothing.
func Actions(target func() (Target, bool), wanted ...Action) []Key {
	keys := make([]Key, 0, len(wanted))
	for _, a := range wanted {
		r := a.row()
		keys = append(keys, Key{
			Keys: []string{r.key}, Name: r.name, Help: r.help,
			Command: func() string { return a.Command(target()) },
			Run: func() tea.Cmd {
				t, ok := target()
				if !ok {
					return nil
				}
				return Send(Do{Action: a, Target: t})
			},
		})
	}
	return keys
}

// Command returns the command line that does the same.
func (a Action) Command(t Target, ok bool) string {
	ref, entry := "SESSION", "ENTRY"
	if ok {
		ref = t.Ref
		if t.Entry != "" {
			entry = t.Entry
		}
	}
	return strings.NewReplacer("‹s›", ref, "‹e›", entry).Replace(a.row().command)
}
