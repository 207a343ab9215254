package rpc

import (
	"encoding/json"

	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// Messages made of parts are for clients that do not know how an agent writes its messages. The names are those of --json.

// partInput is a piece of a message that a client appends. Its counterpart for reading is wire.Part.
type partInput struct {
	Type      string          `json:"type"` // text, thinking, toolCall, toolResult or image
	Text      string          `json:"text,omitempty"`
	Signature string          `json:"signature,omitempty"` // of thinking
	ID        string          `json:"id,omitempty"`        // of a toolCall
	CallID    string          `json:"callId,omitempty"`    // of a toolResult
	Name      string          `json:"name,omitempty"`      // of the tool
	Arguments json.RawMessage `json:"arguments,omitempty"`
	IsError   bool            `json:"isError,omitempty"`
	Parts     []partInput     `json:"parts,omitempty"` // of a toolResult
	MIME      string          `json:"mime,omitempty"`
	Data      string          `json:"data,omitempty"` // of an image, in base64
}

// partsOf converts parts to those of the library.
func partsOf(list []partInput) ([]session.Part, error) {
	var out []session.Part
	for i, p := range list {
		switch p.Type {
		case "text":
			out = append(out, session.Text{Text: p.Text})
		case "thinking":
			out = append(out, session.Thinking{Text: p.Text, Signature: p.Signature})
		case "toolCall":
			out = append(out, session.ToolCall{ID: p.ID, Name: p.Name, Arguments: session.Raw(p.Arguments)})
		case "toolResult":
			parts, err := partsOf(p.Parts)
			if err != nil {
				return nil, err
			}
			out = append(out, session.ToolResult{CallID: p.CallID, Name: p.Name, Parts: parts, IsError: p.IsError})
		case "image":
			out = append(out, session.Image{MIME: p.MIME, Data: p.Data})
		default:
			return nil, badParams(`parameter "parts": part %d has the type %q, not text, thinking, toolCall, toolResult or image`, i, p.Type)
		}
	}
	return out, nil
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
	Parts    *[]partInput `json:"parts" need:"" doc:"texts, thinking and tool calls, in order; results of the calls may be among them"`
	Provider string       `json:"provider" doc:"the provider of the model; the default is the model in use"`
	Model    string       `json:"model" doc:"the id of the model"`
	Usage    *answerUsage `json:"usage" doc:"what the answer used"`
	Stop     string       `json:"stop" one:"stop length tools aborted error filter" doc:"why the answer ended; the default follows from the parts"`
	Error    string       `json:"error" doc:"what went wrong in an answer that failed"`
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
	CallID  *string      `json:"callId" need:"" doc:"the tool call, which must be on the path to the leaf"`
	Parts   *[]partInput `json:"parts" need:"" doc:"texts and images"`
	IsError bool         `json:"isError" doc:"the tool failed"`
}

func appendToolResult(c *call, p resultParams) (appended, error) {
	parts, err := partsOf(*p.Parts)
	if err != nil {
		return appended{}, err
	}
	return acknowledge(c.open.s.AppendToolResult(c.ctx, *p.CallID, parts, p.IsError))
}
