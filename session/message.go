package session

import "strconv"

// Raw is a JSON value with the bytes that the log has.
type Raw []byte

// Body is the content of an entry. The set is closed: anything unknown is Opaque.
type Body interface{ kind() Kind }

type (
	// Message is a message of the user, the model or a tool.
	Message struct {
		Role Role
		// Native is the role as the dialect spells it.
		Native string
		// JSON is the dialect's own message.
		JSON Raw
		// Meta: the agent inserted the message in the name of the user or the model.
		Meta bool
		// Time is when it was said, if the message has a time.
		Time Time
		// Provider and Model name the model that answered, Stop why the answer ended, Error what went wrong. Answers only.
		Provider, Model string
		// ModelJSON is the model as the agent's context names it after this answer; nil if the answer does not change it.
		ModelJSON   Raw
		Stop, Error string
		Usage       *Usage
	}

	// ThinkingLevelChange sets how hard the model thinks from here on.
	ThinkingLevelChange struct {
		Level string
		// JSON is the raw level, whatever its type; nil if there is none.
		JSON Raw
		// Configured is what the user asked for, such as "auto", as the agent's context names it; nil if it does not.
		Configured Raw
	}

	// ModelChange sets the model of a role from here on.
	ModelChange struct {
		// Role is "default" where the entry names no role.
		Role string
		// Provider and ModelID are set if the entry has them; Model is "provider/id".
		Provider, ModelID, Model string
		// Split: provider and model id are separate members.
		Split bool
		// JSON is the model as the agent's context names it; nil if the agent ignores the change.
		JSON Raw
	}

	// Compaction replaces what came before it by a summary.
	Compaction struct {
		Summary, ShortSummary string
		// FirstKept is the first entry before the compaction that the model still sees; "" for none.
		FirstKept EntryID
		// TokensBefore is how many tokens the context had.
		TokensBefore int
		// TokensJSON is the raw count, whatever its type; nil if there is none. If it is set, it is written instead of TokensBefore.
		TokensJSON            Raw
		Details, PreserveData Raw
		// FromExtension: an extension made the summary; nil if the entry does not say.
		FromExtension *bool
		// ReplacesAll: the provider keeps the history itself; nothing before the compaction is seen.
		ReplacesAll bool
		// HistoryEnd is the last entry that the provider's history has; "" if it has all before the compaction. FirstKept is then the
		// entry after it, and ReplacesAll is not set.
		HistoryEnd EntryID
	}

	// BranchSummary tells the model on a new branch what happened on the branch that was left.
	BranchSummary struct {
		From          EntryID
		Summary       string
		Details       Raw
		FromExtension *bool // as in Compaction
	}

	// Custom is the state of an extension. The model does not see it.
	Custom struct {
		Type string
		Data Raw
	}

	// CustomMessage is a message of an extension. The model sees it; the user sees it only if Display is set.
	CustomMessage struct {
		Type    string
		Content Raw
		Display bool
		Details Raw
		// Attribution says who caused the message, "user" or "agent"; "" where the agent does not say.
		Attribution string
	}

	// Label gives an entry a name; an empty Label removes it.
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
		// JSON is the raw mode, whatever its type; nil if there is none.
		JSON Raw
		Data Raw
	}

	// SessionInfo names the session.
	SessionInfo struct{ Name string }

	// Leaf moves the leaf to an entry; a Target "" is the place before the first entry.
	Leaf struct{ Target EntryID }

	// ContextEdit changes what the model sees of an earlier entry.
	ContextEdit struct {
		Target EntryID
		// Content replaces the message's content; nil removes the message.
		Content Raw
	}

	// TierChange sets how the provider serves requests from here on.
	TierChange struct {
		// Tier is the tier as the entry has it: a word, a word for each provider, or null for none.
		Tier Raw
		// JSON is the tier as the agent's context names it; nil if it names none.
		JSON Raw
	}

	// ToolSelection says which tools of servers the model may call from here on.
	ToolSelection struct{ Tools []string }

	// Reset hides everything before it from the model.
	Reset struct{}

	// Opaque is an entry of an unknown type.
	Opaque struct {
		Type string
		JSON Raw
	}
)

// Tokens is the count as it is spelled in the log.
func (c Compaction) Tokens() Raw {
	if c.TokensJSON != nil {
		return c.TokensJSON
	}
	return strconv.AppendInt(nil, int64(c.TokensBefore), 10)
}

func (Message) kind() Kind             { return KindMessage }
func (ThinkingLevelChange) kind() Kind { return KindThinkingLevelChange }
func (ModelChange) kind() Kind         { return KindModelChange }
func (Compaction) kind() Kind          { return KindCompaction }
func (BranchSummary) kind() Kind       { return KindBranchSummary }
func (Custom) kind() Kind              { return KindCustom }
func (CustomMessage) kind() Kind       { return KindCustomMessage }
func (Label) kind() Kind               { return KindLabel }
func (TTSRInjection) kind() Kind       { return KindTTSRInjection }
func (SessionInit) kind() Kind         { return KindSessionInit }
func (ModeChange) kind() Kind          { return KindModeChange }
func (SessionInfo) kind() Kind         { return KindSessionInfo }
func (Leaf) kind() Kind                { return KindLeaf }
func (ContextEdit) kind() Kind         { return KindContextEdit }
func (TierChange) kind() Kind          { return KindTierChange }
func (ToolSelection) kind() Kind       { return KindToolSelection }
func (Reset) kind() Kind               { return KindReset }
func (Opaque) kind() Kind              { return KindOpaque }

// Part is a piece of an entry in neutral form, for transcripts, search and conversion.
type Part interface{ part() }

type (
	// Text is prose.
	Text struct{ Text string }

	// Thinking is the reasoning of the model before its answer.
	Thinking struct {
		Text      string
		Signature string
		// Redacted: Signature is the reasoning itself, encrypted; Text only stands for it.
		Redacted bool
	}

	// ToolCall asks to run a tool.
	ToolCall struct {
		ID, Name  string
		Arguments Raw
	}

	// ToolResult is the result of a tool call.
	ToolResult struct {
		CallID, Name string
		// Parts are Text and Image.
		Parts   []Part
		IsError bool
		// Session is the session of the sub-agent that the call started; "" where there is none.
		Session ID
	}

	// Image is a picture. Data is its bytes in base64, a reference to a blob, or a URL.
	Image struct {
		MIME string
		Data string
	}

	// OpaquePart is a piece of an unknown type.
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
