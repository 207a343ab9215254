package session

// Raw is a JSON value as it stands in the log.
type Raw []byte

// Body is what an entry says. The set is closed: what is not known is Opaque.
type Body interface{ body() }

type (
	// Message is something that was said: by the user, by the model, by a tool.
	Message struct {
		Role Role
		// Native is the role as the dialect spells it.
		Native string
		// JSON is the dialect's own message.
		JSON Raw
		// Meta: the agent put it in, in the user's or the model's name.
		Meta bool
		// Time is when it was said, where the message itself tells.
		Time Time
		// Provider and Model say who answered; Stop why the answer ended; Error what went wrong. Assistants only.
		Provider, Model string
		// ModelJSON is the model as the agent's own context names it after this answer; nil where the answer changes
		// nothing.
		ModelJSON   Raw
		Stop, Error string
		Usage       *Usage
	}

	// ThinkingLevelChange sets how hard the model thinks from here on.
	ThinkingLevelChange struct {
		Level string
		// JSON is the level as the agent's own context has it, whatever its type; nil where there is none.
		JSON Raw
	}

	// ModelChange sets the model of a role from here on.
	ModelChange struct {
		// Role is "default" where the entry names none.
		Role string
		// Provider and ModelID are set as far as the entry tells; Model is "provider/id".
		Provider, ModelID, Model string
		// Split is set where the entry spells provider and model id in members of their own.
		Split bool
		// JSON is the model as the agent's own context names it; nil where the agent passes the change over.
		JSON Raw
	}

	// Compaction replaces what came before by a summary.
	Compaction struct {
		Summary, ShortSummary string
		// FirstKept is the first entry before the compaction that the model still sees.
		FirstKept             EntryID
		TokensBefore          Raw
		Details, PreserveData Raw
		FromExtension         bool
		// ReplacesAll: the provider keeps the history itself; nothing before the compaction is seen.
		ReplacesAll bool
	}

	// BranchSummary tells a new branch what happened on the one that was left.
	BranchSummary struct {
		From          EntryID
		Summary       string
		Details       Raw
		FromExtension bool
	}

	// Custom is the state of an extension. The model does not see it.
	Custom struct {
		Type string
		Data Raw
	}

	// CustomMessage is a message of an extension. The model sees it; people only where Display is set.
	CustomMessage struct {
		Type    string
		Content Raw
		Display bool
		Details Raw
		// Attribution is who caused it, "user" or "agent"; "" where the agent does not say so.
		Attribution string
	}

	// Label names an entry; an empty one removes the name.
	Label struct {
		Target EntryID
		Label  string
	}

	// TTSRInjection records rules that were injected.
	TTSRInjection struct{ Rules []string }

	// SessionInit records what a subagent was started with.
	SessionInit struct {
		SystemPrompt, Task string
		Tools              []string
		OutputSchema       Raw
	}

	// ModeChange switches the agent's mode.
	ModeChange struct {
		Mode string
		// JSON is the mode as the agent's own context has it, whatever its type; nil where there is none.
		JSON Raw
		Data Raw
	}

	// SessionInfo names the session.
	SessionInfo struct{ Name string }

	// Leaf moves the leaf to an entry, or before the first one where Target is "".
	Leaf struct{ Target EntryID }

	// ContextEdit changes what the model sees of an earlier entry.
	ContextEdit struct {
		Target EntryID
		// Content takes the place of the message's content; nil removes the message.
		Content Raw
	}

	// Opaque is an entry of a type that we do not know, whole.
	Opaque struct {
		Type string
		JSON Raw
	}
)

func (Message) body()             {}
func (ThinkingLevelChange) body() {}
func (ModelChange) body()         {}
func (Compaction) body()          {}
func (BranchSummary) body()       {}
func (Custom) body()              {}
func (CustomMessage) body()       {}
func (Label) body()               {}
func (TTSRInjection) body()       {}
func (SessionInit) body()         {}
func (ModeChange) body()          {}
func (SessionInfo) body()         {}
func (Leaf) body()                {}
func (ContextEdit) body()         {}
func (Opaque) body()              {}

// Usage counts what one answer took, as far as it was recorded.
type Usage struct {
	Input, Output, CacheRead, CacheWrite, Total int64
	// Cost is the sum, Costs what it consists of, in dollars.
	Cost  float64
	Costs Costs
}

// Costs are what the tokens of one answer cost.
type Costs struct{ Input, Output, CacheRead, CacheWrite float64 }

// Part is a piece of an entry in neutral form: what transcripts, search and conversion work on.
type Part interface{ part() }

type (
	// Text is prose.
	Text struct{ Text string }

	// Thinking is what the model thought before it answered.
	Thinking struct {
		Text      string
		Signature string
	}

	// ToolCall asks for a tool to be run.
	ToolCall struct {
		ID, Name  string
		Arguments Raw
	}

	// ToolResult is what a tool answered.
	ToolResult struct {
		CallID, Name string
		// Parts are Text and Image.
		Parts   []Part
		IsError bool
	}

	// Image is a picture: its bytes in base64, or a reference to a blob, or a URL.
	Image struct {
		MIME string
		Data string
	}

	// OpaquePart is a piece of a type that we do not know.
	OpaquePart struct {
		Type string
		JSON Raw
	}
)

func (Text) part()       {}
func (Thinking) part()   {}
func (ToolCall) part()   {}
func (ToolResult) part() {}
func (Image) part()      {}
func (OpaquePart) part() {}
