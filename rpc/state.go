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

// Some agents save a session as one state, and resume from it. In requests and answers a state is one object: the members of the log's
// header, and the messages.

// With a version from loadState or saveState, saveStateParams save the state only if it has not been saved since; with "new", only if there
// is no such state. Without a version, the last save wins, as in the agent's own program.
type saveStateParams struct {
	State   json.RawMessage `json:"state" need:"an object" doc:"{session_id, messages, updated_at?, run_id?, invoke_seq?, workspace_root?, meta?}"`
	Version string          `json:"version" doc:"that of the last result, or new: fails if another program saved meanwhile"`
	stateDialect
}

type stateDialect struct {
	Dialect string `json:"dialect" doc:"codelia-state (the default: the agent's database) or codelia-state-doc (a JSON file)"`
}

// saved acknowledges a saved state.
type saved struct {
	Version   string `json:"version"`
	UpdatedAt string `json:"updatedAt"`
}

// saveState returns the new version, for the next save, and the time, which the agent's place may have set.
func saveState(c *call, p saveStateParams) (saved, error) {
	id, records, err := stateRecords(p.State)
	if err != nil {
		return saved{}, badParams(`parameter "state": %v`, err)
	}
	sess, err := c.store.Save(c.ctx, p.Dialect, id, records, p.Version)
	if err != nil {
		return saved{}, err
	}
	defer sess.Close()
	var header struct {
		UpdatedAt string `json:"updated_at"`
	}
	if err := json.Unmarshal(sess.Tree().Header().Raw, &header); err != nil {
		return saved{}, err
	}
	return saved{Version: sess.Log().Generation, UpdatedAt: header.UpdatedAt}, nil
}

// breaks escapes characters that some programs treat as ends of lines. In JSON they occur only in strings.
var breaks = strings.NewReplacer("\u0085", `\u0085`, "\u2028", `\u2028`, "\u2029", `\u2029`)

// stateRecords splits a state into the records of its log: the object without its messages, then each message.
func stateRecords(text []byte) (session.ID, [][]byte, error) {
	var members map[string]json.RawMessage
	var id string
	var messages []json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return "", nil, err
	}
	if err := json.Unmarshal(members["session_id"], &id); err != nil || id == "" {
		return "", nil, errors.New("session_id is missing")
	}
	if err := json.Unmarshal(members["messages"], &messages); err != nil || messages == nil {
		return "", nil, errors.New("messages is not a list")
	}
	delete(members, "messages")
	records := make([][]byte, 1+len(messages))
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(members); err != nil {
		return "", nil, err
	}
	records[0] = bytes.Clone(bytes.TrimSpace(b.Bytes()))
	for i, m := range messages {
		b.Reset()
		if err := json.Compact(&b, m); err != nil || b.Bytes()[0] != '{' {
			return "", nil, fmt.Errorf("message %d is not an object", i+1)
		}
		records[i+1] = []byte(breaks.Replace(b.String()))
	}
	return session.ID(id), records, nil
}

type loadStateParams struct {
	ID   *string `json:"id" need:"" doc:"the id of the session"`
	CWD  string  `json:"cwd" doc:"the working directory now"`
	Root string  `json:"root" doc:"the workspace now"`
	stateDialect
}

// loadState returns the state as it was saved, and the messages that the agent would begin with (resume). The two differ if the agent adds
// a note about a changed directory or model. If there is no such state, it returns null, so that the client starts a new one.
func loadState(c *call, p loadStateParams) (raw[*loadedState], error) {
	sess, err := c.store.OpenSaved(c.outer, p.Dialect, session.ID(*p.ID))
	if errors.Is(err, place.ErrNoSession) {
		return raw[*loadedState](null), nil
	}
	if err != nil {
		return nil, err
	}
	defer sess.Close()
	var messages, resume [][]byte
	for e := range sess.Tree().Entries() {
		m, err := e.Raw()
		if err != nil {
			return nil, err
		}
		messages = append(messages, m)
	}
	list, err := sess.Resume(c.outer, p.Root, p.CWD)
	if err != nil {
		return nil, err
	}
	for _, m := range list {
		resume = append(resume, m)
	}
	return fmt.Appendf(nil, `{"dialect":%s,"version":%s,"state":%s,"messages":%s},"resume":%s}`,
		quote(sess.Dialect().Name()), quote(sess.Log().Generation),
		bytes.TrimSuffix(sess.Tree().Header().Raw, []byte("}")), array(messages), array(resume)), nil
}
