package rpc

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/usage"
	"github.com/treeline-dev/treeline/wire"
)

type statsParams struct {
	By     []string `json:"by" doc:"the lists of the result: agent, model, project, day; the default is all"`
	Source string   `json:"source" doc:"the name of a dialect, or the folder of a source"`
	CWD    string   `json:"cwd" doc:"only sessions of that directory"`
	spanParams
	Model string `json:"model" doc:"a part of the name of a model that answered, or a pattern with * and ?"`
}

// stats sums up the usage of sessions. Like catalogue, it reads only logs that changed.
func stats(c *call, p statsParams) (none wire.Stats, err error) {
	opt := treeline.StatsOptions{Filter: treeline.Filter{Source: p.Source, Model: p.Model}, Refresh: find.RefreshOptions{Problem: func(error) {}}}
	for _, word := range p.By {
		if !slices.Contains(usage.Keys, usage.Key(word)) {
			return none, badParams(`parameter "by": agent, model, project or day, not %q`, word)
		}
		opt.By = append(opt.By, usage.Key(word))
	}
	if err := c.store.CheckSource(p.Source); err != nil {
		return none, badParams("%v", err)
	}
	if opt.Filter.CWD, err = directory(p.CWD); err != nil {
		return none, err
	}
	if opt.Filter.Since, opt.Filter.Until, err = p.parse(); err != nil {
		return none, err
	}
	sum, err := c.store.Stats(c.outer, opt)
	if err != nil {
		return none, err
	}
	return wire.NewStats(sum), nil
}

type requestParams struct {
	LeafID    string      `json:"leafId" doc:"the entry to look from; the default is the leaf"`
	Provider  string      `json:"provider" one:"anthropic openai responses" doc:"the provider; the default is that of the last answer"`
	Model     string      `json:"model" doc:"the model; the default is that of the last answer"`
	MaxTokens *int        `json:"maxTokens" doc:"the limit of the answer; the default is 8192"`
	System    string      `json:"system" doc:"the system prompt; system messages of the session follow it"`
	Tools     []toolInput `json:"tools" doc:"the tools that the model may call; parameters is a JSON schema of an object"`
	Prompt    string      `json:"prompt" doc:"what the user says next"`
	Whole     bool        `json:"whole" doc:"restore long texts that the agent's format cut"`
}

// toolInput is a tool that the model may call.
type toolInput struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

// modelRequest is a request to a language model. Answered means that the last message is the model's, which some models refuse.
type modelRequest struct {
	Provider string          `json:"provider"`
	Model    string          `json:"model"`
	Answered bool            `json:"answered"`
	Body     json.RawMessage `json:"body"`
}

// buildRequest returns the body of a request that continues the session.
func buildRequest(c *call, p requestParams) (none modelRequest, err error) {
	s := c.open.s
	leaf := s.Leaf()
	if p.LeafID != "" {
		leaf = session.EntryID(p.LeafID)
	}
	if p.MaxTokens != nil && *p.MaxTokens < 1 {
		return none, badParams(`parameter "maxTokens": must be positive`)
	}
	var tools []treeline.Tool
	for _, t := range p.Tools {
		tools = append(tools, treeline.Tool{Name: t.Name, Description: t.Description, Parameters: session.Raw(t.Parameters)})
	}
	r, err := treeline.NewRequest(c.outer, s, leaf, treeline.RequestOptions{
		Provider: p.Provider, Model: p.Model, MaxTokens: or(p.MaxTokens, 0), Prompt: p.Prompt, System: p.System, Tools: tools,
		Context: store.ContextOptions{Whole: p.Whole},
	})
	switch {
	case errors.Is(err, treeline.ErrNoProvider):
		return none, badParams(`parameter "provider": %v`, err)
	case errors.Is(err, treeline.ErrTool):
		return none, badParams(`parameter "tools": %v`, err)
	}
	return modelRequest{r.Provider, r.Model, r.Answered, r.Body}, err
}
