package rpc

import (
	"encoding/json"

	"github.com/treeline-dev/treeline/internal/jsonschema"
	"github.com/treeline-dev/treeline/session"
)

// The types of data that comes from a log. They have no values: the bytes of the log are passed on. They only say, for rpc.discover, what a
// client may rely on.
type (
	// agentEntry is an entry as its agent writes it. Its members depend on the dialect.
	agentEntry struct{}
	// agentHeader is the first record of a log as its agent writes it.
	agentHeader struct{}
	// agentMessage is a message as its agent writes it.
	agentMessage struct{}
	// agentContext is what the model would see. Agents with one model have the member model; other members depend on the dialect, too.
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
		_                 jsonschema.More
	}
	// openRPCDocument is as https://spec.open-rpc.org describes it.
	openRPCDocument struct{}
	// treeNode is an entry with its children or, in a flat tree, with its id, its parent (null for a root) and its depth.
	treeNode struct {
		Entry    agentEntry        `json:"entry"`
		Children []treeNode        `json:"children,omitempty"`
		Label    string            `json:"label,omitempty"`
		ID       session.EntryID   `json:"id,omitempty"`
		Parent   **session.EntryID `json:"parentId,omitempty"`
		Depth    int               `json:"depth,omitempty"`
	}
	// agentRow is a session as its agent's own program lists it. The members are those of pi and omp; other agents have others.
	agentRow struct {
		Path        string          `json:"path"`
		ID          session.ID      `json:"id"`
		CWD         string          `json:"cwd"`
		Title       string          `json:"title,omitempty"` // omp
		Name        string          `json:"name,omitempty"`  // pi
		Parent      string          `json:"parentSessionPath,omitempty"`
		Created     json.RawMessage `json:"created,omitempty"` // a time, or null
		Modified    json.RawMessage `json:"modified,omitempty"`
		Messages    int             `json:"messageCount,omitempty"`
		First       string          `json:"firstMessage,omitempty"`
		AllMessages string          `json:"allMessagesText,omitempty"`
		Size        *int64          `json:"fileSize,omitempty"` // Wave
		_           jsonschema.More
	}
	// loadedState is a state as it was saved, and the messages that the agent would begin with.
	loadedState struct {
		Dialect string          `json:"dialect"`
		Version string          `json:"version"`
		State   json.RawMessage `json:"state"`
		Resume  []agentMessage  `json:"resume"`
	}
)
