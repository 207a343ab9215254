package rpc

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// appended is the answer of an append. Durable reports whether the entry is in its file. If other programs wrote in between, Foreign counts
// their entries, and Outcome says how the policy placed the entry next to them.
type appended struct {
	ID      session.EntryID `json:"id"`
	Durable bool            `json:"durable"`
	Foreign int             `json:"foreign,omitempty"`
	Outcome store.Policy    `json:"outcome,omitempty"`
}

func acknowledge(a store.Appended, err error) (appended, error) {
	done := appended{ID: a.ID, Durable: a.Durable, Foreign: a.Foreign}
	if a.Foreign > 0 {
		done.Outcome = a.Outcome
	}
	return done, err
}

type messageParams struct {
	Message json.RawMessage `json:"message" need:"an object" doc:"a message as the agent writes it"`
}

// appendMessage does not look inside the message: only the dialect knows what a role or a part means, and unknown ones are kept.
func appendMessage(c *call, p messageParams) (appended, error) {
	return acknowledge(c.open.s.AppendMessage(c.ctx, p.Message))
}

type thinkingParams struct {
	ThinkingLevel json.RawMessage `json:"thinkingLevel" need:"a string or null" doc:"null means not set"`
}

// appendThinkingLevelChange also accepts null, which to the agents means "not set".
func appendThinkingLevelChange(c *call, p thinkingParams) (appended, error) {
	body := session.ThinkingLevelChange{JSON: session.Raw(p.ThinkingLevel)}
	if err := json.Unmarshal(p.ThinkingLevel, &body.Level); err != nil {
		return appended{}, err
	}
	return acknowledge(c.open.s.Append(c.ctx, body))
}

type modelParams struct {
	Model    *string `json:"model" doc:"provider/id; or give provider and modelId"`
	Role     string  `json:"role" doc:"the role of the model, such as default"`
	Provider *string `json:"provider" doc:"instead of model, together with modelId"`
	ModelID  *string `json:"modelId" doc:"instead of model, together with provider"`
}

// appendModelChange accepts both spellings; the dialect writes its own.
func appendModelChange(c *call, p modelParams) (appended, error) {
	body := session.ModelChange{Role: p.Role, Provider: or(p.Provider, ""), ModelID: or(p.ModelID, "")}
	switch {
	case p.Model != nil:
		body.Model = *p.Model
		// Only the first slash separates, since names of models may have slashes, too ("openrouter/anthropic/claude").
		if provider, id, both := strings.Cut(body.Model, "/"); both {
			body.Provider, body.ModelID = provider, id
		} else {
			body.ModelID = body.Model
		}
	case p.Provider == nil && p.ModelID == nil:
		return appended{}, badParams(`parameter "model" is missing, or "provider" and "modelId"`)
	case p.Provider == nil:
		return appended{}, missing("provider")
	case p.ModelID == nil:
		return appended{}, missing("modelId")
	default:
		body.Model = body.Provider + "/" + body.ModelID
	}
	return acknowledge(c.open.s.Append(c.ctx, body))
}

// byExtension reports whether an extension made a summary. Agents use two names for it.
type byExtension struct {
	FromExtension *bool `json:"fromExtension" doc:"an extension made the summary; each dialect writes its own word"`
	FromHook      *bool `json:"fromHook" doc:"the same as fromExtension"`
}

// is returns the value under either name, or nil if neither is given.
func (b byExtension) is() *bool {
	if b.FromExtension != nil && b.FromHook != nil {
		return new(*b.FromExtension || *b.FromHook)
	}
	return cmp.Or(b.FromExtension, b.FromHook)
}

// compactionParams require tokensBefore because Operator drops a compaction without it. It may be any number, and its spelling is kept.
type compactionParams struct {
	Summary      *string         `json:"summary" need:""`
	ShortSummary string          `json:"shortSummary" doc:"the summary on one line"`
	FirstKept    *string         `json:"firstKeptEntryId" need:"" doc:"the first entry that the model still sees"`
	TokensBefore json.RawMessage `json:"tokensBefore" need:"a number" doc:"the size of the context before"`
	Details      json.RawMessage `json:"details" doc:"any JSON, for extensions"`
	PreserveData json.RawMessage `json:"preserveData" doc:"any JSON, for extensions"`
	byExtension
}

