package wire

import "github.com/treeline-dev/treeline/history"

// NewPrompt gives a prompt of the history with the places where it was used.
func NewPrompt(p history.Prompt, uses []history.Place) Prompt {
	const iso = "2006-01-02T15:04:05Z"
	j := Prompt{ID: p.ID, Prompt: p.Text, CWD: optional(p.CWD), Time: p.At.UTC().Format(iso), Uses: []Use{}}
	for _, u := range uses {
		j.Uses = append(j.Uses, Use{Session: u.Session, Entry: u.Entry, Dialect: u.Dialect, Path: u.Path, CWD: u.CWD, Time: u.At.UTC().Format(iso)})
	}
	return j
}
