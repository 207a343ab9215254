package rpc

import (
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/wire"
)

// Messages made of parts are for clients that do not know how an agent writes its messages. The names are those of --json.

// partsOf converts the parameter "parts".
func partsOf(list []wire.PartInput) ([]session.Part, error) {
	parts, err := wire.PartsOf(list)
	if err != nil {
		err = badParams(`parameter "parts": %v`, err)
	}
	return parts, err
}

type userParams struct {
	Text   *string `json:"text" need:"" doc:"what the user said"`
	Images []image `json:"images" doc:"pictures that the user added"`
}

// image is a picture: its bytes in base64.
type image struct {
	MIME string `json:"mime"`
	Data string `json:"data"`
}

func appendUser(c *call, p userParams) (appended, error) {
	var images []session.Image
	for _, i := range p.Images {
		images = append(images, session.Image{MIME: i.MIME, Data: i.Data})
	}
	return acknowledge(c.open.s.AppendUser(c.ctx, *p.Text, images...))
}

type assistantParams struct {
	Parts    *[]wire.PartInput `json:"parts" need:"" doc:"texts, thinking and tool calls, in order; results of the calls may be among them"`
	Provider string            `json:"provider" doc:"the provider of the model; the default is the model in use"`
	Model    string            `json:"model" doc:"the id of the model"`
	Usage    *answerUsage      `json:"usage" doc:"what the answer used"`
	Stop     string            `json:"stop" one:"stop length tools aborted error filter" doc:"why the answer ended; the default follows from the parts"`
	Error    string            `json:"error" doc:"what went wrong in an answer that failed"`
}

// answerUsage is the usage of an answer. Cost is in dollars.
type answerUsage struct {
	Input      int64   `json:"input"`
	Output     int64   `json:"output"`
	CacheRead  int64   `json:"cacheRead,omitempty"`
	CacheWrite int64   `json:"cacheWrite,omitempty"`
	Total      int64   `json:"total,omitempty"`
	Cost       float64 `json:"cost,omitempty"`
}

func appendAssistant(c *call, p assistantParams) (appended, error) {
	parts, err := partsOf(*p.Parts)
	if err != nil {
		return appended{}, err
	}
	a := store.Answer{Provider: p.Provider, Model: p.Model, Stop: store.Stop(p.Stop), Error: p.Error}
	if u := p.Usage; u != nil {
		a.Usage = &session.Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Total: u.Total, Cost: u.Cost}
		if u.Total == 0 {
			a.Usage.Total = u.Input + u.Output + u.CacheRead + u.CacheWrite
		}
	}
	return acknowledge(c.open.s.AppendAssistant(c.ctx, parts, a))
}

type resultParams struct {
	CallID  *string           `json:"callId" need:"" doc:"the tool call, which must be on the path to the leaf"`
	Parts   *[]wire.PartInput `json:"parts" need:"" doc:"texts and images"`
	IsError bool              `json:"isError" doc:"the tool failed"`
}

func appendToolResult(c *call, p resultParams) (appended, error) {
	parts, err := partsOf(*p.Parts)
	if err != nil {
		return appended{}, err
	}
	return acknowledge(c.open.s.AppendToolResult(c.ctx, *p.CallID, parts, p.IsError))
}
