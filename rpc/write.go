package rpc

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// appended is the answer of an append. That others wrote meanwhile is said only where it happened.
// "foreign" counts the entries of others that were found in the log; "outcome" says what was done about them by
// the policy. Both are absent in the usual case.
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
	Message json.RawMessage `json:"message"`
}

// appendMessage takes the message as it is and does not look inside: what a role or a part means is the dialect's
// business, and one that nobody knows must be kept, too.
func appendMessage(c *call, p messageParams) ([]byte, error) {
	var w wanted
	message := w.needJSON("message", p.Message, "{", "an object")
	if w.err != nil {
		return nil, w.err
	}
	return appended(c.open.s.AppendMessage(c.ctx, message))
}

type thinkingParams struct {
	ThinkingLevel json.RawMessage `json:"thinkingLevel"`
}

// appendThinkingLevelChange takes null too: the agent's own "not set".
func appendThinkingLevelChange(c *call, p thinkingParams) ([]byte, error) {
	body := session.ThinkingLevelChange{JSON: session.Raw(p.ThinkingLevel)}
	switch {
	case p.ThinkingLevel == nil:
		return nil, badParams(`parameter "thinkingLevel" is missing`)
	case given(p.ThinkingLevel) == nil:
	case json.Unmarshal(p.ThinkingLevel, &body.Level) != nil:
		return nil, badParams(`parameter "thinkingLevel": must be a string or null`)
	}
	return appended(c.open.s.Append(c.ctx, body))
}

type modelParams struct {
	Model    *string `json:"model"`
	Role     *string `json:"role"`
	Provider *string `json:"provider"`
	ModelID  *string `json:"modelId"`
}

// appendModelChange takes both spellings; the dialect writes its own.
func appendModelChange(c *call, p modelParams) ([]byte, error) {
	var w wanted
	body := session.ModelChange{Role: or(p.Role, "")}
	if p.Model != nil {
		body.Model = *p.Model
		var both bool
		// Only the first slash divides: names of models have slashes of their own ("openrouter/anthropic/claude").
		if body.Provider, body.ModelID, both = strings.Cut(body.Model, "/"); !both {
			body.Provider, body.ModelID = or(p.Provider, ""), body.Model
		}
	} else {
		if p.Provider == nil && p.ModelID == nil {
			w.complain(`parameter "model" is missing, or "provider" and "modelId"`)
		}
		body.Provider, body.ModelID = need(&w, "provider", p.Provider), need(&w, "modelId", p.ModelID)
		body.Model = body.Provider + "/" + body.ModelID
	}
	if w.err != nil {
		return nil, w.err
	}
	return appended(c.open.s.Append(c.ctx, body))
}

// byExtension is how the agents say, each in its own word, that an extension made a summary.
type byExtension struct {
	FromExtension *bool `json:"fromExtension"`
	FromHook      *bool `json:"fromHook"`
}

func (b byExtension) is() bool { return or(b.FromExtension, false) || or(b.FromHook, false) }

// compactionParams: tokensBefore may be any number and is kept as it is spelled. All but the first three are
// optional, and null is as good as nothing.
type compactionParams struct {
	Summary      *string         `json:"summary"`
	ShortSummary *string         `json:"shortSummary"`
	FirstKept    *string         `json:"firstKeptEntryId"`
	TokensBefore json.RawMessage `json:"tokensBefore"`
	Details      json.RawMessage `json:"details"`
	PreserveData json.RawMessage `json:"preserveData"`
	byExtension
}

// appendCompaction needs tokensBefore because Operator's program drops a compaction that lacks it.
func appendCompaction(c *call, p compactionParams) ([]byte, error) {
	var w wanted
	body := session.Compaction{
		Summary: need(&w, "summary", p.Summary), ShortSummary: or(p.ShortSummary, ""),
		FirstKept:    session.EntryID(need(&w, "firstKeptEntryId", p.FirstKept)),
		TokensBefore: session.Raw(w.needJSON("tokensBefore", p.TokensBefore, numbers, "a number")),
		Details:      session.Raw(given(p.Details)), PreserveData: session.Raw(given(p.PreserveData)),
		FromExtension: p.is(),
	}
	if w.err != nil {
		return nil, w.err
	}
	return appended(c.open.s.Compact(c.ctx, body))
}

