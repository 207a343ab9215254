package rpc

import (
	"encoding/json"
	"errors"

	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// The states that sessions are resumed from, for agents that keep them apart from what happened.

// saveStateParams: with a version that loadState or saveState gave, the state is saved only if nobody saved
// another since ("new": only if there is none). Without it the last one wins, as in the agent's own program.
type saveStateParams struct {
	Dialect *string         `json:"dialect"`
	State   json.RawMessage `json:"state"`
	Version *string         `json:"version"`
}

// saveState answers with the new version, for the next save. It is read back rather than computed: what counts is
// what the agent's store made of it, and its time may have been set there.
func saveState(c *call, p saveStateParams) ([]byte, error) {
	var w wanted
	text := w.needJSON("state", p.State, "{", "an object")
	if w.err != nil {
		return nil, w.err
	}
	s, err := store.ParseState(text)
	if err != nil {
		return nil, badParams(`parameter "state": %v`, err)
	}
	to, err := c.store.Companion(or(p.Dialect, ""))
	if err != nil {
		return nil, err
	}
	s.Version = or(p.Version, "")
	if err := to.Save(c.ctx, s); err != nil {
		return nil, err
	}
	if s, err = to.Load(c.ctx, s.ID); err != nil {
		return nil, err
	}
	answer := append([]byte(`{"version":`), quote(s.Version)...)
	answer = append(append(answer, `,"updatedAt":`...), quote(s.UpdatedAt)...)
	return append(answer, '}'), nil
}

type loadStateParams struct {
	Dialect *string `json:"dialect"`
	ID      *string `json:"id"`
	CWD     *string `json:"cwd"`
	Root    *string `json:"root"`
}

// loadState gives the state as it was saved, and the messages that the agent would begin with (resume): the two
// differ where an agent puts a note about a changed directory or model in between. null where there is no such
// state, because that is how a client finds out that it has to begin anew.
func loadState(c *call, p loadStateParams) ([]byte, error) {
	var w wanted
	id := need(&w, "id", p.ID)
	if w.err != nil {
		return nil, w.err
	}
	s, from, d, err := c.store.LoadState(c.outer, or(p.Dialect, ""), session.ID(id))
	if errors.Is(err, store.ErrNoSession) {
		return null, nil
	}
	if err != nil {
		return nil, err
	}
	list := s.Messages
	if r, ok := from.(store.Resumer); ok {
		if list, err = r.Resume(s, store.Environment{WorkDir: or(p.CWD, ""), Root: or(p.Root, "")}); err != nil {
			return nil, err
		}
	}
	messages := make([][]byte, len(list))
	for i, m := range list {
		messages[i] = m
	}
	answer := append([]byte(`{"dialect":`), quote(d.Name())...)
	answer = append(append(answer, `,"version":`...), quote(s.Version)...)
	answer = append(append(answer, `,"state":`...), s.JSON()...)
	answer = append(append(answer, `,"resume":`...), array(messages)...)
	return append(answer, '}'), nil
}
