package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
)

// States are what sessions are resumed from, for agents that save them whole. On the wire a state is one object: the
// members of the log's header, and the messages.

// saveStateParams: with a version that loadState or saveState gave, the state is saved only if it was not saved since
// ("new": only if there is none). Without a version the last save wins, as in the agent's own program.
type saveStateParams struct {
	Dialect *string         `json:"dialect"`
	State   json.RawMessage `json:"state"`
	Version *string         `json:"version"`
}

// saveState answers with the new version, for the next save, and with the time, which the agent's place may have set.
func saveState(c *call, p saveStateParams) ([]byte, error) {
	var w wanted
	text := w.needJSON("state", p.State, "{", "an object")
	if w.err != nil {
		return nil, w.err
	}
	id, records, err := stateRecords(text)
	if err != nil {
		return nil, badParams(`parameter "state": %v`, err)
	}
	s, err := c.store.Save(c.ctx, or(p.Dialect, ""), id, records, or(p.Version, ""))
	if err != nil {
		return nil, err
	}
	var header struct {
		UpdatedAt string `json:"updated_at"`
	}
	if err := json.Unmarshal(s.Header, &header); err != nil {
		return nil, err
	}
	answer := append([]byte(`{"version":`), quote(s.Version)...)
	answer = append(append(answer, `,"updatedAt":`...), quote(header.UpdatedAt)...)
	return append(answer, '}'), nil
}

// breaks spells characters that some programs treat as ends of lines so that they do not. In JSON they occur only in
// strings.
var breaks = strings.NewReplacer("\u0085", `\u0085`, "\u2028", `\u2028`, "\u2029", `\u2029`)

// stateRecords splits a state into the records of its log: the object without its messages, then each message.
func stateRecords(text []byte) (session.ID, [][]byte, error) {
	var state struct {
		ID       string            `json:"session_id"`
		Messages []json.RawMessage `json:"messages"`
	}
	err := json.Unmarshal(text, &state)
	switch {
	case err != nil:
		return "", nil, err
	case state.ID == "":
		return "", nil, errors.New("session_id is missing")
	case state.Messages == nil:
		return "", nil, errors.New("messages is not a list")
	}
	header, err := withoutMessages(text)
	if err != nil {
		return "", nil, err
	}
	records := [][]byte{header}
	for i, m := range state.Messages {
		var b bytes.Buffer
		if err := json.Compact(&b, m); err != nil || b.Bytes()[0] != '{' {
			return "", nil, fmt.Errorf("message %d is not an object", i+1)
		}
		records = append(records, []byte(breaks.Replace(b.String())))
	}
	return session.ID(state.ID), records, nil
}

// withoutMessages gives an object without its messages. All other members stay as they are spelled.
func withoutMessages(object []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(object))
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	out := []byte{'{'}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		if key == "messages" {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, quote(fmt.Sprint(key))...), ':'), value...)
	}
	var b bytes.Buffer
	err := json.Compact(&b, append(out, '}'))
	return b.Bytes(), err
}

type loadStateParams struct {
	Dialect *string `json:"dialect"`
	ID      *string `json:"id"`
	CWD     *string `json:"cwd"`
	Root    *string `json:"root"`
}

// loadState gives the state as it was saved, and the messages that the agent would begin with (resume): the two differ if
// the agent adds a note about a changed directory or model. Without such a state it gives null, which tells a client to
// begin a new one.
func loadState(c *call, p loadStateParams) ([]byte, error) {
	var w wanted
	id := need(&w, "id", p.ID)
	if w.err != nil {
		return nil, w.err
	}
	s, err := c.store.LoadSaved(c.outer, or(p.Dialect, ""), session.ID(id))
	if errors.Is(err, place.ErrNoSession) {
		return null, nil
	}
	if err != nil {
		return nil, err
	}
	answer := append([]byte(`{"dialect":`), quote(s.Dialect.Name())...)
	answer = append(append(answer, `,"version":`...), quote(s.Version)...)
	answer = append(append(answer, `,"state":`...), bytes.TrimSuffix(s.Header, []byte("}"))...)
	answer = append(append(answer, `,"messages":`...), array(bytesOf(s.Messages))...)
	answer = append(append(answer, `},"resume":`...), array(bytesOf(s.Resume(or(p.Root, ""), or(p.CWD, ""))))...)
	return append(answer, '}'), nil
}

func bytesOf(list []session.Raw) [][]byte {
	out := make([][]byte, len(list))
	for i, m := range list {
		out[i] = m
	}
	return out
}