// customParams: data is kept as it is, whatever JSON it is; null is none.
type customParams struct {
	CustomType *string         `json:"customType"`
	Data       json.RawMessage `json:"data"`
}

// appendCustomEntry is for an extension's own state: no model ever sees it.
func appendCustomEntry(c *call, p customParams) ([]byte, error) {
	var w wanted
	kind := need(&w, "customType", p.CustomType)
	if w.err != nil {
		return nil, w.err
	}
	return appended(c.open.s.AppendCustom(c.ctx, kind, given(p.Data)))
}

// customMessageParams: content is a text or a list of parts. display has no default: pi and oh-my-pi
// always write it, and whether people see a message is not to be guessed.
type customMessageParams struct {
	CustomType *string         `json:"customType"`
	Content    json.RawMessage `json:"content"`
	Display    *bool           `json:"display"`
	Details    json.RawMessage `json:"details"`
	// Attribution is for agents that keep it.
	Attribution *string `json:"attribution"`
}

func appendCustomMessageEntry(c *call, p customMessageParams) ([]byte, error) {
	var w wanted
	body := session.CustomMessage{
		Type:    need(&w, "customType", p.CustomType),
		Content: session.Raw(w.needJSON("content", p.Content, `"[`, "a string or a list")),
		Display: need(&w, "display", p.Display),
		Details: session.Raw(given(p.Details)), Attribution: or(p.Attribution, ""),
	}
	if w.err != nil {
		return nil, w.err
	}
	return appended(c.open.s.AppendCustomMessage(c.ctx, body))
}

// labelParams: no label takes the label away.
type labelParams struct {
	TargetID *string `json:"targetId"`
	Label    *string `json:"label"`
}

// appendLabelChange fails for a target that is not there, as the agents do: a label on nothing cannot be seen
// anywhere.
func appendLabelChange(c *call, p labelParams) ([]byte, error) {
	var w wanted
	target := need(&w, "targetId", p.TargetID)
	if w.err != nil {
		return nil, w.err
	}
	return appended(c.open.s.Label(c.ctx, session.EntryID(target), or(p.Label, "")))
}

type nameParams struct {
	Name *string `json:"name"`
}

func appendSessionInfo(c *call, p nameParams) ([]byte, error) {
	var w wanted
	name := need(&w, "name", p.Name)
	if w.err != nil {
		return nil, w.err
	}
	return appended(c.open.s.AppendSessionInfo(c.ctx, name))
}

// setSessionName is how the agent itself would do it: an entry in pi, the header in oh-my-pi. appendSessionInfo
// appends an entry in any case.
func setSessionName(c *call, p nameParams) ([]byte, error) {
	var w wanted
	name := need(&w, "name", p.Name)
	if w.err != nil {
		return nil, w.err
	}
	return null, c.open.s.Rename(c.ctx, name)
}

type modeParams struct {
	Mode *string         `json:"mode"`
	Data json.RawMessage `json:"data"`
}

// appendModeChange is oh-my-pi's, as are the two below; the families that have no such entries refuse them.
func appendModeChange(c *call, p modeParams) ([]byte, error) {
	var w wanted
	mode := need(&w, "mode", p.Mode)
	if w.err != nil {
		return nil, w.err
	}
	return appended(c.open.s.AppendModeChange(c.ctx, mode, given(p.Data)))
}

type ttsrParams struct {
	InjectedRules *[]*string `json:"injectedRules"`
}

func appendTtsrInjection(c *call, p ttsrParams) ([]byte, error) {
	var w wanted
	rules := w.strings("injectedRules", p.InjectedRules)
	if w.err != nil {
		return nil, w.err
	}
	return appended(c.open.s.AppendTTSRInjection(c.ctx, rules))
}

