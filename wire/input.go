package wire

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// PartInput is a piece of a message that a client appends. Its counterpart for reading is Part.
type PartInput struct {
	Type      string          `json:"type"` // text, thinking, toolCall, toolResult or image
	Text      string          `json:"text,omitempty"`
	Signature string          `json:"signature,omitempty"` // of thinking
	ID        string          `json:"id,omitempty"`        // of a toolCall
	CallID    string          `json:"callId,omitempty"`    // of a toolResult
	Name      string          `json:"name,omitempty"`      // of the tool
	Arguments json.RawMessage `json:"arguments,omitempty"`
	IsError   bool            `json:"isError,omitempty"`
	Parts     []PartInput     `json:"parts,omitempty"` // of a toolResult
	MIME      string          `json:"mime,omitempty"`
	Data      string          `json:"data,omitempty"` // of an image, in base64
}

// PartsOf converts parts to those of the library. A type that it does not know is an error for the client.
func PartsOf(list []PartInput) ([]session.Part, error) {
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
			parts, err := PartsOf(p.Parts)
			if err != nil {
				return nil, err
			}
			out = append(out, session.ToolResult{CallID: p.CallID, Name: p.Name, Parts: parts, IsError: p.IsError})
		case "image":
			out = append(out, session.Image{MIME: p.MIME, Data: p.Data})
		default:
			return nil, fmt.Errorf("part %d has the type %q, not text, thinking, toolCall, toolResult or image", i, p.Type)
		}
	}
	return out, nil
}

// Appending returns the function that appends a message of parts. An error is a mistake of the client. a is for the assistant.
func Appending(role string, list []PartInput, a store.Answer) (func(context.Context, *store.Session) (store.Appended, error), error) {
	parts, err := PartsOf(list)
	if err != nil {
		return nil, fmt.Errorf("\"parts\": %w", err)
	}
	switch role {
	case "assistant":
		return func(ctx context.Context, s *store.Session) (store.Appended, error) {
			return s.AppendAssistant(ctx, parts, a)
		}, nil
	case "tool":
		if len(parts) == 1 {
			if result, ok := parts[0].(session.ToolResult); ok {
				return func(ctx context.Context, s *store.Session) (store.Appended, error) {
					return s.AppendToolResult(ctx, result.CallID, result.Parts, result.IsError)
				}, nil
			}
		}
		return nil, fmt.Errorf("\"parts\" of a tool must be one toolResult")
	case "", "user":
		var texts []session.Text
		var images []session.Image
		for _, part := range parts {
			switch part := part.(type) {
			case session.Text:
				texts = append(texts, part)
			case session.Image:
				images = append(images, part)
			}
		}
		if len(texts) > 1 || len(texts)+len(images) < len(parts) {
			return nil, fmt.Errorf("\"parts\" of the user must be one text and images")
		}
		said := ""
		if len(texts) > 0 {
			said = texts[0].Text
		}
		return func(ctx context.Context, s *store.Session) (store.Appended, error) {
			return s.AppendUser(ctx, said, images...)
		}, nil
	}
	return nil, fmt.Errorf("\"role\" must be user, assistant or tool, not %q", role)
}