func appendCompaction(c *call, p compactionParams) (appended, error) {
	return acknowledge(c.open.s.Compact(c.ctx, session.Compaction{
		Summary: *p.Summary, ShortSummary: p.ShortSummary, FirstKept: session.EntryID(*p.FirstKept),
		TokensJSON: session.Raw(p.TokensBefore), Details: session.Raw(given(p.Details)),
		PreserveData: session.Raw(given(p.PreserveData)), FromExtension: p.is(),
	}))
}

// In customParams, data may be any JSON; null means no data.
type customParams struct {
	CustomType *string         `json:"customType" need:"" doc:"the extension's own name of the type"`
	Data       json.RawMessage `json:"data"`
}

// appendCustomEntry stores an extension's own state, which the model does not see.
func appendCustomEntry(c *call, p customParams) (appended, error) {
	return acknowledge(c.open.s.AppendCustom(c.ctx, *p.CustomType, given(p.Data)))
}

// In customMessageParams, content is a text or a list of parts. display has no default, because pi and oh-my-pi always write it.
type customMessageParams struct {
	CustomType *string         `json:"customType" need:"" doc:"the extension's own name of the type"`
	Content    json.RawMessage `json:"content" need:"a string or a list" doc:"a text or a list of blocks"`
	Display    *bool           `json:"display" need:"" doc:"whether people see it"`
	Details    json.RawMessage `json:"details" doc:"any JSON, for extensions"`
	// Attribution is for agents that have it.
	Attribution string `json:"attribution" doc:"omp: user or agent, which is the default"`
}

func appendCustomMessageEntry(c *call, p customMessageParams) (appended, error) {
	return acknowledge(c.open.s.AppendCustomMessage(c.ctx, session.CustomMessage{
		Type: *p.CustomType, Content: session.Raw(p.Content), Display: *p.Display,
		Details: session.Raw(given(p.Details)), Attribution: p.Attribution,
	}))
}

// In labelParams, an empty label removes the label.
type labelParams struct {
	TargetID *string `json:"targetId" need:"" doc:"the id of an entry"`
	Label    string  `json:"label" doc:"absent, null or empty removes the label"`
}

// appendLabelChange fails if the target does not exist, as in the agents' programs: such a label would be shown nowhere.
func appendLabelChange(c *call, p labelParams) (appended, error) {
	return acknowledge(c.open.s.Label(c.ctx, session.EntryID(*p.TargetID), p.Label))
}

type nameParams struct {
	Name *string `json:"name" need:""`
}

func appendSessionInfo(c *call, p nameParams) (appended, error) {
	return acknowledge(c.open.s.AppendSessionInfo(c.ctx, *p.Name))
}

// setSessionName writes the name as the agent does: pi as an entry, oh-my-pi into the header. appendSessionInfo always appends an entry.
func setSessionName(c *call, p nameParams) (nothing, error) {
	return nothing{}, c.open.s.Rename(c.ctx, *p.Name)
}

type modeParams struct {
	Mode *string         `json:"mode" need:""`
	Data json.RawMessage `json:"data"`
}

// appendModeChange and the four methods below are those of oh-my-pi. Dialects without such entries refuse them.
func appendModeChange(c *call, p modeParams) (appended, error) {
	return acknowledge(c.open.s.AppendModeChange(c.ctx, *p.Mode, given(p.Data)))
}

type ttsrParams struct {
	InjectedRules *[]*string `json:"injectedRules" need:"" doc:"names of rules"`
}

func appendTtsrInjection(c *call, p ttsrParams) (appended, error) {
	rules, err := texts("injectedRules", *p.InjectedRules)
	if err != nil {
		return appended{}, err
	}
	return acknowledge(c.open.s.AppendTTSRInjection(c.ctx, rules))
}

type sessionInitParams struct {
	SystemPrompt *string         `json:"systemPrompt" need:""`
	Task         *string         `json:"task" need:""`
	Tools        *[]*string      `json:"tools" need:"" doc:"names of tools"`
	OutputSchema json.RawMessage `json:"outputSchema" doc:"any JSON"`
}

func appendSessionInit(c *call, p sessionInitParams) (appended, error) {
	tools, err := texts("tools", *p.Tools)
	if err != nil {
		return appended{}, err
	}
	return acknowledge(c.open.s.AppendSessionInit(c.ctx, session.SessionInit{
		SystemPrompt: *p.SystemPrompt, Task: *p.Task, Tools: tools, OutputSchema: session.Raw(given(p.OutputSchema)),
	}))
}

