package wire

import "time"

// second formats a time of the history, which is exact to the second.
func second(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05Z") }

// NewPrompt returns a prompt of the history, without uses. It takes no types of package history, which would link SQLite into every program
// that shows a session.
func NewPrompt(id int64, text, cwd string, at time.Time) Prompt {
	return Prompt{ID: id, Prompt: text, CWD: optional(cwd), Time: second(at), Uses: []Use{}}
}

// Used adds a place where the prompt was used, and the time.
func (p *Prompt) Used(u Use, at time.Time) {
	u.Time = second(at)
	p.Uses = append(p.Uses, u)
}
