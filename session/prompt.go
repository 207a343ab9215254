package session

import (
	"strings"
	"time"
)

// Prompt is what the user typed.
type Prompt struct {
	Entry EntryID
	Text  string
	// At is the time of the message; zero where it is not known.
	At time.Time
}

// Prompts reads a batch of entries from next on, in the order of the log. after is the index after the batch, -1 at the end.
// Messages of the user's role that are not prompts have no text. errs holds an error or nil for each item of list.
func (t *Tree) Prompts(next int) (list []Prompt, errs []error, after int) {
	const batch = 1000
	for end := min(next+batch, t.Len()); next < end; next++ {
		if e := t.At(next); e.Kind == KindMessage && e.Role == RoleUser {
			p, err := promptOf(e)
			list, errs = append(list, p), append(errs, err)
		}
	}
	if next >= t.Len() {
		next = -1
	}
	return list, errs, next
}

// Delegated reports whether an agent began the session to give a task to another.
func (t *Tree) Delegated() bool {
	if t.header.Task {
		return true
	}
	for e := range t.Entries() {
		if e.Kind != KindSessionInit {
			continue
		}
		body, err := e.Body()
		if init, ok := body.(SessionInit); err == nil && ok && init.Task != "" {
			return true
		}
	}
	return false
}

// promptOf returns the texts of a user's message. Text is "" if the agent wrote it; At is zero if its time is unknown.
func promptOf(e Entry) (p Prompt, err error) {
	p.Entry = e.ID
	body, err := e.Body()
	if err != nil {
		return p, err
	}
	m, ok := body.(Message)
	if !ok || m.Meta {
		return p, nil
	}
	// The message may have a more exact time than its entry.
	at, known := m.Time.Time()
	if !known {
		t, err := e.Time()
		if err != nil {
			return p, err
		}
		at, _ = t.Time()
	}
	p.At = at
	parts, err := e.Parts()
	if err != nil {
		return p, err
	}
	var texts []string
	for _, part := range parts {
		if t, ok := part.(Text); ok && strings.TrimSpace(t.Text) != "" {
			texts = append(texts, t.Text)
		}
	}
	p.Text = strings.Join(texts, "\n")
	return p, nil
}