type tierParams struct {
	ServiceTier json.RawMessage `json:"serviceTier" need:"a string, an object or null" doc:"a word, for omp18 an object with a word for each provider; null means none"`
}

func appendServiceTierChange(c *call, p tierParams) (appended, error) {
	return acknowledge(c.open.s.Append(c.ctx, session.TierChange{Tier: session.Raw(given(p.ServiceTier))}))
}

type toolSelectionParams struct {
	SelectedToolNames *[]*string `json:"selectedToolNames" need:"" doc:"names of tools; an empty list selects none"`
}

func appendMCPToolSelection(c *call, p toolSelectionParams) (appended, error) {
	tools, err := texts("selectedToolNames", *p.SelectedToolNames)
	if err != nil {
		return appended{}, err
	}
	return acknowledge(c.open.s.Append(c.ctx, session.ToolSelection{Tools: tools}))
}

// In branchParams, durable makes the move survive a restart, by an entry that is written for it. By default, this entry is written if the
// format has one, since the agent's own branch writes it, too. Other formats write nothing.
type branchParams struct {
	ID      *string `json:"id" need:"" doc:"the entry to continue from"`
	Durable *bool   `json:"durable" doc:"appends an entry, so that the move survives a restart; the default is true where the agent has such entries"`
}

func branch(c *call, p branchParams) (nothing, error) {
	if *p.ID == "" { // the library would branch before the first entry; to the agents, "" is an entry that does not exist
		_, err := c.open.s.Tree().Get("")
		return nothing{}, err
	}
	_, err := c.open.s.Branch(c.ctx, session.EntryID(*p.ID), store.BranchOptions{Durable: or(p.Durable, c.open.s.HasLeaves())})
	return nothing{}, err
}

// resetParams: the agents' own reset writes nothing.
type resetParams struct {
	Durable bool `json:"durable" doc:"appends an entry, so that the move survives a restart"`
}

func resetLeaf(c *call, p resetParams) (nothing, error) {
	return nothing{}, c.open.s.ResetLeaf(c.ctx, store.BranchOptions{Durable: p.Durable})
}

// In summaryParams, a null id means the position before the first entry. It is required, because a forgotten id would otherwise move the
// leaf there.
type summaryParams struct {
	ID      json.RawMessage `json:"id" need:"a string or null" doc:"the entry to continue from; null is the place before the first entry"`
	Summary *string         `json:"summary" need:""`
	Details json.RawMessage `json:"details" doc:"any JSON, for extensions"`
	byExtension
}

func branchWithSummary(c *call, p summaryParams) (appended, error) {
	var id session.EntryID
	if err := json.Unmarshal(p.ID, &id); err != nil {
		return appended{}, err
	}
	return acknowledge(c.open.s.BranchWithSummary(c.ctx, id, session.BranchSummary{
		Summary: *p.Summary, Details: session.Raw(given(p.Details)), FromExtension: p.is(),
	}))
}

type entriesParams struct {
	Entries *[]json.RawMessage `json:"entries" need:"" doc:"entries as the agent writes them"`
}

// rewriteEntries replaces the whole log. All entries are checked first, so that an invalid one changes nothing.
func rewriteEntries(c *call, p entriesParams) (nothing, error) {
	for i, e := range *p.Entries {
		switch name := fmt.Sprintf("entries[%d]", i); {
		case given(e) == nil:
			return nothing{}, missing(name)
		case e[0] != '{':
			return nothing{}, badParams("parameter %q: must be an object", name)
		}
	}
	return nothing{}, c.open.s.RewriteEntries(c.ctx, records(*p.Entries))
}

type argumentsParams struct {
	ToolCallID *string         `json:"toolCallId" need:"" doc:"the id of a tool call"`
	Arguments  json.RawMessage `json:"arguments" need:"an object" doc:"its new arguments"`
}

// rewriteToolCallArgs answers false if no entry has the tool call, as in the agents' programs.
func rewriteToolCallArgs(c *call, p argumentsParams) (bool, error) {
	return c.open.s.RewriteToolCallArguments(c.ctx, *p.ToolCallID, p.Arguments)
}
