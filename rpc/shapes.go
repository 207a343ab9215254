package rpc

import (
	"encoding/json"

	"github.com/treeline-dev/treeline/session"
)

// The shapes of what comes from a log. No value of these types is ever made: the bytes of the log are passed on. They name
// what a client may rely on, for rpc.discover.
type (
	// agentEntry is an entry as its agent writes it. Its members depend on the dialect.
	agentEntry struct{}
	// agentHeader is the first record of a log as its agent writes it.
	agentHeader struct{}
	// agentMessage is a message as its agent writes it.
	agentMessage struct{}
	// agentContext is what the model would see. Agents with one model have model; models and the rest depend on the dialect.
	agentContext struct {
		Messages          []agentMessage    `json:"messages"`
		ThinkingLevel     json.RawMessage   `json:"thinkingLevel,omitempty"`
		Model             json.RawMessage   `json:"model,omitempty"`
		Models            map[string]string `json:"models,omitempty"`
		InjectedTtsrRules []string          `json:"injectedTtsrRules,omitempty"`
		Mode              string            `json:"mode,omitempty"`
		ModeData          json.RawMessage   `json:"modeData,omitempty"`
		ServiceTier       json.RawMessage   `json:"serviceTier,omitempty"`                  // omp
		Configured        json.RawMessage   `json:"configuredThinkingLevel,omitempty"`      // omp18
		SelectedTools     []string          `json:"selectedMCPToolNames,omitempty"`         // omp
		ToolsSelected     *bool             `json:"hasPersistedMCPToolSelection,omitempty"` // omp
	}
	// treeNode is an entry with its children.
	treeNode struct {
		Entry    agentEntry `json:"entry"`
		Children []treeNode `json:"children"`
		Label    string     `json:"label,omitempty"`
	}
	// agentRow is a session as its agent's own program lists it.
	agentRow struct {
		Path       string     `json:"path"`
		ID         session.ID `json:"id"`
		CWD        string     `json:"cwd"`
		Title      string     `json:"title,omitempty"` // omp
		Name       string     `json:"name,omitempty"`  // pi
		Parent     string     `json:"parentSessionPath,omitempty"`
		Created    *string    `json:"created"`
		Modified   *string    `json:"modified"`
		Messages   int        `json:"messageCount"`
		First      string     `json:"firstMessage"`
		AllMessage string     `json:"allMessagesText,omitempty"`
		Size       *int64     `json:"fileSize,omitempty"` // Wave
	}
	// loadedState is a state as it was saved, and the messages that the agent would begin with.
	loadedState struct {
		Dialect string          `json:"dialect"`
		Version string          `json:"version"`
		State   json.RawMessage `json:"state"`
		Resume  []agentMessage  `json:"resume"`
	}
)
