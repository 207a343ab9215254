package rpc

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// appended is the answer of an append. If other programs wrote meanwhile, "foreign" counts their entries, and "outcome" says
// what the policy did about them.
func appended(a store.Appended, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	text := append([]byte(`{"id":`), quote(string(a.ID))...)
	if a.Foreign > 0 {
		text = fmt.Appendf(text, `,"foreign":%d,"outcome":%q`, a.Foreign, a.Outcome)
	}
	return append(text, '}'), nil
}

type messageParams struct {
	Message json.RawMessage `json:"message" need:"an object"`
}

// appendMessage does not look inside the message: what a role or a part means is for the dialect to know, and unknown ones
// are kept.
func appendMessage(c *call, p messageParams) ([]byte, error) {
	return appended(c.open.s.AppendMessage(c.ctx, p.Message))
}

type thinkingParams struct {
	ThinkingLevel json.RawMessage `json:"thinkingLevel" need:"a string or null"`
}

// appendThinkingLevelChange also takes null, the agent's own "not set".
func appendThinkingLevelChange(c *call, p thinkingParams) ([]byte, error) {
	body := session.ThinkingLevelChange{JSON: session.Raw(p.ThinkingLevel)}
	if err := json.Unmarshal(p.ThinkingLevel, &body.Level); err != nil {
		return nil, err
	}
	return appended(c.open.s.Append(c.ctx, body))
}

type modelParams struct {
	Model    *string `json:"model"`
	Role     string  `json:"role"`
	Provider *string `json:"provider"`
	ModelID  *string `json:"modelId"`
}

// appendModelChange takes both spellings; the dialect writes its own.
func appendModelChange(c *call, p modelParams) ([]byte, error) {
	body := session.ModelChange{Role: p.Role, Provider: or(p.Provider, ""), ModelID: or(p.ModelID, "")}
	switch {
	case p.Model != nil:
		body.Model = *p.Model
		// Only the first slash divides: names of models have slashes of their own ("openrouter/anthropic/claude").
		if provider, id, both := strings.Cut(body.Model, "/"); both {
			body.Provider, body.ModelID = provider, id
		} else {
			body.ModelID = body.Model
		}
	case p.Provider == nil && p.ModelID == nil:
		return nil, badParams(`parameter "model" is missing, or "provider" and "modelId"`)
	case p.Provider == nil:
		return nil, missing("provider")
	case p.ModelID == nil:
		return nil, missing("modelId")
	default:
		body.Model = body.Provider + "/" + body.ModelID
	}
	return appended(c.open.s.Append(c.ctx, body))
}

// byExtension says that an extension made a summary; each agent has its own word for it.
type byExtension struct {
	FromExtension *bool `json:"fromExtension"`
	FromHook      *bool `json:"fromHook"`
}

// is gives what was said in either word; nil if in neither.
func (b byExtension) is() *bool {
	if b.FromExtension != nil && b.FromHook != nil {
		return new(*b.FromExtension || *b.FromHook)
	}
	return cmp.Or(b.FromExtension, b.FromHook)
}

// compactionParams need tokensBefore because Operator drops a compaction without it. It may be any number and is kept as it
// is spelled.
type compactionParams struct {
	Summary      *string         `json:"summary" need:""`
	ShortSummary string          `json:"shortSummary"`
	FirstKept    *string         `json:"firstKeptEntryId" need:""`
	TokensBefore json.RawMessage `json:"tokensBefore" need:"a number"`
	Details      json.RawMessage `json:"details"`
	PreserveData json.RawMessage `json:"preserveData"`
	byExtension
}

func appendCompaction(c *call, p compactionParams) ([]byte, error) {
	return appended(c.open.s.Compact(c.ctx, session.Compaction{
		Summary: *p.Summary, ShortSummary: p.ShortSummary, FirstKept: session.EntryID(*p.FirstKept),
		TokensBefore: session.Raw(p.TokensBefore), Details: session.Raw(given(p.Details)),
		PreserveData: session.Raw(given(p.PreserveData)), FromExtension: p.is(),
	}))
}

// customParams: data may be any JSON; null means no data.
type customParams struct {
	CustomType *string         `json:"customType" need:""`
	Data       json.RawMessage `json:"data"`
}

// appendCustomEntry keeps an extension's own state, which the model does not see.
func appendCustomEntry(c *call, p customParams) ([]byte, error) {
	return appended(c.open.s.AppendCustom(c.ctx, *p.CustomType, given(p.Data)))
}

// customMessageParams: content is a text or a list of parts. display has no default, because pi and oh-my-pi always write it.
type customMessageParams struct {
	CustomType *string         `json:"customType" need:""`
	Content    json.RawMessage `json:"content" need:"a string or a list"`
	Display    *bool           `json:"display" need:""`
	Details    json.RawMessage `json:"details"`
	// Attribution is for agents that keep it.
	Attribution string `json:"attribution"`
}

func appendCustomMessageEntry(c *call, p customMessageParams) ([]byte, error) {
	return appended(c.open.s.AppendCustomMessage(c.ctx, session.CustomMessage{
		Type: *p.CustomType, Content: session.Raw(p.Content), Display: *p.Display,
		Details: session.Raw(given(p.Details)), Attribution: p.Attribution,
	}))
}