type sessionInitParams struct {
	SystemPrompt *string         `json:"systemPrompt"`
	Task         *string         `json:"task"`
	Tools        *[]*string      `json:"tools"`
	OutputSchema json.RawMessage `json:"outputSchema"`
}

func appendSessionInit(c *call, p sessionInitParams) ([]byte, error) {
	var w wanted
	body := session.SessionInit{
		SystemPrompt: need(&w, "systemPrompt", p.SystemPrompt), Task: need(&w, "task", p.Task),
		Tools: w.strings("tools", p.Tools), OutputSchema: session.Raw(given(p.OutputSchema)),
	}
	if w.err != nil {
		return nil, w.err
	}
	return appended(c.open.s.AppendSessionInit(c.ctx, body))
}

// branchParams: durable makes the move survive a restart, by an entry that is written for it. It is off here,
// unlike on the command line: the agents' own branch writes nothing.
type branchParams struct {
	ID      *string `json:"id"`
	Durable *bool   `json:"durable"`
}

func branch(c *call, p branchParams) ([]byte, error) {
	var w wanted
	id := need(&w, "id", p.ID)
	if w.err != nil {
		return nil, w.err
	}
	if id == "" { // to the library that is the place before the first entry, to the agents an entry that is not there
		_, err := c.open.s.Tree().Get("")
		return nil, err
	}
	_, err := c.open.s.Branch(c.ctx, session.EntryID(id), or(p.Durable, false))
	return null, err
}

// resetLeaf takes the same parameters as branch; an id in them means nothing.
func resetLeaf(c *call, p branchParams) ([]byte, error) {
	return null, c.open.s.ResetLeaf(c.ctx, or(p.Durable, false))
}

type summaryParams struct {
	ID      json.RawMessage `json:"id"`
	Summary *string         `json:"summary"`
	Details json.RawMessage `json:"details"`
	byExtension
}

// branchWithSummary takes null for the place before the first entry, but not silence: the leaf would be lost by accident.
func branchWithSummary(c *call, p summaryParams) ([]byte, error) {
	var w wanted
	var id string
	switch {
	case p.ID == nil:
		w.complain(`parameter "id" is missing`)
	case given(p.ID) == nil:
	case json.Unmarshal(p.ID, &id) != nil:
		w.complain(`parameter "id": must be a string or null`)
	}
	body := session.BranchSummary{
		Summary: need(&w, "summary", p.Summary), Details: session.Raw(given(p.Details)), FromExtension: p.is(),
	}
	if w.err != nil {
		return nil, w.err
	}
	return appended(c.open.s.BranchWithSummary(c.ctx, session.EntryID(id), body))
}

type entriesParams struct {
	Entries *[]json.RawMessage `json:"entries"`
	Dialect *string            `json:"dialect"`
}

// rewriteEntries replaces the log as a whole. All entries are looked at before: a list that is wrong somewhere
// must not leave half a session.
func rewriteEntries(c *call, p entriesParams) ([]byte, error) {
	var w wanted
	entries := w.list("entries", p.Entries)
	for i, e := range entries {
		w.needJSON("entries["+strconv.Itoa(i)+"]", e, "{", "an object")
	}
	if w.err != nil {
		return nil, w.err
	}
	return null, c.open.s.RewriteEntries(c.ctx, entries)
}

type argumentsParams struct {
	ToolCallID *string         `json:"toolCallId"`
	Arguments  json.RawMessage `json:"arguments"`
}

// rewriteToolCallArgs answers whether there is such a tool call.
// That there is none is no error: the agents answer false, and a client may ask about a call that was never
// written.
func rewriteToolCallArgs(c *call, p argumentsParams) ([]byte, error) {
	var w wanted
	id := need(&w, "toolCallId", p.ToolCallID)
	arguments := w.needJSON("arguments", p.Arguments, "{", "an object")
	if w.err != nil {
		return nil, w.err
	}
	found, err := c.open.s.RewriteToolCallArguments(c.ctx, id, arguments)
	return strconv.AppendBool(nil, found), err
}
