package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/runs"
	"github.com/treeline-dev/treeline/session"
)

// recording records a story as a run, beside its session. A nil one records nothing.
type recording struct {
	*runs.Recording
	messages []json.RawMessage // what the model sees
	model    string
	final    string
}

// startRecording begins a run of a story's session.
func startRecording(ctx context.Context, s *treeline.Store, p *play) (*recording, error) {
	header := fmt.Appendf(nil, `{"client":{"name":%s,"version":"1.4.0"},"model":{"provider":%s,"name":%s},"runtime":{"cwd":%s,"os":"linux","arch":"amd64"}}`,
		quote(p.story.agent), quote(p.provider), quote(p.model), quote(p.story.cwd))
	r, err := s.StartRun(ctx, treeline.RunOptions{Session: p.id, Header: header, Write: runs.WriteOptions{
		Random: p.random, Clock: func() time.Time { return p.clock },
	}})
	if err != nil {
		return nil, err
	}
	return &recording{Recording: r, model: p.model}, nil
}

// prompt records what the user asked.
func (r *recording) prompt(ctx context.Context, text string) error {
	if r == nil {
		return nil
	}
	if len(r.messages) == 0 {
		if err := r.append(ctx, &run.RunStart{SessionID: r.Header().SessionID, Input: run.Input{Type: "text", Text: text}}); err != nil {
			return err
		}
	}
	r.messages = append(r.messages, fmt.Appendf(nil, `{"role":"user","content":%s}`, quote(text)))
	return nil
}

// request records a request to the model.
func (r *recording) request(ctx context.Context) error {
	if r == nil {
		return nil
	}
	messages, err := json.Marshal(r.messages)
	if err != nil {
		return err
	}
	return r.append(ctx, &run.LLMRequest{Input: run.RequestInput{Messages: messages, Model: r.model}})
}

// response records an answer.
func (r *recording) response(ctx context.Context, parts []session.Part, u session.Usage) error {
	if r == nil {
		return nil
	}
	r.final = dialect.TextOf(parts)
	var calls []string
	for _, p := range parts {
		if c, ok := p.(session.ToolCall); ok {
			calls = append(calls, fmt.Sprintf(`{"id":%s,"type":"function","function":{"name":%s,"arguments":%s}}`,
				quote(c.ID), quote(c.Name), quote(string(c.Arguments))))
		}
	}
	said, stop := fmt.Appendf(nil, `{"role":"assistant","content":%s}`, quote(r.final)), "stop"
	if len(calls) > 0 {
		said, stop = fmt.Appendf(said[:len(said)-1], `,"tool_calls":[%s]}`, strings.Join(calls, ",")), "tool_calls"
	}
	r.messages = append(r.messages, said)
	return r.append(ctx, &run.LLMResponse{Output: run.ResponseOutput{Messages: fmt.Appendf(nil, "[%s]", said), StopReason: stop, Usage: &run.Usage{
		Model: r.model, Input: u.Input + u.CacheRead + u.CacheWrite, Cached: &u.CacheRead, Output: u.Output, Total: u.Total,
	}}})
}

// output records the output of a tool.
func (r *recording) output(ctx context.Context, res session.ToolResult) error {
	if r == nil {
		return nil
	}
	text := dialect.TextOf(res.Parts)
	r.messages = append(r.messages, fmt.Appendf(nil, `{"role":"tool","tool_call_id":%s,"content":%s}`, quote(res.CallID), quote(text)))
	return r.append(ctx, &run.ToolOutput{Tool: res.Name, ToolCallID: res.CallID, Result: text, IsError: &res.IsError})
}

func (r *recording) append(ctx context.Context, bodies ...run.Body) error {
	for _, b := range bodies {
		if _, err := r.Append(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// close ends the run.
func (r *recording) close(ctx context.Context) error {
	if r == nil {
		return nil
	}
	err := r.append(ctx, &run.RunStatus{Status: run.StatusCompleted}, &run.RunEnd{Outcome: run.OutcomeCompleted, Final: r.final})
	return errors.Join(err, r.Close())
}