// labelParams: an empty label removes the label.
type labelParams struct {
	TargetID *string `json:"targetId" need:""`
	Label    string  `json:"label"`
}

// appendLabelChange fails if the target does not exist, as in the agents: such a label would be seen nowhere.
func appendLabelChange(c *call, p labelParams) ([]byte, error) {
	return appended(c.open.s.Label(c.ctx, session.EntryID(*p.TargetID), p.Label))
}

type nameParams struct {
	Name *string `json:"name" need:""`
}

func appendSessionInfo(c *call, p nameParams) ([]byte, error) {
	return appended(c.open.s.AppendSessionInfo(c.ctx, *p.Name))
}

// setSessionName writes the name as the agent does: as an entry in pi, into the header in oh-my-pi. appendSessionInfo always
// appends an entry.
func setSessionName(c *call, p nameParams) ([]byte, error) {
	return null, c.open.s.Rename(c.ctx, *p.Name)
}

type modeParams struct {
	Mode *string         `json:"mode" need:""`
	Data json.RawMessage `json:"data"`
}

// appendModeChange and the two methods below are oh-my-pi's. Dialects without such entries refuse them.
func appendModeChange(c *call, p modeParams) ([]byte, error) {
	return appended(c.open.s.AppendModeChange(c.ctx, *p.Mode, given(p.Data)))
}

type ttsrParams struct {
	InjectedRules *[]*string `json:"injectedRules" need:""`
}

func appendTtsrInjection(c *call, p ttsrParams) ([]byte, error) {
	rules, err := texts("injectedRules", *p.InjectedRules)
	if err != nil {
		return nil, err
	}
	return appended(c.open.s.AppendTTSRInjection(c.ctx, rules))
}

type sessionInitParams struct {
	SystemPrompt *string         `json:"systemPrompt" need:""`
	Task         *string         `json:"task" need:""`
	Tools        *[]*string      `json:"tools" need:""`
	OutputSchema json.RawMessage `json:"outputSchema"`
}

func appendSessionInit(c *call, p sessionInitParams) ([]byte, error) {
	tools, err := texts("tools", *p.Tools)
	if err != nil {
		return nil, err
	}
	return appended(c.open.s.AppendSessionInit(c.ctx, session.SessionInit{
		SystemPrompt: *p.SystemPrompt, Task: *p.Task, Tools: tools, OutputSchema: session.Raw(given(p.OutputSchema)),
	}))
}

// branchParams: durable makes the move survive a restart, with an entry that is written for it. By default it is written
// where the format has an entry for it: there the agent's own branch writes one. In other formats it writes nothing.
type branchParams struct {
	ID      *string `json:"id" need:""`
	Durable *bool   `json:"durable"`
}

func branch(c *call, p branchParams) ([]byte, error) {
	if *p.ID == "" { // the library would branch before the first entry; to the agents it is an entry that does not exist
		_, err := c.open.s.Tree().Get("")
		return nil, err
	}
	_, err := c.open.s.Branch(c.ctx, session.EntryID(*p.ID), or(p.Durable, c.open.s.HasLeaves()))
	return null, err
}

// resetParams: the agents' own reset writes nothing.
type resetParams struct {
	Durable bool `json:"durable"`
}

func resetLeaf(c *call, p resetParams) ([]byte, error) {
	return null, c.open.s.ResetLeaf(c.ctx, p.Durable)
}

// summaryParams: an id that is null is the place before the first entry. It cannot be left out, or a forgotten id would move
// the leaf there.
type summaryParams struct {
	ID      json.RawMessage `json:"id" need:"a string or null"`
	Summary *string         `json:"summary" need:""`
	Details json.RawMessage `json:"details"`
	byExtension
}

func branchWithSummary(c *call, p summaryParams) ([]byte, error) {
	var id session.EntryID
	if err := json.Unmarshal(p.ID, &id); err != nil {
		return nil, err
	}
	return appended(c.open.s.BranchWithSummary(c.ctx, id, session.BranchSummary{
		Summary: *p.Summary, Details: session.Raw(given(p.Details)), FromExtension: p.is(),
	}))
}

type entriesParams struct {
	Entries *[]json.RawMessage `json:"entries" need:""`
	Dialect string             `json:"dialect"`
}

// rewriteEntries replaces the log as a whole. All entries are checked first, so that a bad one changes nothing.
func rewriteEntries(c *call, p entriesParams) ([]byte, error) {
	for i, e := range *p.Entries {
		switch name := fmt.Sprintf("entries[%d]", i); {
		case given(e) == nil:
			return nil, missing(name)
		case e[0] != '{':
			return nil, badParams("parameter %q: must be an object", name)
		}
	}
	return null, c.open.s.RewriteEntries(c.ctx, records(*p.Entries))
}

type argumentsParams struct {
	ToolCallID *string         `json:"toolCallId" need:""`
	Arguments  json.RawMessage `json:"arguments" need:"an object"`
}

// rewriteToolCallArgs answers false if no entry has the tool call, as the agents do.
func rewriteToolCallArgs(c *call, p argumentsParams) ([]byte, error) {
	found, err := c.open.s.RewriteToolCallArguments(c.ctx, *p.ToolCallID, p.Arguments)
	return strconv.AppendBool(nil, found), err
}
